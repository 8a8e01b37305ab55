"""A temporal join: each row with the version of its key that was in force at its time."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from millstream.errors import PlanError, PropertyError
from millstream.plan.build.joins.chain import PlannedJoin
from millstream.plan.build.joins.conjuncts import conjuncts_of, filters_of, key_of
from millstream.plan.build.joins.event_times import Times
from millstream.plan.build.joins.interval import refuse_no_key, right_time
from millstream.plan.build.joins.left_input import Left
from millstream.plan.build.joins.options import JoinAsked
from millstream.plan.build.joins.salt import salt_of
from millstream.plan.build.joins.using import merged_columns, using_keys, using_pairs
from millstream.plan.build.tables.versioned import Table
from millstream.plan.expressions import Expression, template
from millstream.plan.nodes import OP, Input, Key, Output, Select, TemporalJoin
from millstream.plan.reject import not_yet, place_of
from millstream.plan.resolve.expressions import Expressions
from millstream.plan.resolve.scope import Relation
from millstream.suggestions import same
from millstream.temporal import parse_span
from millstream.values import Direction, JoinType

_TEXT = ("STRING", "VARCHAR", "CHAR")


def plan_temporal(left: Left, table: Table | None, asked: JoinAsked) -> PlannedJoin:
    how = asked.how
    if how not in (JoinType.INNER, JoinType.LEFT):
        raise PlanError(
            "MS-PLAN-TEMPORAL",
            f"a temporal join finds a version for each row, and {how.upper()} JOIN asks for more.",
            fix="Write JOIN or LEFT JOIN.",
            place=asked.place,
        )
    if within := asked.clause.this.args.get("within"):
        raise PlanError(
            "MS-PLAN-WITHIN",
            "WITHIN stands in a temporal join, which meets one version however old.",
            fix="Write WITH ('temporal.tolerance' = '5m').",
            place=place_of(within, left.text),
        )
    for name, item in asked.properties.items():
        if name.endswith("_bound") or name == "join.retention":
            raise PropertyError(
                "MS-PROP-UNUSED",
                f"'{name}' has no use in a temporal join, which meets one version however old.",
                fix="Leave it out, or write 'temporal.tolerance' = '5m'.",
                place=item.place,
            )
    op = _op_of(asked.right, table)
    right = _versions(asked.right, op)
    left.ready(asked.place)
    time = right_time(right, asked)
    names = left.scope(right)
    number = _as_of(left, asked)
    pairs = using_pairs(asked.clause, names)
    merged = merged_columns(pairs, how)
    scope = left.scope(right, merged)
    on = Expressions(names)
    terms, others = _keys(asked, on, table)
    keys = [*using_keys(pairs, Times()), *(key for key, _ in terms)]
    if table is not None:
        _refuse_part_of_key(keys, table, left, asked)
    refuse_no_key(tuple(keys), left, asked)
    extra = filters_of(others, on)
    if others and how is JoinType.LEFT:
        raise not_yet(
            "a predicate beside the key in ON of a LEFT temporal join",
            place_of(others[0], left.text),
            fix="Write CASE WHEN … END over the version's columns in SELECT, or filter in WHERE.",
        )
    above = Expressions(scope)
    direction, tolerance = _direction(asked)
    join = TemporalJoin(
        left=Input(left.alias, left.node, left.go_by(number), 0, ()),
        right=Input(right.alias, right.node, time, 0, ()),
        how=how,
        keys=tuple(keys),
        direction=direction,
        tolerance=tolerance,
        deletes=template("{} <=> '-D'", right.refer(op)) if op else None,
        late=asked.late,
        limit=asked.limit,
        salt=salt_of(asked),
        place=asked.place,
    )
    where = (*extra, *filters_of(asked.filters, above))
    reads = {read for term in others for read in on.reads(term)}
    reads |= {read for term in asked.filters for read in above.reads(term)}
    of_keys = {read for _, term in terms for read in on.reads(term)}
    of_keys |= {read for pair in pairs for one in pair for read in one.reads}
    return PlannedJoin(
        join=join,
        scope=scope,
        where=where,
        reads=frozenset(reads),
        times=left.times.near(number),
        order=(number, *left.times.in_order),
        keys=tuple(keys),
        key_reads=frozenset(of_keys),
        below=left.lifted,
    )


def _op_of(right: Relation, table: Table | None) -> str | None:
    """The column with the kind of change: the one that 'changelog.op' names, else `_OP`."""
    name = (table.op if table else None) or OP
    found = next((column for column in right.columns if same(column.name, name)), None)
    if found is None:
        return None
    if found.type is not None and not found.type.upper().startswith(_TEXT):
        raise PlanError(
            "MS-PLAN-CHANGELOG",
            f"{right.name}.{found.name} is {found.type}, and the kinds of changes (+I, -U, +U, -D) "
            "are text.",
            fix=f"Declare {found.name} STRING, or give the column another name.",
            place=right.place,
        )
    return found.name


def _versions(right: Relation, op: str | None) -> Relation:
    """The stream of versions: of a changelog, without the old values of changes."""
    if op is None:
        return right
    # The old value of a change says nothing that the new one does not.
    where = template("NOT {} <=> '-U'", right.refer(op))
    outputs = tuple(Output(right.refer(c.name, c.type), c.name) for c in right.columns)
    node = Select(right.node, outputs, where, right.alias, right.time, place=right.place)
    return replace(right, node=node)


def _as_of(left: Left, asked: JoinAsked) -> int:
    """The number of the left stream whose event time the join goes by."""
    moment = asked.clause.this.args["version"].expression
    expressions = Expressions(left.scope(None))
    bare = None
    if isinstance(moment, exp.Column):
        expressions.check(moment)
        bare = expressions.bare(moment)
    known = " or ".join(left.time_text(number) for number in left.times.in_order)
    if bare is None or bare.origin is None or not left.times.is_time(bare.origin):
        raise PlanError(
            "MS-PLAN-TEMPORAL",
            f"AS OF {expressions.written(moment)} is not the event time of {left.name}.",
            fix=f"Write FOR SYSTEM_TIME AS OF {known}.",
            place=place_of(moment, left.text, asked.place),
        )
    if bare.origin[0] not in left.times.whole:
        raise PlanError(
            "MS-PLAN-TEMPORAL",
            f"an outer join pads {left.relations[bare.origin[0]].called}, so not every row has "
            f"{expressions.written(moment)}.",
            fix=f"Write FOR SYSTEM_TIME AS OF {known}, or join with INNER.",
            place=place_of(moment, left.text, asked.place),
        )
    return bare.origin[0]


def _keys(
    asked: JoinAsked, on: Expressions, table: Table | None
) -> tuple[list[tuple[Key, exp.Expr]], list[exp.Expr]]:
    """The keys of ON with the terms that say them, and its other terms. A table's versions are told
    apart by its primary key, so any other equality is a predicate of the version that was found."""
    keys, others = [], []
    own = {asked.right.refer(name) for name in table.primary_key} if table else set()
    for term in conjuncts_of(asked.clause.args.get("on")):
        on.check(term)
        key = key_of(term, on) or _constant(term, on, own)
        if key is not None and (table is None or key.right in own):
            keys.append((key, term))
        elif not (isinstance(term, exp.Boolean) and term.this):
            others.append(term)
    return keys, others


def _constant(term: exp.Expr, on: Expressions, own: set[Expression]) -> Key | None:
    """An equality of a part of the primary key and a constant."""
    if not isinstance(term, exp.EQ) or not on.steady(term):
        return None
    for one, other in ((term.this, term.expression), (term.expression, term.this)):
        bare, constant = on.bare(one), on.read(other)
        if bare and bare.expression in own and constant and not on.sides(other):
            return Key(constant, bare.expression)
    return None


def _refuse_part_of_key(keys: list[Key], table: Table, left: Left, asked: JoinAsked) -> None:
    given = {key.right for key in keys}
    missing = [name for name in table.primary_key if asked.right.refer(name) not in given]
    name = table.source.name
    if not table.primary_key:
        raise PlanError(
            "MS-PLAN-TEMPORAL",
            f"the table {name} has no primary key, so its versions cannot be told apart.",
            fix=f"Add PRIMARY KEY (…) to {name}.",
            place=asked.place,
        )
    if missing:
        one, other = left.relations[0].shown(missing[0]), asked.right.shown(missing[0])
        raise PlanError(
            "MS-PLAN-TEMPORAL",
            f"ON says nothing of {missing[0]}, which is part of the primary key of {name}.",
            fix=f"Add an equality, such as {one} = {other}.",
            place=asked.place,
        )


def _direction(asked: JoinAsked) -> tuple[Direction, int | None]:
    given = asked.properties.get("temporal.direction")
    within = asked.properties.get("temporal.tolerance")
    direction = Direction(given.value.lower()) if given else Direction.BACKWARD
    if given and within is None and direction is not Direction.BACKWARD:
        raise PlanError(
            "MS-PLAN-UNBOUNDED",
            f"'temporal.direction' = '{given.value}' waits for a later version, and nothing says "
            "for how long.",
            fix="Add 'temporal.tolerance' = '5m'.",
            place=given.place,
        )
    return direction, parse_span(within.value) if within else None
