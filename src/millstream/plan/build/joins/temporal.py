"""Plans temporal joins: each row with the version of its key that is valid at its event time."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from millstream.errors import PlanError, PropertyError
from millstream.plan.build.joins.chain import PlannedJoin
from millstream.plan.build.joins.conjuncts import read_filters, split_conjunction
from millstream.plan.build.joins.event_times import EventTimes
from millstream.plan.build.joins.interval import reject_missing_key, require_right_time
from millstream.plan.build.joins.keys import read_keys
from millstream.plan.build.joins.left_input import LeftInput
from millstream.plan.build.joins.match_condition import AsOf, read_as_of
from millstream.plan.build.joins.options import JoinOptions
from millstream.plan.build.joins.pair_predicate import without_parentheses
from millstream.plan.build.joins.salt import resolve_salt
from millstream.plan.build.joins.using import merged_columns, using_keys, using_pairs
from millstream.plan.build.tables.versioned import VersionedTable
from millstream.plan.expressions import Expression, join_with_and, template
from millstream.plan.nodes import OP, Input, Key, Output, Select, TemporalJoin
from millstream.plan.reject import place_of
from millstream.plan.resolve.expressions import ExpressionReader
from millstream.plan.resolve.scope import Relation
from millstream.suggestions import same
from millstream.temporal import parse_span
from millstream.values import Direction, JoinType

_TEXT = ("STRING", "VARCHAR", "CHAR")


def plan_temporal_join(
    left: LeftInput, table: VersionedTable | None, options: JoinOptions
) -> PlannedJoin:
    how = options.how
    if how not in (JoinType.INNER, JoinType.LEFT):
        raise PlanError(
            "MS-PLAN-TEMPORAL",
            f"a temporal join finds one version for each row and does not support {how.upper()} "
            "JOIN.",
            fix="Write JOIN or LEFT JOIN.",
            place=options.place,
        )
    if within := options.clause.this.args.get("within"):
        raise PlanError(
            "MS-PLAN-WITHIN",
            "WITHIN is not allowed in a temporal join, which uses the valid version of any age.",
            fix="Set WITH ('temporal.tolerance' = '5m').",
            place=place_of(within, left.text),
        )
    for name, item in options.properties.items():
        if name.endswith("_bound") or name == "join.retention":
            raise PropertyError(
                "MS-PROP-UNUSED",
                f"'{name}' does not apply to a temporal join, which uses the valid version of any "
                "age.",
                fix="Remove it, or set 'temporal.tolerance' = '5m'.",
                place=item.place,
            )
    op = _change_column(options.right, table)
    right = _version_stream(options.right, op)
    left.require_event_time(options.place)
    time = require_right_time(right, options)
    names = left.scope(right)
    as_of = read_as_of(options.clause, left, right, options.place)
    number = _as_of_relation(left, as_of.moment, options)
    pairs = using_pairs(options.clause, names)
    merged = merged_columns(pairs, how)
    scope = left.scope(right, merged)
    on = ExpressionReader(names)
    terms, others = _keys(options, on, table)
    keys = [*using_keys(pairs, EventTimes()), *(key for found, _ in terms for key in found)]
    if table is not None:
        _reject_partial_key(keys, table, left, options)
    reject_missing_key(tuple(keys), left, options)
    extra = read_filters(others, on)
    above = ExpressionReader(scope)
    direction, tolerance = _direction(options, as_of)
    join = TemporalJoin(
        left=Input(left.alias, left.node, left.use_time(number), 0, ()),
        right=Input(right.alias, right.node, time, 0, ()),
        how=how,
        keys=tuple(keys),
        direction=direction,
        tolerance=tolerance,
        deletes=template("{} <=> '-D'", right.refer(op)) if op else None,
        version_where=join_with_and(extra) if how is JoinType.LEFT else None,
        late=options.late,
        limit=options.limit,
        salt=resolve_salt(options),
        place=options.place,
    )
    filters = extra if how is JoinType.INNER else ()
    where = (*filters, *read_filters(options.filters, above))
    reads = {read for term in others for read in on.columns_read(term)}
    reads |= {read for term in options.filters for read in above.columns_read(term)}
    of_keys = {read for _, term in terms for read in on.columns_read(term)}
    of_keys |= {read for pair in pairs for one in pair for read in one.reads}
    return PlannedJoin(
        join=join,
        scope=scope,
        where=where,
        reads=frozenset(reads),
        times=left.times.within_distance_of(number),
        time_order=(number, *left.times.in_order),
        keys=tuple(keys),
        key_reads=frozenset(of_keys),
        below=left.join_result,
    )


def _change_column(right: Relation, table: VersionedTable | None) -> str | None:
    """Returns the column with the kind of change: that of 'changelog.op', else `_OP`."""
    name = (table.op if table else None) or OP
    found = next((column for column in right.columns if same(column.name, name)), None)
    if found is None:
        return None
    if found.type is not None and not found.type.upper().startswith(_TEXT):
        raise PlanError(
            "MS-PLAN-CHANGELOG",
            f"{right.name}.{found.name} is {found.type}, and the kinds of changes (+I, -U, +U, -D) "
            "are strings.",
            fix=f"Declare {found.name} STRING, or rename the column.",
            place=right.place,
        )
    return found.name


def _version_stream(right: Relation, op: str | None) -> Relation:
    """Returns the stream of versions; of a changelog, without the old values of updates."""
    if op is None:
        return right
    # The new value of an update replaces the version, so -U rows are not needed.
    where = template("NOT {} <=> '-U'", right.refer(op))
    outputs = tuple(Output(right.refer(c.name, c.type), c.name) for c in right.columns)
    node = Select(right.node, outputs, where, right.alias, right.time, place=right.place)
    return replace(right, node=node)


def _as_of_relation(left: LeftInput, moment: exp.Expr, options: JoinOptions) -> int:
    """Returns the number of the left relation whose event time the join uses."""
    expressions = ExpressionReader(left.scope(None))
    bare = None
    if isinstance(moment, exp.Column):
        expressions.check(moment)
        bare = expressions.column_reference(moment)
    known = " or ".join(left.time_text(number) for number in left.times.in_order)
    is_version = options.clause.this.args.get("version") is not None
    fix = f"FOR SYSTEM_TIME AS OF {known}" if is_version else f"MATCH_CONDITION ({known} >= …)"
    if bare is None or bare.origin is None or not left.times.is_time(bare.origin):
        raise PlanError(
            "MS-PLAN-TEMPORAL",
            f"AS OF {expressions.source_sql(moment)} is not the event time of {left.name}.",
            fix=f"Write {fix}.",
            place=place_of(moment, left.text, options.place),
        )
    if bare.origin[0] not in left.times.non_null:
        raise PlanError(
            "MS-PLAN-TEMPORAL",
            f"an outer join may fill {left.relations[bare.origin[0]].display_name}, with NULL, so "
            "not every row has "
            f"{expressions.source_sql(moment)}.",
            fix=f"Write {fix}, or join with INNER.",
            place=place_of(moment, left.text, options.place),
        )
    return bare.origin[0]


def _keys(
    options: JoinOptions, on: ExpressionReader, table: VersionedTable | None
) -> tuple[list[tuple[tuple[Key, ...], exp.Expr]], list[exp.Expr]]:
    """Returns the keys of ON with their terms, and the other terms.

    The key of a table's versions is its primary key, so any other equality is a predicate of the
    version that was found."""
    keys, others = [], []
    own = {options.right.refer(name) for name in table.primary_key} if table else set()
    for term in split_conjunction(options.clause.args.get("on")):
        on.check(term)
        found = _keys_of_term(term, on, own, of_table=table is not None)
        if found:
            keys.append((found, term))
        elif not (isinstance(term, exp.Boolean) and term.this):
            others.append(term)
    return keys, others


def _keys_of_term(
    term: exp.Expr, on: ExpressionReader, own: set[Expression], *, of_table: bool
) -> tuple[Key, ...]:
    """Returns the keys of a term. A primary key is never NULL, so <=> is = there."""
    if not of_table:
        return read_keys(term, on)
    node = without_parentheses(term)
    if isinstance(node, exp.NullSafeEQ):
        term = exp.EQ(this=node.this, expression=node.expression)
    constant = _constant(term, on, own)
    found = read_keys(term, on) or ((constant,) if constant else ())
    return tuple(key for key in found if key.right in own)


def _constant(term: exp.Expr, on: ExpressionReader, own: set[Expression]) -> Key | None:
    """Returns the key if a term compares a primary key column with a constant."""
    if not isinstance(term, exp.EQ) or not on.is_deterministic(term):
        return None
    for one, other in ((term.this, term.expression), (term.expression, term.this)):
        bare, constant = on.column_reference(one), on.read(other)
        if bare and bare.expression in own and constant and not on.inputs_read(other):
            return Key(constant, bare.expression)
    return None


def _reject_partial_key(
    keys: list[Key], table: VersionedTable, left: LeftInput, options: JoinOptions
) -> None:
    given = {key.right for key in keys}
    missing = [name for name in table.primary_key if options.right.refer(name) not in given]
    name = table.source.name
    if not table.primary_key:
        raise PlanError(
            "MS-PLAN-TEMPORAL",
            f"the table {name} has no primary key, so its versions have no identity.",
            fix=f"Add PRIMARY KEY (…) to {name}.",
            place=options.place,
        )
    if missing:
        one, other = (
            left.relations[0].display_sql(missing[0]),
            options.right.display_sql(missing[0]),
        )
        raise PlanError(
            "MS-PLAN-TEMPORAL",
            f"ON has no equality with {missing[0]}, which is part of the primary key of {name}.",
            fix=f"Add an equality, such as {one} = {other}.",
            place=options.place,
        )


def _direction(options: JoinOptions, as_of: AsOf) -> tuple[Direction, int | None]:
    given = options.properties.get("temporal.direction")
    within = options.properties.get("temporal.tolerance")
    direction = Direction(given.value.lower()) if given else as_of.direction or Direction.BACKWARD
    if given and as_of.direction not in (None, direction):
        raise PropertyError(
            "MS-PROP-UNUSED",
            f"'temporal.direction' = '{given.value}' contradicts MATCH_CONDITION.",
            fix="Remove one of them; FOR SYSTEM_TIME AS OF supports all directions.",
            place=given.place,
        )
    if within is None and direction is not Direction.BACKWARD:
        cause = f"'temporal.direction' = '{given.value}'" if given else "MATCH_CONDITION with <="
        raise PlanError(
            "MS-PLAN-UNBOUNDED",
            f"{cause} waits for a later version without a time "
            "limit, so the state would grow forever.",
            fix="Add 'temporal.tolerance' = '5m'."
            if given
            else "Add WITH ('temporal.tolerance' = '5m').",
            place=given.place if given else as_of.place,
        )
    return direction, parse_span(within.value) if within else None
