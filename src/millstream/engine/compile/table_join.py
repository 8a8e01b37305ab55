"""Compiles a join of a stream with a table, as a step of the stream.

    rows ─▶ with their key ─▶ worker: looks up the table ───────────────▶ both sides, whether found
                          └─▶ broadcast join of Spark, for a static table ─▶ the same

Rows without a match in an inner join stay in the stream, marked as filtered out, until they have
advanced the watermark.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Protocol, cast

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import BooleanType, DataType, StructField, StructType

from millstream.connectors.dead_letters import BAD, REMEDY
from millstream.connectors.deferred_frame import DeferredFrame
from millstream.connectors.lookup.spec import LookupSpec
from millstream.engine.compile.diverted_rows import divert_rows
from millstream.engine.compile.expressions import spark_column
from millstream.engine.compile.input_columns import NOTHING
from millstream.engine.compile.stateless import (
    StreamFrame,
    compile_stream,
    fail_on_malformed,
    guarded,
    spark_errors,
)
from millstream.engine.processor.table_rows import (
    FAILED,
    FOUND,
    TableLookup,
    database_table,
    local_table,
    lookup_function,
)
from millstream.engine.scan.loop import KEEP
from millstream.engine.shuffle.column_names import NOW, SIDE_COLUMNS
from millstream.engine.shuffle.types import common_type, comparable
from millstream.plan.facts.evaluated_expressions import columns_of_input, input_expressions
from millstream.plan.nodes import (
    Broadcast,
    Node,
    Operator,
    ReferenceTable,
    Select,
    Source,
    TableJoin,
    UnionAll,
)
from millstream.temporal import MalformedAction
from millstream.values import OR_NULL, Condition, JoinType, Lookup, OnError

SINCE, UNTIL = "_ms_since", "_ms_until"
_RAW = "_ms_raw"


class Tables(Protocol):
    """Gives access to the tables of a job."""

    def static_frame(self, table: ReferenceTable, keys: tuple[str, ...]) -> DataFrame | None:
        """Returns the versions of a table that is read once and has one row per key, each with
        SINCE and UNTIL in microseconds; None if workers load the table."""

    def folder(self, table: ReferenceTable) -> str:
        """Returns the folder of its versions, which workers read."""

    def options(self, table: ReferenceTable) -> tuple[tuple[str, str], ...]:
        """Returns the connector options of a database."""

    def lookup(self, table: ReferenceTable) -> str:
        """Returns the function that opens a database, as "module:function"."""


@dataclass(slots=True)
class TableJoinCompiler:
    """Compiles the table joins of one query and numbers them."""

    spark: SparkSession
    tables: Tables | None
    diverts: bool = False  # whether rows for which an expression fails become dead letters
    count: int = 0

    def compile_join(self, node: TableJoin, rows: StreamFrame) -> StreamFrame:
        assert self.tables is not None, f"no tables for the join with {node.table.name}"
        number, self.count = self.count, self.count + 1
        return table_join(self.spark, node, rows, self.tables, number)

    def compile_below(
        self, node: Operator | TableJoin, sources: Mapping[str, DeferredFrame]
    ) -> StreamFrame:
        """Compiles the table join below a SELECT of a query without state."""
        assert isinstance(node, TableJoin), f"a query without state has no {node}"
        rows = compile_stream(
            node.left.node,
            sources,
            lambda it: self.compile_below(it, sources),
            diverts=self.diverts,
            needed=columns_of_input(node, node.left),
        )
        if self.diverts:
            with spark_errors(node):
                rows = divert_rows(rows, node.left.alias, input_expressions(node, node.left))
        return self.compile_join(node, rows)


def table_join(
    spark: SparkSession, node: TableJoin, rows: StreamFrame, tables: Tables, number: int
) -> StreamFrame:
    """Joins a stream with a table. The result has one struct for each side, as for other joins."""
    with spark_errors(node):
        frame = rows.frame.alias(node.left.alias)
        types = _column_types(node.table)
        keys = _keys(spark, node, rows, frame, types)
        static_frame = None
        if isinstance(node.table.access, Broadcast):
            static_frame = tables.static_frame(node.table, tuple(key.right for key in node.keys))
        if static_frame is not None:
            joined, has_side_rows = (
                _by_spark(node, rows, frame, static_frame, keys),
                rows.has_side_rows,
            )
        else:
            joined, has_side_rows = _by_workers(node, rows, frame, keys, tables, number), True
        return replace(
            _joined_stream(node, rows, joined, has_side_rows),
            table_joins=(*rows.table_joins, number),
        )


def _column_types(table: ReferenceTable) -> StructType:
    schema = ", ".join(f"`{column.name}` {column.type}" for column in table.columns)
    return cast("StructType", StructType.fromDDL(schema))


def _keys(
    spark: SparkSession, node: TableJoin, rows: StreamFrame, frame: DataFrame, types: StructType
) -> list[Column]:
    """The key of each row in the types of the table's columns; NULL if no value of that type is
    equal to it, or if the row is not looked up."""
    is_looked_up = rows.is_data_row
    if node.left_where is not None:
        where = F.coalesce(guarded(rows.is_data_row, node.left_where), F.lit(False))
        is_looked_up = where if is_looked_up is None else is_looked_up & where
    keys: list[Column] = []
    for key in node.keys:
        kind: DataType = types[key.right].dataType
        given = frame.select(spark_column(key.left).alias("it")).schema["it"].dataType
        common = common_type(spark, given, kind, "The key of a table join")
        value = spark_column(key.left)
        if given != kind:
            exact = value.try_cast(kind)
            same = comparable(exact, kind, common) == comparable(value, given, common)
            value = F.when(same, exact)
        keys.append(value if is_looked_up is None else F.when(is_looked_up, value))
    return keys


def _left_columns(node: TableJoin, rows: StreamFrame) -> list[str]:
    return [*node.left.used, *([KEEP] if rows.filtered else []), *rows.engine_columns]


def _by_workers(
    node: TableJoin,
    rows: StreamFrame,
    frame: DataFrame,
    keys: list[Column],
    tables: Tables,
    number: int,
) -> DataFrame:
    table, names = node.table, [f"_ms_k{i}" for i in range(len(keys))]
    left_columns = _left_columns(node, rows)
    columns = [F.col(f"`{name}`") for name in left_columns]
    columns += [key.alias(name) for key, name in zip(keys, names, strict=True)]
    columns.append(F.unix_micros(F.current_timestamp()).alias(NOW))
    has_failed_column = (
        isinstance(table.access, Lookup) and table.access.on_error is OnError.SIDE_OUTPUT
    )
    if has_failed_column:
        shown = [F.col(f"`{name}`") for name in node.left.used] or [F.lit(None).alias(NOTHING)]
        columns.append(F.to_json(F.struct(*shown), {"ignoreNullFields": "false"}).alias(_RAW))
    lookup_rows = frame.select(*columns)
    schema = StructType(
        [StructField(name, lookup_rows.schema[name].dataType) for name in left_columns]
    )
    types = _column_types(table)
    for place, name in enumerate(node.used):
        schema.add(StructField(f"_ms_r{place}", types[name].dataType))
    schema.add(StructField(FOUND, BooleanType()))
    if has_failed_column:
        schema.add(StructField(FAILED, BooleanType()))
    if not rows.has_side_rows:
        for field in SIDE_COLUMNS:
            schema.add(field)
    key_columns = tuple(key.right for key in node.keys)
    lookup = TableLookup(
        number,
        table.name,
        tuple(names),
        tuple(left_columns),
        node.used,
        to_arrow_schema(schema, timezone="UTC"),
        node.how.left_only and node.across_sql is None,
        node.across_sql is not None and node.how is not JoinType.INNER,
        _RAW if has_failed_column else None,
    )
    if isinstance(table.access, Lookup):
        from millstream.connectors.lookup.store import check

        wanted = StructType([types[name] for name in dict.fromkeys((*key_columns, *node.used))])
        spec = LookupSpec(
            table.name,
            table.connector,
            tables.options(table),
            key_columns,
            node.used,
            to_arrow_schema(wanted, timezone="UTC"),
            node.conditions,
            table.access,
            tables.lookup(table),
        )
        check(spec)
        open_table = database_table(spec)
    else:
        open_table = local_table(table.name, tables.folder(table), key_columns, node.conditions)
    return lookup_rows.mapInArrow(lookup_function(lookup, open_table), schema)


def _by_spark(
    node: TableJoin, rows: StreamFrame, frame: DataFrame, table: DataFrame, keys: list[Column]
) -> DataFrame:
    names = [f"_ms_k{i}" for i in range(len(keys))]
    left_columns = [F.col(f"`{name}`") for name in _left_columns(node, rows)]
    left = frame.select(
        *left_columns, *(key.alias(name) for key, name in zip(keys, names, strict=True))
    )
    now = F.unix_micros(F.current_timestamp())
    right = table.where((F.col(SINCE) <= now) & (now < F.col(UNTIL)))
    for condition in node.conditions:
        right = right.where(condition_of(condition))
    right = right.select(
        *(F.col(f"`{key.right}`").alias(f"_ms_t{i}") for i, key in enumerate(node.keys)),
        *(F.col(f"`{name}`").alias(f"_ms_r{i}") for i, name in enumerate(node.used)),
        F.lit(True).alias(FOUND),
    )
    if node.how.left_only and node.across_sql is None:
        right = right.dropDuplicates([f"_ms_t{i}" for i in range(len(names))])
    same = reduce(
        Column.__and__, [F.col(f"_ms_k{i}") == F.col(f"_ms_t{i}") for i in range(len(names))]
    )
    joined = left.join(F.broadcast(right), same, "left")
    return joined.withColumn(FOUND, F.coalesce(F.col(FOUND), F.lit(False)))


def condition_of(condition: Condition) -> Column:
    column = F.col(f"`{condition.column}`")
    match condition.op:
        case "null":
            return column.isNull()
        case "not null":
            return column.isNotNull()
        case "in":
            return column.isin(*condition.values)
        case _:
            value = F.lit(condition.values[0])
            compared = {
                "=": column == value,
                "<>": column != value,
                "<": column < value,
                "<=": column <= value,
                ">": column > value,
                ">=": column >= value,
            }
            found = compared[condition.op.removeprefix(OR_NULL)]
            return found | column.isNull() if condition.op.startswith(OR_NULL) else found


def _joined_stream(
    node: TableJoin, rows: StreamFrame, joined: DataFrame, has_side_rows: bool
) -> StreamFrame:
    left = [F.col(f"`{name}`") for name in node.left.used] or [F.lit(None).alias(NOTHING)]
    right = [F.col(f"_ms_r{i}").alias(name) for i, name in enumerate(node.used)]
    side = replace(rows, has_side_rows=has_side_rows).engine_columns
    marks = [name for name in (KEEP, FOUND, FAILED) if name in joined.columns]
    # Without columns of the user: one may have the name of the other side's alias.
    frame = joined.select(
        F.struct(*left).alias(node.left.alias),
        F.struct(*(right or [F.lit(None).alias(NOTHING)])).alias(node.alias),
        *marks,
        *side,
    )
    found: Column = F.col(FOUND)
    if node.across_sql is not None:
        found = found & F.coalesce(
            F.when(F.col(FOUND), spark_column(node.across_sql)), F.lit(False)
        )
    frame = frame.withColumn(FOUND, found)
    filtered = rows.filtered or node.how is not JoinType.LEFT or FAILED in joined.columns
    shown = [F.col(f"`{node.left.alias}`")]
    if not node.how.left_only:
        table = F.col(f"`{node.alias}`")
        if node.across_sql is not None and node.how is JoinType.LEFT:
            table = F.when(F.col(FOUND), table).alias(node.alias)
        shown.append(table)
    if filtered:
        shown.append(_keep_column(node, rows, joined).alias(KEEP))
    return StreamFrame(
        DeferredFrame.of(frame.select(*shown, *(F.col(name) for name in side))),
        filtered=filtered,
        has_bad_records=rows.has_bad_records,
        partitioned=rows.partitioned,
        upstream=rows.upstream,
        has_side_rows=has_side_rows,
        is_changelog=rows.is_changelog,
        labels=rows.labels,
        rejects_as=rows.rejects_as,
    )


def _keep_column(node: TableJoin, rows: StreamFrame, joined: DataFrame) -> Column:
    terms = [F.col(KEEP)] if rows.filtered else []
    if node.how is JoinType.ANTI:
        terms.append(~F.col(FOUND))
    elif node.how is not JoinType.LEFT:
        terms.append(F.col(FOUND))
    if FAILED in joined.columns:
        terms.append(~F.coalesce(F.col(FAILED), F.lit(False)))
    return reduce(Column.__and__, terms)


def compile_stateless(
    root: Node,
    source: Source,
    sources: Mapping[str, DeferredFrame],
    tables: TableJoinCompiler,
    needed: frozenset[str] | None = None,
) -> StreamFrame:
    """Compiles a node over one source, without an operator, of which the columns `needed` are read;
    None: all of them."""
    rows = sources[source.name]
    if source.malformed is MalformedAction.FAIL and BAD in rows.types:
        rows = DeferredFrame.of(fail_on_malformed(source, rows.frame, REMEDY))
    read = {**sources, source.name: rows}

    def compile_below(node: Operator | TableJoin) -> StreamFrame:
        return tables.compile_below(node, read)

    assert not isinstance(root, UnionAll), "a pipeline is one branch of a UNION ALL"
    return (
        compile_stream(root, read, compile_below, diverts=tables.diverts, needed=needed)
        if isinstance(root, Source | Select)
        else compile_below(root)
    )
