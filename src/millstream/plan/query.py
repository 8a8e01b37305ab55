"""One query becomes a Select over a source, a view or a join."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from millstream.errors import Place, PlanError, PropertyError
from millstream.plan.expressions import Expressions, all_of
from millstream.plan.joins import PlannedJoin, plan_join, sort_texts
from millstream.plan.names import same
from millstream.plan.nodes import Engine, IntervalJoin, JoinType, Node, Output, Select, Source
from millstream.plan.predicates import conjuncts_of
from millstream.plan.refuse import not_yet, place_of, refuse_clauses, refuse_expressions
from millstream.plan.scope import Reference, Relation, Scope
from millstream.sql.parse import properties_of
from millstream.sql.properties import Where, check
from millstream.sql.statements import Property
from millstream.sql.text import SourceText
from millstream.temporal import Emit

_FOR_JOINS = ("join.", "late.", "state.")
_NOT_YET = ("join.salt", "late.budget", "window.lateness", "state.ttl")

Lookup = Callable[[str, Place | None], Source | Select]


@dataclass(frozen=True, slots=True)
class Planned:
    """A planned query and what it asks of the pipeline that runs it."""

    select: Select
    emit: Emit | None
    engine: Engine | None


@dataclass(slots=True)
class Planner:
    """Plans the queries of one text. `lookup` knows sources and views by name."""

    text: SourceText
    lookup: Lookup
    sinks: Collection[str] = ()

    def plan(self, tree: exp.Expr) -> Planned:
        emit, options = tree.args.get("emit"), list(tree.args.get("options") or [])
        if isinstance(tree, exp.Subquery) and not tree.args.get("alias"):
            inner = tree.this
            inner.set("emit", inner.args.get("emit") or emit)
            inner.set("options", [*(inner.args.get("options") or []), *options])
            return self.plan(inner)
        place = place_of(tree, self.text)
        if isinstance(tree, exp.SetOperation):
            raise not_yet(tree.key.upper(), place)
        if not isinstance(tree, exp.Select):
            raise not_yet("this kind of query", place)
        self._refuse_window_joins(tree)
        properties = check(Where.QUERY, properties_of(options, self.text))
        self._refuse_properties(tree, properties)
        planner = self._with_views(tree)
        select = planner._select(tree, properties, place)
        engine = properties.get("engine")
        return Planned(
            select,
            self._emit(emit),
            Engine(engine.value.lower()) if engine else None,
        )

    def _refuse_window_joins(self, tree: exp.Select) -> None:
        refuse_clauses(tree, self.text)
        joins = tree.args.get("joins") or []
        if len(joins) > 1:
            raise not_yet("a join of more than two streams", place_of(joins[1], self.text))

    def _refuse_properties(self, tree: exp.Select, properties: dict[str, Property]) -> None:
        for name, item in properties.items():
            if name in _NOT_YET or (name == "output.mode" and item.value.lower() != "append"):
                raise not_yet(f"'{name}' = '{item.value}'", item.place)
            if name == "join.type" and item.value.lower() != "interval":
                raise not_yet(f"a {item.value.lower()} join", item.value_place)
            if name.startswith(_FOR_JOINS) and not tree.args.get("joins"):
                raise PropertyError(
                    "MS-PROP-UNUSED",
                    f"'{name}' is for a join, and this query has none.",
                    fix="Put it on the query that holds the join.",
                    place=item.place,
                )

    def _emit(self, clause: exp.Expr | None) -> Emit | None:
        if clause is None:
            return None
        emit = Emit(clause.name.lower())
        if emit is Emit.FINAL:
            raise PlanError(
                "MS-PLAN-EMIT-FINAL",
                "EMIT FINAL waits for a window to close, and this query has no window.",
                fix="Write EMIT CHANGES, or leave EMIT out.",
                place=place_of(clause, self.text),
            )
        return emit

    def _with_views(self, tree: exp.Select) -> Planner:
        """A planner that also knows the names of this query's WITH clause."""
        with_ = tree.args.get("with_")
        if with_ is None:
            return self
        if with_.args.get("recursive"):
            raise not_yet("WITH RECURSIVE", place_of(with_, self.text))
        planner = self
        for cte in with_.expressions:
            planner = replace(planner, lookup=_with_view(planner, cte))
        return planner

    def _select(
        self, tree: exp.Select, properties: dict[str, Property], place: Place | None
    ) -> Select:
        from_ = tree.args.get("from_")
        if from_ is None:
            raise PlanError(
                "MS-PLAN-NO-SOURCE",
                "the query reads no stream.",
                fix="Add FROM and the name of a source.",
                place=place,
            )
        first = self._relation(from_.this)
        if not tree.args.get("joins"):
            return self._stateless(tree, first, place)
        second = self._relation(tree.args["joins"][0].this)
        for relation in (first, second):
            if _holds_join(relation.node):
                raise not_yet("a join of more than two streams", relation.place)
        if same(first.alias, second.alias):
            raise PlanError(
                "MS-PLAN-DUPLICATE-NAME",
                f"both sides of the join are called {first.alias}.",
                fix="Give each an alias.",
                place=second.place,
            )
        planned = plan_join(tree, (first, second), properties, self.text, self.sinks)
        expressions = Expressions(planned.scope)
        outputs = list(_outputs(tree, expressions))
        reads = {read for output in outputs for read in output.reads}
        return Select(
            input=planned.used_by(reads),
            outputs=_distinct(outputs, planned.scope, place),
            where=all_of(planned.where),
            time=_join_time(planned, outputs),
            place=place,
        )

    def _stateless(self, tree: exp.Select, relation: Relation, place: Place | None) -> Select:
        if within := tree.args["from_"].this.args.get("within"):
            raise PlanError(
                "MS-PLAN-WITHIN",
                "WITHIN needs a join.",
                fix="Write JOIN … WITHIN INTERVAL 5 MINUTES ON …",
                place=place_of(within, self.text),
            )
        scope = Scope((relation,), self.text)
        expressions = Expressions(scope)
        where = tree.args.get("where")
        filters = sort_texts(list(conjuncts_of(where.this)), expressions) if where else ()
        outputs = list(_outputs(tree, expressions))
        return Select(
            input=relation.node,
            outputs=_distinct(outputs, scope, place),
            where=all_of(filters),
            alias=relation.alias,
            time=_carrying(outputs, ((0, relation.time),)),
            place=place,
        )

    def _relation(self, item: exp.Table | exp.Subquery) -> Relation:
        place = place_of(item, self.text)
        if isinstance(item, exp.Subquery):
            if not item.alias:
                raise PlanError(
                    "MS-PLAN-ALIAS",
                    "the query in FROM has no name.",
                    fix="Add AS and a name after it.",
                    place=place,
                )
            planned = self.plan(item.this)
            self._refuse_engine(planned, place)
            return Relation(item.alias, item.alias, planned.select, place)
        if item.args.get("db"):
            raise PlanError(
                "MS-PLAN-UNKNOWN-TABLE",
                f"{item.sql('spark')} is not a stream of this job.",
                fix="Names of streams have one part.",
                place=place,
            )
        node = self.lookup(item.name, place)
        name = node.name if isinstance(node, Source) else item.name
        return Relation(item.alias or item.name, name, node, place)

    def _refuse_engine(self, planned: Planned, place: Place | None) -> None:
        if planned.engine is not None:
            raise PlanError(
                "MS-PLAN-ENGINE",
                "'engine' stands on a query inside another.",
                fix="One engine runs the whole query: put it on the outermost one.",
                place=place,
            )


def _with_view(planner: Planner, cte: exp.Expr) -> Lookup:
    """A lookup that finds one more view, planned when it is first used."""

    def lookup(name: str, place: Place | None) -> Source | Select:
        if not same(name, cte.alias):
            return planner.lookup(name, place)
        planned = planner.plan(cte.this)
        planner._refuse_engine(planned, place)
        return planned.select

    return lookup


def _holds_join(node: Node) -> bool:
    while isinstance(node, Select):
        node = node.input
    return isinstance(node, IntervalJoin)


@dataclass(frozen=True, slots=True)
class _Item:
    """An output before names are checked: what it reads, and the reference if it is nothing else."""

    output: Output
    reads: frozenset[tuple[int, str]]
    bare: Reference | None
    place: Place | None


def _outputs(tree: exp.Select, expressions: Expressions) -> Iterator[_Item]:
    for item in tree.expressions:
        place = place_of(item, expressions.scope.text)
        if isinstance(item, exp.Star) or _is_qualified_star(item):
            yield from _expanded(item, expressions.scope, place)
            continue
        if isinstance(item, exp.Aliases):
            raise not_yet("several names for one expression", place)
        value = item.this if isinstance(item, exp.Alias) else item
        refuse_expressions(value, expressions.scope.text)
        text = expressions.text(value)
        if text is None:
            raise not_yet("this expression", place)
        bare = expressions.bare(value)
        name = item.alias if isinstance(item, exp.Alias) else _own_name(value, expressions)
        output = Output(text, name, _type_of(value, bare))
        yield _Item(output, expressions.reads(value), bare, place)


def _is_qualified_star(item: exp.Expr) -> bool:
    return isinstance(item, exp.Column) and isinstance(item.this, exp.Star)


def _own_name(value: exp.Expr, expressions: Expressions) -> str:
    """A column or a field keeps its own name; anything else is called by its text."""
    while isinstance(value, exp.Paren):
        value = value.this
    if isinstance(value, exp.Column | exp.Dot):
        return value.name
    return expressions.written(value)


def _type_of(value: exp.Expr, bare: Reference | None) -> str | None:
    if bare:
        return bare.column.type
    if isinstance(value, exp.Cast):
        target = value.to
        return target.sql("spark") if isinstance(target, exp.DataType) else None
    return None


def _expanded(item: exp.Expr, scope: Scope, place: Place | None) -> Iterator[_Item]:
    """The outputs of `*` or `alias.*`; over USING, `*` begins with the merged columns."""
    star = item.this if isinstance(item, exp.Column) else item
    if any(star.args.values()):
        raise not_yet("* EXCEPT", place)
    numbers = list(range(len(scope.relations)))
    hidden: set[str] = set()
    if isinstance(item, exp.Column):
        if item.args.get("db"):
            raise not_yet("the * of a struct", place)
        number, _ = scope.relation(item.table, place)
        numbers = [number]
    else:
        for merged in scope.merged.values():
            output = Output(merged.text, merged.column.name, merged.column.type)
            bare = Reference(merged.text, 0, 0, merged.reads, merged.column, False)
            yield _Item(output, frozenset(merged.reads), bare, place)
        hidden = set(scope.merged)
    for number in numbers:
        relation = scope.relations[number]
        for column in relation.columns:
            if column.name.lower() in hidden:
                continue
            text, reads = relation.text(column.name), ((number, column.name),)
            bare = Reference(text, 0, 0, reads, column, False)
            output = Output(text, column.name, column.type)
            yield _Item(output, frozenset(reads), bare, place)


def _distinct(items: list[_Item], scope: Scope, place: Place | None) -> tuple[Output, ...]:
    seen: dict[str, _Item] = {}
    twice: list[_Item] = []
    for item in items:
        key = item.output.name.lower()
        if key in seen:
            twice.append(item)
        seen.setdefault(key, item)
    if twice:
        names = ", ".join(item.output.name for item in twice)
        first = twice[0].output
        alias = quote_alias(twice[0], scope)
        raise PlanError(
            "MS-PLAN-DUPLICATE-COLUMN",
            f"the result has more than one column called {names}.",
            fix=f"List the columns and rename one of each: {first.sql} AS {alias}.",
            place=twice[0].place or place,
        )
    return tuple(item.output for item in items)


def quote_alias(item: _Item, scope: Scope) -> str:
    numbers = {number for number, _ in item.reads}
    if len(numbers) == 1:
        return f"{scope.relations[numbers.pop()].alias}_{item.output.name}"
    return f"{item.output.name}_2"


def _carrying(items: list[_Item], times: tuple[tuple[int, str | None], ...]) -> str | None:
    """The first output that is a bare reference to one of the event times, in their order."""
    for time in times:
        for item in items:
            if item.bare and item.bare.reads == (time,):
                return item.output.name
    return None


def _join_time(planned: PlannedJoin, items: list[_Item]) -> str | None:
    """An event time that no row of the result lacks; an outer join pads one or both sides."""
    left, right = (0, planned.join.left.time), (1, planned.join.right.time)
    if planned.join.how is JoinType.FULL:
        return None
    if planned.join.how is JoinType.RIGHT:
        return _carrying(items, (right,))
    return _carrying(items, (left, right) if planned.join.how is JoinType.INNER else (left,))
