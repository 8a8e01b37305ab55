"""One query becomes a Select over a source, a view or a join."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from millstream.errors import Place, PlanError, PropertyError
from millstream.plan.expressions import Expressions, all_of
from millstream.plan.joins import plan_join
from millstream.plan.names import same
from millstream.plan.nodes import Engine, Select, Source
from millstream.plan.outputs import carrying, distinct, join_time, outputs_of
from millstream.plan.predicates import conjuncts_of, filter_texts
from millstream.plan.refuse import not_yet, place_of, refuse_clauses
from millstream.plan.scope import Relation, Scope
from millstream.plan.walk import joins_of
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
        return self._plan(tree, None, ())

    def plan_inner(self, tree: exp.Expr, place: Place | None) -> Select:
        """A query inside another; the outermost one alone may choose the engine."""
        planned = self.plan(tree)
        if planned.engine is not None:
            raise PlanError(
                "MS-PLAN-ENGINE",
                "'engine' stands on a query inside another.",
                fix="One engine runs the whole query: put it on the outermost one, or SET it.",
                place=place,
            )
        return planned.select

    def _plan(self, tree: exp.Expr, emit: exp.Expr | None, options: Sequence[exp.Expr]) -> Planned:
        emit = tree.args.get("emit") or emit
        options = [*(tree.args.get("options") or []), *options]
        place = place_of(tree, self.text)
        if isinstance(tree, exp.Subquery) and not tree.args.get("alias"):
            return self._plan(tree.this, emit, options)
        if not isinstance(tree, exp.Select):
            what = tree.key.upper() if isinstance(tree, exp.SetOperation) else "this query"
            raise not_yet(what, place)
        refuse_clauses(tree, self.text)
        properties = check(Where.QUERY, properties_of(options, self.text))
        self._refuse_properties(tree, properties)
        select = self._with_views(tree).select(tree, properties, place)
        engine = properties.get("engine")
        return Planned(select, self._emit(emit), Engine(engine.value.lower()) if engine else None)

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
            if cte.args["alias"].args.get("columns"):
                raise not_yet("a list of columns after a name in WITH", place_of(cte, self.text))
            planner = replace(planner, lookup=_with_view(planner, cte))
        return planner

    def select(
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
        first = self._relation(from_.this, "_query")
        if not tree.args.get("joins"):
            return self._stateless(tree, first, place)
        second = self._relation(tree.args["joins"][0].this, "_query_2")
        for relation in (first, second):
            if joins_of(relation.node):
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
        outputs = list(outputs_of(tree, expressions))
        reads = {read for output in outputs for read in output.reads}
        return Select(
            input=planned.used_by(reads),
            outputs=distinct(outputs, planned.scope, place),
            where=all_of(planned.where),
            time=join_time(planned.join, outputs),
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
        filters = filter_texts(list(conjuncts_of(where.this)), expressions) if where else ()
        outputs = list(outputs_of(tree, expressions))
        return Select(
            input=relation.node,
            outputs=distinct(outputs, scope, place),
            where=all_of(filters),
            alias=relation.alias,
            time=carrying(outputs, ((0, relation.time),)),
            place=place,
        )

    def _relation(self, item: exp.Table | exp.Subquery, unnamed: str) -> Relation:
        place = place_of(item, self.text)
        if isinstance(item, exp.Subquery):
            alias = item.alias or unnamed
            return Relation(alias, alias, self.plan_inner(item.this, place), place)
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


def _with_view(planner: Planner, cte: exp.Expr) -> Lookup:
    """A lookup that finds one more view, planned whenever it is used."""

    def lookup(name: str, place: Place | None) -> Source | Select:
        if same(name, cte.alias):
            return planner.plan_inner(cte.this, place)
        return planner.lookup(name, place)

    return lookup
