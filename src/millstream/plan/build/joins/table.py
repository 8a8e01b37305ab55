"""A join with a table as it is when a row is read: a step of the stream that keeps no state."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from millstream.plan.build.joins.chain import PlannedJoin
from millstream.plan.build.joins.conjuncts import conjunct_of, conjuncts_of, filters_of, key_of
from millstream.plan.build.joins.event_times import Times
from millstream.plan.build.joins.left_input import Left
from millstream.plan.build.joins.options import JoinAsked
from millstream.plan.build.joins.table_checks import (
    refuse_kind,
    refuse_many,
    refuse_no_table_key,
    refuse_taking_back,
)
from millstream.plan.build.joins.table_conditions import conditions_of
from millstream.plan.build.joins.using import merged_columns, using_keys, using_pairs
from millstream.plan.expressions import Expression, all_of, template
from millstream.plan.nodes import Input, Key, Reference, TableJoin, TableKey
from millstream.plan.resolve.expressions import Expressions
from millstream.plan.resolve.scope import Relation
from millstream.values import Condition, JoinType

_LEFT, _TABLE = frozenset((0,)), frozenset((1,))


def plan_table(left: Left, table: Reference, asked: JoinAsked) -> PlannedJoin:
    how, right = asked.how, asked.right
    refuse_kind(table, asked)
    refuse_taking_back(left, table, asked)
    names = left.scope(right)
    pairs = using_pairs(asked.clause, names)
    merged = merged_columns(pairs, how)
    inner = how is JoinType.INNER
    on = Expressions(left.scope(right, merged) if inner else names)
    found = _Found(inner)
    for key in using_keys(pairs, Times()):
        found.add_key(key.left, _name_of(key, table, right))
    for term in conjuncts_of(asked.clause.args.get("on")):
        found.add(term, on)
    if inner:
        for term in asked.filters:
            found.add(term, on)
    refuse_no_table_key(found.keys, (*found.across, *found.after), left, asked, on)
    if not inner:
        refuse_many(found.across, found.equal, table, asked, on)
    scope = left.scope(None if how.left_only else right, merged)
    where, reads = filters_of(found.after, on), set[tuple[int, str]]()
    if not inner:
        above = Expressions(scope)
        where = filters_of(asked.filters, above)
        reads |= {read for term in asked.filters for read in above.reads(term)}
        found.ask_less(asked.filters, on)
    reads |= {read for term in (*found.after, *found.across) for read in on.reads(term)}
    join = TableJoin(
        left=Input(left.alias, left.node, None, 0, ()),
        table=table,
        alias=right.alias,
        how=how,
        keys=tuple(TableKey(key, column) for column, key in found.keys.items()),
        used=(),
        left_where=all_of(found.left_where),
        conditions=tuple(found.conditions),
        across_sql=all_of(filters_of(found.across, on)),
        place=asked.place,
    )
    order = left.lifted.planned.order if left.lifted else (0,)
    return PlannedJoin(
        join=join,
        scope=scope,
        where=where,
        reads=frozenset(reads),
        times=left.times,
        order=(*order, *left.times.in_order),
        keys=join.keys,
        key_reads=frozenset(found.key_reads | {r for one, _ in pairs for r in one.reads}),
        below=left.lifted,
        windows=left.windows,
    )


def _name_of(key: Key, table: Reference, right: Relation) -> str:
    return next(each.name for each in table.columns if right.refer(each.name) == key.right)


@dataclass(slots=True)
class _Found:
    """What the terms of ON and, of an inner join, of WHERE say."""

    inner: bool
    keys: dict[str, Expression] = field(default_factory=dict)  # of the left side by column
    left_where: list[Expression] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    across: list[exp.Expr] = field(default_factory=list)
    after: list[exp.Expr] = field(default_factory=list)
    key_reads: set[tuple[int, str]] = field(default_factory=set)

    @property
    def equal(self) -> set[str]:
        """Columns of the table that have one value in all rows that a row finds."""
        return {*self.keys, *(each.column for each in self.conditions if each.op == "=")}

    def add_key(self, key: Expression, column: str) -> None:
        known = self.keys.setdefault(column, key)
        if known != key:  # both are to be equal to the column, so they are to each other
            self.left_where.append(template("{} = {}", known, key))

    def add(self, term: exp.Expr, on: Expressions) -> None:
        on.check(term)
        if isinstance(term, exp.Boolean) and term.this:
            return
        sides = on.sides(term)
        if self.inner and not on.steady(term):
            self.after.append(term)
        elif sides <= _LEFT:
            self.left_where.append(conjunct_of(term, on))
        elif sides == _TABLE and (asked := conditions_of(term, on)):
            self.conditions += asked
        elif key := self._key(term, on):
            self.add_key(*key)
            self.key_reads |= {read for read in on.reads(term) if read[0] == 0}
        else:
            (self.after if self.inner else self.across).append(term)

    def _key(self, term: exp.Expr, on: Expressions) -> tuple[Expression, str] | None:
        """The left expression and the column, if a term is the equality of both."""
        inside = term
        while isinstance(inside, exp.Paren):
            inside = inside.this
        key = key_of(inside, on)
        if key is None or not isinstance(inside, exp.EQ):
            return None
        for node in (inside.this, inside.expression):
            bare = on.bare(node)
            if bare is not None and bare.reads == ((1, bare.column.name),):
                return key.left, bare.column.name
        return None

    def ask_less(self, filters: list[exp.Expr], on: Expressions) -> None:
        """A row that WHERE drops need not be looked up."""
        for term in filters:
            if on.sides(term) == _LEFT and on.steady(term):
                self.left_where.append(conjunct_of(term, on))
