"""One query becomes a Select over a source, a view or a join."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from millstream.errors import Place, PlanError, PropertyError
from millstream.plan.build.emit import emit_over
from millstream.plan.build.joins.aggregate_window import joined_below
from millstream.plan.build.joins.conjuncts import conjuncts_of, filters_of
from millstream.plan.build.joins.from_clause import Joined, plan_joins
from millstream.plan.build.joins.join_windows import join_windows
from millstream.plan.build.operator_input import of_relation
from millstream.plan.build.operators import Shape, plan_operator, shape_of
from millstream.plan.build.query_options import Asked, keeps_late
from millstream.plan.build.query_over_joins import (
    emit_of_joins,
    plan_over_joins,
    refuse_type_as_written,
)
from millstream.plan.build.stateless import plan_plain
from millstream.plan.build.tables.as_of import refuse_now, table_relation
from millstream.plan.build.tables.versioned import Table
from millstream.plan.connectors import ConnectorRegistry, Role
from millstream.plan.expressions import Expression, all_of
from millstream.plan.join_kinds import JoinKind
from millstream.plan.kinds import kind_of
from millstream.plan.nodes import Engine, Reference, Select, Source
from millstream.plan.nodes.traversal import Stateless
from millstream.plan.reject import not_yet, place_of, refuse_clauses
from millstream.plan.resolve.expressions import Expressions
from millstream.plan.resolve.names import unnamed as unnamed_query
from millstream.plan.resolve.scope import Relation, Scope
from millstream.plan.resolve.size_limits import reject_many_joins, reject_many_steps
from millstream.plan.resolve.table_queries import mark_tables, refuse_joined
from millstream.plan.resolve.window_assignment import assigned
from millstream.plan.resolve.window_clause import window_clause, window_of
from millstream.plan.resolve.window_columns import with_own_windows
from millstream.sql.parse import properties_of
from millstream.sql.properties import Where, check
from millstream.sql.statements import Property
from millstream.sql.text import SourceText
from millstream.suggestions import same
from millstream.temporal import Emit, Window, WindowKind

Lookup = Callable[[str, Place | None], Source | Select]


@dataclass(frozen=True, slots=True)
class Planned:
    """A planned query and what it asks of the pipeline that runs it."""

    select: Select
    emit: Emit | None
    engine: Engine | None
    mode: Property | None = None


def inner_select(planned: Planned, place: Place | None) -> Select:
    """The Select of a query inside another, which may not have options of the outermost one."""
    if planned.engine is not None:
        raise PlanError(
            "MS-PLAN-ENGINE",
            "'engine' stands on a query inside another.",
            fix="One engine runs the whole query: put it on the outermost one, or SET it.",
            place=place,
        )
    if planned.mode is not None:
        raise PropertyError(
            "MS-PROP-UNUSED",
            "'output.mode' stands on a query inside another.",
            fix="It says how the sink is written: put it on the outermost query.",
            place=planned.mode.place,
        )
    return planned.select


AnyTable = Table | Reference | None


def _no_table(_: str) -> AnyTable:
    return None


@dataclass(slots=True)
class Planner:
    """Plans the queries of one text. `lookup` knows sources and views by name."""

    text: SourceText
    lookup: Lookup
    sinks: Collection[str] = ()
    table: Callable[[str], AnyTable] = _no_table
    connectors: ConnectorRegistry = field(default_factory=lambda: ConnectorRegistry(()))

    def plan(self, tree: exp.Expr) -> Planned:
        return self._plan(tree, None, ())

    def _of_connector(self, name: str) -> tuple[str, str, str] | None:
        """Code, cause and fix for a property of a connector on a query."""
        owners = self.connectors.owners(name)
        roles = [str(role) for role in Role if self.connectors.owners(name, role)]
        if not owners:
            return None
        fix = f"It belongs to a {' or a '.join(roles)} with 'connector' = '{owners[0]}'."
        return "MS-PROP-UNKNOWN", f"a query has no property '{name}'.", fix

    def plan_inner(self, tree: exp.Expr, place: Place | None) -> Select:
        """A query inside another; the outermost one alone may choose the engine."""
        return inner_select(self.plan(tree), place)

    def _plan(self, tree: exp.Expr, emit: exp.Expr | None, options: Sequence[exp.Expr]) -> Planned:
        emit = self._one_emit(tree.args.get("emit"), emit)
        options = [*(tree.args.get("options") or []), *options]
        place = place_of(tree, self.text)
        if isinstance(tree, exp.Subquery) and not tree.args.get("alias"):
            return self._plan(tree.this, emit, options)
        if not isinstance(tree, exp.Select):
            what = tree.key.upper() if isinstance(tree, exp.SetOperation) else "this query"
            raise not_yet(what, place)
        refuse_clauses(tree, self.text)
        properties = check(
            Where.QUERY, properties_of(options, self.text), explain=self._of_connector
        )
        asked = Asked(properties, self.sinks, emit, place)
        select = self._with_views(tree).select(tree, asked)
        reject_many_steps(select, place)
        engine = properties.get("engine")
        return Planned(
            select,
            self._emit(emit, select),
            Engine(engine.value.lower()) if engine else None,
            properties.get("output.mode"),
        )

    def _one_emit(self, inner: exp.Expr | None, outer: exp.Expr | None) -> exp.Expr | None:
        """What stands in brackets and what stands after them are about the same query."""
        if inner is not None and outer is not None and inner.name.lower() != outer.name.lower():
            raise PlanError(
                "MS-PLAN-EMIT",
                f"EMIT {inner.name.upper()} and EMIT {outer.name.upper()} stand on one query.",
                fix="Leave one out.",
                place=place_of(outer, self.text),
            )
        return inner or outer

    def _emit(self, clause: exp.Expr | None, select: Select) -> Emit | None:
        below = select.input
        own = None
        if not isinstance(below, Stateless):
            own = kind_of(below).emit(below)
        return own or emit_over(clause, select, self.text)

    def _with_views(self, tree: exp.Select) -> Planner:
        """A planner that also knows the names of this query's WITH clause."""
        with_ = tree.args.get("with_")
        if with_ is None:
            return self
        if with_.args.get("recursive"):
            raise not_yet("WITH RECURSIVE", place_of(with_, self.text))
        planner, names = self, set()
        for cte in with_.expressions:
            name = cte.alias.lower()
            if name in names:
                place = place_of(cte, self.text)
                raise PlanError(
                    "MS-PLAN-DUPLICATE-NAME", f"{cte.alias} stands in WITH twice.", place=place
                )
            names.add(name)
            if cte.args["alias"].args.get("columns"):
                raise not_yet("a list of columns after a name in WITH", place_of(cte, self.text))
            planner = replace(
                planner, lookup=_with_view(planner, cte), table=_without_table(planner, cte)
            )
        return planner

    def select(self, tree: exp.Select, asked: Asked) -> Select:
        from_ = tree.args.get("from_")
        if from_ is None:
            raise PlanError(
                "MS-PLAN-NO-SOURCE",
                "the query reads no stream.",
                fix="Add FROM and the name of a source.",
                place=asked.place,
            )
        mark_tables(tree, lambda item: isinstance(self._table(item), Reference))
        shape = shape_of(tree, self.text)
        reject_many_joins(tree, self.text)
        tables = [self._table(join.this) for join in tree.args.get("joins") or []]
        of_streams = not all(isinstance(table, Reference) for table in tables)
        clause = window_clause(tree, self.text, joins=of_streams)
        window = window_of(clause, self.text) if clause else None
        first = self._relation(from_.this, "_query")
        every = keeps_late(asked)
        if window and clause and shape is not Shape.AGGREGATE and not of_streams:
            first = assigned(with_own_windows(first), window, place_of(clause, self.text))
            window = clause = None
        if tables:
            own = window if shape is Shape.AGGREGATE else None
            return self._joined(tree, first, tables, shape, own, clause, asked)
        self._refuse_within(from_.this)
        if shape is Shape.PLAIN:
            return plan_plain(tree, first, self.text, asked)
        where = self._where(tree, first)
        base = of_relation(tree, first, where, self.text, every=every)
        return plan_operator(tree, shape, base, window, asked)

    def _joined(
        self,
        tree: exp.Select,
        first: Relation,
        tables: list[AnyTable],
        shape: Shape,
        own: Window | None,
        clause: exp.Expr | None,
        asked: Asked,
    ) -> Select:
        """A query over joins; `own` is the window of its aggregate."""
        windows = join_windows(tree, clause if own is None else None, tables, self.text)
        refuse_type_as_written(asked.properties, [each.kind for each in windows])
        added = [window for each in windows for window in (each.left, each.right) if window]
        apart = any(window.kind is not WindowKind.SESSION for window in added)
        first = with_own_windows(first) if apart else first
        joined = []
        for number, (each, table) in enumerate(zip(windows, tables, strict=True)):
            join = tree.args["joins"][number]
            refuse_joined(join, self.text)
            versions = table if each.kind in (JoinKind.TEMPORAL, JoinKind.LOOKUP) else None
            right = self._relation(join.this, f"_query_{number + 2}", versions)
            if apart and not isinstance(table, Reference):
                right = with_own_windows(right)
            joined.append(Joined(join, right, each, versions))
        emit = emit_of_joins(shape, asked)
        below = joined_below(tree, clause, self.text) if own and clause else None
        planned = plan_joins(
            tree, first, joined, asked.properties, self.text, self.sinks, emit, below
        )
        return plan_over_joins(tree, planned, shape, own, asked, self.text)

    def _where(self, tree: exp.Select, relation: Relation) -> Expression | None:
        where = tree.args.get("where")
        if where is None:
            return None
        expressions = Expressions(Scope((relation,), self.text))
        return all_of(filters_of(list(conjuncts_of(where.this)), expressions))

    def _refuse_within(self, table: exp.Expr) -> None:
        if within := table.args.get("within"):
            raise PlanError(
                "MS-PLAN-WITHIN",
                "WITHIN needs a join.",
                fix="Write JOIN … WITHIN INTERVAL 5 MINUTES ON …",
                place=place_of(within, self.text),
            )

    def _table(self, item: exp.Expr) -> AnyTable:
        """The table that stands in a join, if it is one."""
        named = isinstance(item, exp.Table) and not item.args.get("db")
        return self.table(item.name) if named else None

    def _relation(
        self, item: exp.Table | exp.Subquery, unnamed: str, table: AnyTable = None
    ) -> Relation:
        place = place_of(item, self.text)
        if isinstance(item, exp.Subquery):
            query = self.plan_inner(item.this, place)
            if not item.alias:
                return Relation(unnamed, unnamed_query(place), query, place, unnamed=True)
            return Relation(item.alias, item.alias, query, place)
        if item.args.get("db"):
            raise PlanError(
                "MS-PLAN-UNKNOWN-TABLE",
                f"{item.sql('spark')} is neither a stream nor a table of this job.",
                fix="Names of streams and tables have one part.",
                place=place,
            )
        version = item.args.get("version")
        if isinstance(table, Reference):
            return table_relation(table, item.alias or item.name, version, place)
        if version is not None:
            refuse_now(version, item.name, table, place)
        node = table.source if table else self.lookup(item.name, place)
        name = node.name if isinstance(node, Source) else item.name
        return Relation(item.alias or item.name, name, node, place)


def _without_table(planner: Planner, cte: exp.Expr) -> Callable[[str], AnyTable]:
    """A name of WITH hides a table of the same name."""
    return lambda name: None if same(name, cte.alias) else planner.table(name)


def _with_view(planner: Planner, cte: exp.Expr) -> Lookup:
    """A lookup that finds one more view, planned whenever it is used."""

    def lookup(name: str, place: Place | None) -> Source | Select:
        if same(name, cte.alias):
            return planner.plan_inner(cte.this, place)
        return planner.lookup(name, place)

    return lookup
