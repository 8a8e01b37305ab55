"""Plans one query as a Select over a source, a view or a join."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from millstream.errors import Place, PlanError, PropertyError
from millstream.plan.build.emit import resolve_emit_of_stateless_query
from millstream.plan.build.joins.conjuncts import read_filters, split_conjunction
from millstream.plan.build.joins.from_clause import JoinClause, plan_joins
from millstream.plan.build.joins.join_windows import resolve_join_windows
from millstream.plan.build.joins.window_rewrite import rewrite_with_windowed_join
from millstream.plan.build.operator_input import input_from_stream
from millstream.plan.build.order_by_limit import has_order_or_limit, plan_order_by_limit
from millstream.plan.build.query_operator import QueryOperator, find_query_operator, plan_operator
from millstream.plan.build.query_options import QueryOptions, has_late_side_output
from millstream.plan.build.query_over_joins import (
    plan_over_joins,
    reject_impossible_join_type,
    resolve_join_emit,
)
from millstream.plan.build.stateless import plan_stateless_query
from millstream.plan.build.tables.versioned import (
    VersionedTable,
    build_table_relation,
    reject_current_version,
)
from millstream.plan.build.union import plan_union, queries_of_union
from millstream.plan.build.upsert_source import latest_rows
from millstream.plan.connectors import ConnectorRegistry, Role
from millstream.plan.expressions import Expression, join_with_and
from millstream.plan.kinds import kind_of
from millstream.plan.nodes import Engine, JoinKind, ReferenceTable, Select, Source
from millstream.plan.nodes.traversal import Stateless
from millstream.plan.reject import (
    not_supported,
    place_of,
    reject_clauses,
    reject_clauses_of_union,
)
from millstream.plan.resolve.expressions import ExpressionReader
from millstream.plan.resolve.names import unnamed_query_phrase as unnamed_query
from millstream.plan.resolve.scope import Relation, Scope
from millstream.plan.resolve.size_limits import reject_many_joins, reject_many_steps
from millstream.plan.resolve.table_queries import mark_tables, reject_table_query_join
from millstream.plan.resolve.window_assignment import assign_windows
from millstream.plan.resolve.window_clause import find_window_clause, read_window
from millstream.plan.resolve.window_columns import rename_own_window_columns
from millstream.plan.resolve.window_functions import reject_window_functions
from millstream.plan.resolve.window_time import check_join_window_time, check_window_time
from millstream.sql.parse import properties_of
from millstream.sql.properties import PropertyOwner, check_properties
from millstream.sql.statements import Property
from millstream.sql.text import SourceText
from millstream.suggestions import same
from millstream.temporal import Emit, Window, WindowKind

Lookup = Callable[[str, Place | None], Source | Select]


@dataclass(frozen=True, slots=True)
class PlannedQuery:
    """A planned query and its options for the pipeline that runs it."""

    select: Select
    emit: Emit | None
    engine: Engine | None
    mode: Property | None = None
    on_error: Property | None = None
    dead_letter: Property | None = None


def select_of_inner_query(planned: PlannedQuery, place: Place | None) -> Select:
    """Returns the Select of a subquery or stream; rejects options of the outermost query."""
    if planned.engine is not None:
        raise PlanError(
            "MS-PLAN-ENGINE",
            "'engine' is set on an inner query.",
            fix="One engine runs the whole query: set it on the outermost query or with SET.",
            place=place,
        )
    if planned.mode is not None:
        raise PropertyError(
            "MS-PROP-UNUSED",
            "'output.mode' is set on an inner query.",
            fix="It defines how the sink is written: set it on the outermost query.",
            place=planned.mode.place,
        )
    for given in (planned.on_error, planned.dead_letter):
        if given is not None:
            raise PropertyError(
                "MS-PROP-UNUSED",
                f"'{given.name}' is set on an inner query.",
                fix="It applies to all expressions that a sink's rows are computed from: set it on "
                "the outermost query.",
                place=given.place,
            )
    return planned.select


TableDefinition = VersionedTable | ReferenceTable | None


def _no_table(_: str) -> TableDefinition:
    return None


@dataclass(slots=True)
class QueryPlanner:
    """Plans the queries of one text. `lookup` finds sources and views by name."""

    text: SourceText
    lookup: Lookup
    sinks: Collection[str] = ()
    table: Callable[[str], TableDefinition] = _no_table
    connectors: ConnectorRegistry = field(default_factory=lambda: ConnectorRegistry(()))

    def plan(self, tree: exp.Expr) -> PlannedQuery:
        return self._plan(tree, None, ())

    def _explain_connector_property(self, name: str) -> tuple[str, str, str] | None:
        """Returns code, cause and fix for a connector's property on a query."""
        owners = self.connectors.owners(name)
        roles = [str(role) for role in Role if self.connectors.owners(name, role)]
        if not owners:
            return None
        fix = f"It belongs to a {' or a '.join(roles)} with 'connector' = '{owners[0]}'."
        return "MS-PROP-UNKNOWN", f"a query has no property '{name}'.", fix

    def plan_inner(self, tree: exp.Expr, place: Place | None) -> Select:
        """Plans an inner query; only the outermost query may choose the engine."""
        return select_of_inner_query(self.plan(tree), place)

    def _plan(
        self, tree: exp.Expr, emit: exp.Expr | None, property_nodes: Sequence[exp.Expr]
    ) -> PlannedQuery:
        emit = self._merge_emit(tree.args.get("emit"), emit)
        property_nodes = [*(tree.args.get("options") or []), *property_nodes]
        place = place_of(tree, self.text)
        if isinstance(tree, exp.Subquery) and not tree.args.get("alias"):
            return self._plan(tree.this, emit, property_nodes)
        if isinstance(tree, exp.SetOperation):
            return self._plan_union(tree, emit, property_nodes)
        if not isinstance(tree, exp.Select):
            raise not_supported("this query", place)
        reject_clauses(tree, self.text)
        properties = check_properties(
            PropertyOwner.QUERY,
            properties_of(property_nodes, self.text),
            explain=self._explain_connector_property,
        )
        options = QueryOptions(properties, self.sinks, emit, place)
        planner = self._with_views(tree)
        if has_order_or_limit(tree):
            select = plan_order_by_limit(tree, options, planner.select, self.text)
        else:
            select = planner.select(tree, options)
        reject_many_steps(select, place)
        engine = properties.get("engine")
        return PlannedQuery(
            select,
            self._emit(emit, select),
            Engine(engine.value.lower()) if engine else None,
            properties.get("output.mode"),
            properties.get("on.error"),
            properties.get("dead_letter.sink"),
        )

    def _plan_union(
        self, tree: exp.SetOperation, emit: exp.Expr | None, property_nodes: Sequence[exp.Expr]
    ) -> PlannedQuery:
        """Plans UNION ALL. EMIT and properties after brackets apply to each of its queries."""
        reject_clauses_of_union(tree, self.text)
        queries = queries_of_union(tree, self.text)
        planner = self._with_views(tree)
        planned = [
            planner._plan(each, emit, property_nodes)  # noqa: SLF001 -- of the same class
            for each in queries
        ]
        select = plan_union(
            [each.select for each in planned], [place_of(each, self.text) for each in queries]
        )
        reject_many_steps(select, select.place)
        emits = {each.emit for each in planned}
        engines = {each.engine for each in planned if each.engine}
        if len(engines) > 1:
            raise PlanError(
                "MS-PLAN-ENGINE",
                "the queries of a UNION ALL set different values of 'engine'.",
                fix="One engine runs all of them: set it on one query or with SET.",
                place=select.place,
            )
        return PlannedQuery(
            select,
            emits.pop() if len(emits) == 1 else None,
            engines.pop() if engines else None,
            next((each.mode for each in planned if each.mode), None),
            next((each.on_error for each in planned if each.on_error), None),
            next((each.dead_letter for each in planned if each.dead_letter), None),
        )

    def _merge_emit(self, inner: exp.Expr | None, outer: exp.Expr | None) -> exp.Expr | None:
        """Combines EMIT inside and after brackets, which apply to the same query."""
        if inner is not None and outer is not None and inner.name.lower() != outer.name.lower():
            raise PlanError(
                "MS-PLAN-EMIT",
                f"EMIT {inner.name.upper()} and EMIT {outer.name.upper()} are both set on one "
                "query.",
                fix="Remove one of them.",
                place=place_of(outer, self.text),
            )
        return inner or outer

    def _emit(self, clause: exp.Expr | None, select: Select) -> Emit | None:
        below = select.input
        own = None
        if not isinstance(below, Stateless):
            own = kind_of(below).emit(below)
        return own or resolve_emit_of_stateless_query(clause, select, self.text)

    def _with_views(self, tree: exp.Query) -> QueryPlanner:
        """Returns a planner that also finds the names of this query's WITH clause."""
        with_ = tree.args.get("with_")
        if with_ is None:
            return self
        if with_.args.get("recursive"):
            raise not_supported("WITH RECURSIVE", place_of(with_, self.text))
        planner, names = self, set()
        for cte in with_.expressions:
            name = cte.alias.lower()
            if name in names:
                place = place_of(cte, self.text)
                raise PlanError(
                    "MS-PLAN-DUPLICATE-NAME", f"WITH defines {cte.alias} twice.", place=place
                )
            names.add(name)
            if cte.args["alias"].args.get("columns"):
                raise not_supported(
                    "a list of columns after a name in WITH", place_of(cte, self.text)
                )
            planner = replace(
                planner, lookup=_with_view(planner, cte), table=_without_table(planner, cte)
            )
        return planner

    def select(self, tree: exp.Select, options: QueryOptions) -> Select:
        from_ = tree.args.get("from_")
        if from_ is None:
            raise PlanError(
                "MS-PLAN-NO-SOURCE",
                "the query reads no stream.",
                fix="Add FROM with the name of a source.",
                place=options.place,
            )
        mark_tables(tree, lambda item: isinstance(self._table(item), ReferenceTable))
        reject_window_functions(tree, self.text)
        operator = find_query_operator(tree, self.text)
        reject_many_joins(tree, self.text)
        tables = [self._table(join.this) for join in tree.args.get("joins") or []]
        has_stream_join = not all(isinstance(table, ReferenceTable) for table in tables)
        clause = find_window_clause(tree, self.text, joins=has_stream_join)
        window = read_window(clause, self.text) if clause else None
        first = self._relation(from_.this, "_query")
        if not has_stream_join:
            check_window_time(clause, first, self.text)
        every = has_late_side_output(options)
        if window and clause and operator is not QueryOperator.AGGREGATE and not has_stream_join:
            first = assign_windows(
                rename_own_window_columns(first), window, place_of(clause, self.text)
            )
            window = clause = None
        if tables:
            aggregate_window = window if operator is QueryOperator.AGGREGATE else None
            return self._plan_joins(
                tree, first, tables, operator, aggregate_window, clause, options
            )
        self._reject_within(from_.this)
        if operator is QueryOperator.NONE:
            return plan_stateless_query(tree, first, self.text, options)
        where = self._where(tree, first)
        stream = input_from_stream(tree, first, where, self.text, every=every)
        return plan_operator(tree, operator, stream, window, options)

    def _plan_joins(
        self,
        tree: exp.Select,
        first: Relation,
        tables: list[TableDefinition],
        operator: QueryOperator,
        aggregate_window: Window | None,
        clause: exp.Expr | None,
        options: QueryOptions,
    ) -> Select:
        """Plans a query over joins; `aggregate_window` is the window of its aggregate."""
        windows = resolve_join_windows(
            tree, clause if aggregate_window is None else None, tables, self.text
        )
        reject_impossible_join_type(options.properties, [each.kind for each in windows])
        added = [window for each in windows for window in (each.left, each.right) if window]
        has_fixed_windows = any(window.kind is not WindowKind.SESSION for window in added)
        first = rename_own_window_columns(first) if has_fixed_windows else first
        join_clauses = []
        for number, (each, table) in enumerate(zip(windows, tables, strict=True)):
            join = tree.args["joins"][number]
            reject_table_query_join(join, self.text)
            versions = table if each.kind in (JoinKind.TEMPORAL, JoinKind.LOOKUP) else None
            right = self._relation(join.this, f"_query_{number + 2}", versions)
            if has_fixed_windows and not isinstance(table, ReferenceTable):
                right = rename_own_window_columns(right)
            join_clauses.append(JoinClause(join, right, each, versions))
        if aggregate_window is None or clause is None:
            self._check_window_times(tree, first, join_clauses)
        emit = resolve_join_emit(operator, options)
        below = (
            rewrite_with_windowed_join(tree, clause, self.text)
            if aggregate_window and clause
            else None
        )
        planned = plan_joins(
            tree, first, join_clauses, options.properties, self.text, self.sinks, emit, below
        )
        return plan_over_joins(tree, planned, operator, aggregate_window, options, self.text)

    def _check_window_times(
        self, tree: exp.Select, first: Relation, join_clauses: list[JoinClause]
    ) -> None:
        """Checks the time columns of the windows of joins."""
        streams = [each for each in join_clauses if each.kind is not JoinKind.LOOKUP]
        both = [first, *(each.right for each in streams)]
        check_join_window_time(tree.args.get("stream_window"), both, self.text)
        check_window_time(tree.args["from_"].this.args.get("stream_window"), first, self.text)
        for each in streams:
            check_window_time(each.clause.this.args.get("stream_window"), each.right, self.text)

    def _where(self, tree: exp.Select, relation: Relation) -> Expression | None:
        where = tree.args.get("where")
        if where is None:
            return None
        expressions = ExpressionReader(Scope((relation,), self.text))
        return join_with_and(read_filters(list(split_conjunction(where.this)), expressions))

    def _reject_within(self, table: exp.Expr) -> None:
        if within := table.args.get("within"):
            raise PlanError(
                "MS-PLAN-WITHIN",
                "WITHIN is allowed only in a join.",
                fix="Write JOIN … WITHIN INTERVAL 5 MINUTES ON …",
                place=place_of(within, self.text),
            )

    def _table(self, item: exp.Expr) -> TableDefinition:
        """Returns the table that a join names, or None for a stream."""
        named = isinstance(item, exp.Table) and not item.args.get("db")
        return self.table(item.name) if named else None

    def _relation(
        self, item: exp.Table | exp.Subquery, unnamed: str, table: TableDefinition = None
    ) -> Relation:
        place = place_of(item, self.text)
        if isinstance(item, exp.Subquery):
            query = self.plan_inner(item.this, place)
            if not item.alias:
                return Relation(unnamed, unnamed_query(place), query, place, is_unnamed=True)
            return Relation(item.alias, item.alias, query, place)
        if item.args.get("db"):
            raise PlanError(
                "MS-PLAN-UNKNOWN-TABLE",
                f"{item.sql('spark')} is neither a stream nor a table of this job.",
                fix="Write the name of a stream or table without a qualifier.",
                place=place,
            )
        version = item.args.get("version")
        if isinstance(table, ReferenceTable):
            return build_table_relation(table, item.alias or item.name, version, place)
        if version is not None:
            reject_current_version(version, item.name, table, place)
        node = table.source if table else self.lookup(item.name, place)
        name = node.name if isinstance(node, Source) else item.name
        if isinstance(node, Source) and node.upsert_key:
            node = latest_rows(node)
        return Relation(item.alias or item.name, name, node, place)


def _without_table(planner: QueryPlanner, cte: exp.Expr) -> Callable[[str], TableDefinition]:
    """Hides a table that has the name of a WITH query."""
    return lambda name: None if same(name, cte.alias) else planner.table(name)


def _with_view(planner: QueryPlanner, cte: exp.Expr) -> Lookup:
    """Returns a lookup that also finds a WITH query, which is planned at each use."""

    def lookup(name: str, place: Place | None) -> Source | Select:
        if same(name, cte.alias):
            return planner.plan_inner(cte.this, place)
        return planner.lookup(name, place)

    return lookup
