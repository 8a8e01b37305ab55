"""Plans table joins: joins with the current rows of a reference table, without state."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from millstream.plan.build.joins.chain import PlannedJoin
from millstream.plan.build.joins.conjuncts import (
    read_filters,
    read_predicate,
    split_conjunction,
)
from millstream.plan.build.joins.event_times import EventTimes
from millstream.plan.build.joins.keys import read_keys
from millstream.plan.build.joins.left_input import LeftInput
from millstream.plan.build.joins.options import JoinOptions
from millstream.plan.build.joins.table_checks import (
    reject_missing_table_key,
    reject_multiple_matches,
    reject_retractions,
    reject_unsupported_join,
)
from millstream.plan.build.joins.table_conditions import (
    read_broadcast_conditions,
    read_conditions,
)
from millstream.plan.build.joins.using import merged_columns, using_keys, using_pairs
from millstream.plan.expressions import Expression, join_with_and, template
from millstream.plan.nodes import Broadcast, Input, Key, ReferenceTable, TableJoin, TableKey
from millstream.plan.resolve.expressions import ExpressionReader
from millstream.plan.resolve.scope import Relation
from millstream.values import Condition, JoinType

_LEFT, _TABLE = frozenset((0,)), frozenset((1,))


def plan_table_join(left: LeftInput, table: ReferenceTable, options: JoinOptions) -> PlannedJoin:
    how, right = options.how, options.right
    reject_unsupported_join(table, options)
    reject_retractions(left, table, options)
    names = left.scope(right)
    pairs = using_pairs(options.clause, names)
    merged = merged_columns(pairs, how)
    inner = how is JoinType.INNER
    on = ExpressionReader(left.scope(right, merged) if inner else names)
    found = _TableConjuncts(inner, isinstance(table.access, Broadcast))
    for key in using_keys(pairs, EventTimes()):
        found.add_key(key.left, _name_of(key, table, right))
    for term in split_conjunction(options.clause.args.get("on")):
        found.add(term, on)
    if inner:
        for term in options.filters:
            found.add(term, on)
    reject_missing_table_key(found.keys, (*found.across, *found.after), left, options, on)
    if not inner:
        reject_multiple_matches(found.across, found.equal, table, options, on)
    scope = left.scope(None if how.left_only else right, merged)
    where, reads = read_filters(found.after, on), set[tuple[int, str]]()
    if not inner:
        above = ExpressionReader(scope)
        where = read_filters(options.filters, above)
        reads |= {read for term in options.filters for read in above.columns_read(term)}
        found.add_lookup_filters(options.filters, on)
    reads |= {read for term in (*found.after, *found.across) for read in on.columns_read(term)}
    join = TableJoin(
        left=Input(left.alias, left.node, None, 0, ()),
        table=table,
        alias=right.alias,
        how=how,
        keys=tuple(TableKey(key, column) for column, key in found.keys.items()),
        used=(),
        left_where=join_with_and(found.left_where),
        conditions=tuple(found.conditions),
        across_sql=join_with_and(read_filters(found.across, on)),
        place=options.place,
    )
    time_order = left.join_result.planned.time_order if left.join_result else (0,)
    return PlannedJoin(
        join=join,
        scope=scope,
        where=where,
        reads=frozenset(reads),
        times=left.times,
        time_order=(*time_order, *left.times.in_order),
        keys=join.keys,
        key_reads=frozenset(found.key_reads | {r for one, _ in pairs for r in one.reads}),
        below=left.join_result,
        windows=left.windows,
    )


def _name_of(key: Key, table: ReferenceTable, right: Relation) -> str:
    return next(each.name for each in table.columns if right.refer(each.name) == key.right)


@dataclass(slots=True)
class _TableConjuncts:
    """The classified terms of ON and, for an inner join, of WHERE."""

    inner: bool
    broadcast: bool
    keys: dict[str, Expression] = field(
        default_factory=dict
    )  # expressions of the left side by the table's column
    left_where: list[Expression] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    across: list[exp.Expr] = field(default_factory=list)
    after: list[exp.Expr] = field(default_factory=list)
    key_reads: set[tuple[int, str]] = field(default_factory=set)

    @property
    def equal(self) -> set[str]:
        """The columns of the table that have one value in all rows that match a row."""
        return {*self.keys, *(each.column for each in self.conditions if each.op == "=")}

    def add_key(self, key: Expression, column: str) -> None:
        known = self.keys.setdefault(column, key)
        if known != key:  # both must equal the column, so they must be equal
            self.left_where.append(template("{} = {}", known, key))

    def add(self, term: exp.Expr, on: ExpressionReader) -> None:
        on.check(term)
        if isinstance(term, exp.Boolean) and term.this:
            return
        sides = on.inputs_read(term)
        if self.inner and not on.is_deterministic(term):
            self.after.append(term)
        elif sides <= _LEFT:
            self.left_where.append(read_predicate(term, on))
        elif sides == _TABLE and (conditions := self._conditions(term, on)):
            self.conditions += conditions
        elif key := self._key(term, on):
            self.add_key(*key)
            self.key_reads |= {read for read in on.columns_read(term) if read[0] == 0}
        else:
            (self.after if self.inner else self.across).append(term)

    def _conditions(self, term: exp.Expr, on: ExpressionReader) -> tuple[Condition, ...]:
        # With an inner join, Spark evaluates the others after it.
        if self.broadcast and not self.inner:
            return read_broadcast_conditions(term, on)
        return read_conditions(term, on)

    def _key(self, term: exp.Expr, on: ExpressionReader) -> tuple[Expression, str] | None:
        """Returns the left expression and the table's column if a term is an equality of both."""
        inside = term
        while isinstance(inside, exp.Paren):
            inside = inside.this
        if not isinstance(inside, exp.EQ) or not (keys := read_keys(inside, on)):
            return None
        for node in (inside.this, inside.expression):
            bare = on.column_reference(node)
            if bare is not None and bare.reads == ((1, bare.column.name),):
                return keys[0].left, bare.column.name
        return None

    def add_lookup_filters(self, filters: list[exp.Expr], on: ExpressionReader) -> None:
        """Skips lookups of rows that WHERE drops."""
        for term in filters:
            if on.inputs_read(term) == _LEFT and on.is_deterministic(term):
                self.left_where.append(read_predicate(term, on))
