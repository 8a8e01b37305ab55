"""Compiles sources and SELECTs to Spark DataFrames.

Rows that a WHERE removes still advance the watermark: otherwise a filter that passes one row in a
thousand would delay it. So until rows are packed, a WHERE is a column (`KEEP`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, StringType, StructType, TimestampType

from millstream.connectors.dead_letters import BAD
from millstream.connectors.deferred_frame import DeferredFrame
from millstream.connectors.file.names import to_reader_type
from millstream.connectors.row_errors import raise_error
from millstream.connectors.work_items import CHANGE, PARTITION
from millstream.engine.compile.diverted_rows import DivertedSelect
from millstream.engine.compile.expressions import find_column, referenced_column, spark_column
from millstream.engine.compile.file_streams import FileStream
from millstream.engine.compile.pushdown import scan_predicate
from millstream.engine.scan.loop import KEEP
from millstream.engine.scan.predicates import ScanPredicate
from millstream.engine.scan.window_bounds import WindowBound
from millstream.engine.shuffle.column_names import MAIN, ORIGIN, PAYLOAD, ROW_KIND
from millstream.errors import PlanError
from millstream.plan.expressions import ColumnReference, Expression
from millstream.plan.expressions.shapes import explode_call
from millstream.plan.facts.evaluated_expressions import columns_of_select
from millstream.plan.nodes import Node, Operator, Output, Select, Source, TableJoin, UnionAll
from millstream.temporal import CHANGE_KIND, CHANGE_KINDS, MissingTime

_KEEP_VALUE = "_ms_keep_value"


@dataclass(frozen=True, slots=True)
class StreamFrame:
    """A stream as a DataFrame, with engine columns that the next operator needs.

    Attributes:
        rows: The DataFrame, which is built when it is first needed.
        filtered: Whether it has the column KEEP.
        has_bad_records: Whether it has the column BAD.
        partitioned: Whether it has the column PARTITION.
        upstream: The number of the operator whose results these are.
        has_side_rows: Whether it has SIDE_COLUMNS, and side rows are among the rows.
        is_changelog: Whether it has the column CHANGE, because rows may be retracted.
        files: The files that are read, if packers can read them.
        file_columns: The column of the files, or the window bound, that each column is.
        file_predicates: The predicates on the files.
        table_joins: The numbers of the table joins since the source or operator.
        labels: Columns of a query with several outputs, which no SELECT reads.
        rejects_as: The name of the stream in the dead letter of a row for which an expression
            fails; None: the row fails the query.
    """

    rows: DeferredFrame
    filtered: bool = False
    has_bad_records: bool = False
    partitioned: bool = False
    upstream: int | None = None
    has_side_rows: bool = False
    is_changelog: bool = False
    files: FileStream | None = None
    file_columns: Mapping[str, str | WindowBound] = field(default_factory=dict)
    file_predicates: tuple[ScanPredicate, ...] = ()
    table_joins: tuple[int, ...] = ()
    labels: tuple[str, ...] = ()
    rejects_as: str | None = None

    @property
    def frame(self) -> DataFrame:
        return self.rows.frame

    @property
    def is_data_row(self) -> Column | None:
        """True for rows that are not filtered out, not malformed and not side rows; None if all
        are."""
        terms = []
        if self.filtered:
            terms.append(F.col(KEEP))
        if self.has_bad_records:
            terms.append(F.col(BAD).isNull())
        if self.has_side_rows:
            terms.append(F.col(ROW_KIND) == MAIN)
        return reduce(Column.__and__, terms) if terms else None

    @property
    def engine_columns(self) -> list[str]:
        """The columns that every SELECT passes on."""
        names = [BAD] if self.has_bad_records else []
        names += [PARTITION] if self.partitioned else []
        names += [ROW_KIND, ORIGIN, PAYLOAD] if self.has_side_rows else []
        names += [CHANGE] if self.is_changelog else []
        return [*names, *self.labels]

    @property
    def visible_columns(self) -> tuple[Column, ...]:
        """The columns of the stream itself."""
        return tuple(F.col(f"`{name}`") for name in self.visible_names)

    @property
    def visible_names(self) -> tuple[str, ...]:
        """The names of the columns of the stream itself."""
        side = {*self.engine_columns, *([KEEP] if self.filtered else [])}
        return tuple(name for name in self.rows.schema.names if name not in side)

    def data_rows(self) -> DataFrame:
        """The data rows, without engine columns."""
        rows = self.frame if self.is_data_row is None else self.frame.where(self.is_data_row)
        return rows.select(*self.visible_columns)


Result = Callable[[Operator | TableJoin], StreamFrame]


def compile_stream(
    node: Source | Select,
    sources: Mapping[str, DeferredFrame],
    result: Result,
    files: Callable[[str, DeferredFrame], FileStream | None] | None = None,
    *,
    diverts: bool = False,
    needed: frozenset[str] | None = None,
) -> StreamFrame:
    """Compiles a stream down to the next operator or table join.

    Args:
        node: The source or SELECT.
        sources: The rows of each source.
        result: Compiles the next operator or table join.
        files: Returns the files that a source reads, if packers may read them.
        diverts: Whether rows for which an expression fails become dead letters.
        needed: The columns that are read; None: all of them.
    """
    if isinstance(node, Source):
        rows = sources[node.name]
        read = files(node.name, rows) if files else None
        own = {name: name for name in rows.types if name not in {BAD, PARTITION, CHANGE}}
        has_bad_records, partitioned = BAD in rows.types, PARTITION in rows.types
        is_changelog = CHANGE in rows.types
        return StreamFrame(
            rows,
            has_bad_records=has_bad_records,
            partitioned=partitioned,
            is_changelog=is_changelog,
            files=None if is_changelog else read,
            file_columns=own,
            rejects_as=node.name if diverts else None,
        )
    below = node.input
    assert not isinstance(below, UnionAll), "the branches of a UNION ALL are compiled one by one"
    if isinstance(below, Source | Select):
        columns = columns_of_select(node, needed) if diverts else None
        inner = compile_stream(below, sources, result, files, diverts=diverts, needed=columns)
    else:
        inner = result(below)
    return compile_select(node, inner, needed)


def compile_select(
    node: Select, inner: StreamFrame, needed: frozenset[str] | None = None
) -> StreamFrame:
    """Compiles a SELECT over a stream, of which the columns `needed` are read; None: all."""
    filtered = node.where is not None or inner.filtered
    file_columns = {}
    for output in node.outputs:
        if (origin := _origin(output, node.alias, inner)) is not None:
            file_columns[output.name] = origin
    # An expression that is not read may still return several rows.
    read = inner.files if len(file_columns) == len(node.outputs) else None
    predicates = inner.file_predicates
    if read is not None and node.where is not None:
        predicate = file_predicate(node.where, node.alias, inner)
        read, predicates = (None, ()) if predicate is None else (read, (*predicates, predicate))
    if read is None and inner.rejects_as is not None:
        diverted = DivertedSelect(node, inner, needed)
        if diverted.can_fail:
            return replace(
                inner,
                rows=DeferredFrame.of(_analyzed(node, inner, diverted.project)),
                filtered=True,
                has_bad_records=True,
                files=None,
                file_columns=file_columns,
                file_predicates=predicates,
            )
    rows = (
        DeferredFrame.of(_selected(node, inner))
        if read is None
        else _deferred(node, inner, file_columns)
    )
    return replace(
        inner,
        rows=rows,
        filtered=filtered,
        files=read,
        file_columns=file_columns,
        file_predicates=predicates,
    )


def _selected(node: Select, inner: StreamFrame) -> DataFrame:
    return _analyzed(node, inner, lambda: _project(node, inner))


def _analyzed(node: Select, inner: StreamFrame, project: Callable[[], DataFrame]) -> DataFrame:
    with spark_errors(node):
        try:
            return project()
        except AnalysisException:
            _raise_at_expression(node, _aliased(inner.frame, node.alias))
            raise


def _raise_at_expression(node: Select, frame: DataFrame) -> None:
    """Raises an error at the first expression that Spark rejects by itself, if there is one."""
    where = [] if node.where is None else [node.where]
    for expression in (*where, *(output.expression for output in node.outputs)):
        with spark_errors(node, expression):
            frame.select(spark_column(expression))


def _project(node: Select, inner: StreamFrame) -> DataFrame:
    is_data_row = inner.is_data_row
    frame = _aliased(inner.frame, node.alias)
    keep = [F.col(KEEP)] if inner.filtered else []
    if node.where is not None:
        where = F.coalesce(spark_column(node.where), F.lit(False))
        value = where if is_data_row is None else F.when(is_data_row, where).otherwise(F.lit(False))
        # Computed once: a non-deterministic predicate has one value for a row and its columns.
        frame = _aliased(frame.select("*", value.alias(_KEEP_VALUE)), node.alias)
        is_data_row, keep = F.col(_KEEP_VALUE), [F.col(_KEEP_VALUE).alias(KEEP)]
    outputs = [
        guarded(is_data_row, output.expression, bare=output.name == node.time).alias(output.name)
        for output in node.outputs
    ]
    return frame.select(*outputs, *keep, *map(F.col, inner.engine_columns))


def _deferred(
    node: Select, inner: StreamFrame, file_columns: Mapping[str, str | WindowBound]
) -> DeferredFrame:
    """A SELECT of columns of files, which Spark only computes if no packer reads the files."""
    assert inner.files is not None
    known = inner.files.types
    schema = StructType()
    for name, origin in file_columns.items():
        schema.add(name, known[origin.column if isinstance(origin, WindowBound) else origin])
    if node.where is not None or inner.filtered:
        schema.add(KEEP, BooleanType())
    if inner.has_bad_records:
        schema.add(BAD, StringType())
    if inner.partitioned:
        schema.add(PARTITION, StringType())
    return DeferredFrame(lambda: _selected(node, inner), schema)


def _origin(output: Output, alias: str | None, rows: StreamFrame) -> str | WindowBound | None:
    """The column of files, or the window bound, that an output is; None if only Spark can compute
    it."""
    name = referenced_column(output.expression, alias, rows.file_columns)
    if name is not None:
        return rows.file_columns[name]
    if output.pane is None or rows.files is None:
        return None
    own = rows.file_columns.get(output.pane.time)
    if not isinstance(own, str) or not isinstance(rows.files.types[own], TimestampType):
        return None
    return WindowBound(own, output.pane)


def file_predicate(
    expression: Expression, alias: str | None, rows: StreamFrame
) -> ScanPredicate | None:
    """Returns the predicate over columns of files, if packers can evaluate it."""
    if rows.files is None:
        return None
    types = rows.files.types

    def column_of(reference: ColumnReference) -> str | None:
        known = find_column(reference, alias, rows.file_columns)
        own = None if known is None else rows.file_columns[known]
        return own if isinstance(own, str) and to_reader_type(types[own]) is not None else None

    return scan_predicate(expression, column_of, types)


def guarded(is_data_row: Column | None, expression: Expression, *, bare: bool = False) -> Column:
    """Returns an expression that is evaluated for data rows only: it may fail on others."""
    # A generator is only valid at the top of the select list, not inside another expression. Rows
    # that are no data rows stay one row.
    if is_data_row is None or bare or expression.is_column:
        return spark_column(expression)
    if call := explode_call(expression):
        several = F.when(is_data_row, spark_column(call.argument)).otherwise(F.array(F.lit(None)))
        return (F.explode_outer if call.outer else F.explode)(several)
    return F.when(is_data_row, spark_column(expression))


def fill_missing_times(source: Source, rows: DeferredFrame) -> DeferredFrame:
    """Sets missing event times to the batch's processing time, which a retried batch reads
    again."""
    if source.time is None or source.missing_time is not MissingTime.WALL_CLOCK:
        return rows
    if source.time not in {column.name for column in source.columns}:
        return rows  # a computed column, whose expression does it
    now = F.coalesce(F.col(f"`{source.time}`"), F.current_timestamp())
    return DeferredFrame.of(rows.frame.withColumn(source.time, now))


def with_changes(source: Source, rows: DeferredFrame) -> DeferredFrame:
    """Returns the rows of a changelog with CHANGE. Rows of tests have the kind of a change as a
    column of text; without one, they are inserted."""
    if not source.retracts or CHANGE in rows.types:
        return rows
    frame, change = rows.frame, F.lit(0)
    if CHANGE_KIND in rows.types:
        place = F.array_position(F.array(*map(F.lit, CHANGE_KINDS)), F.col(CHANGE_KIND))
        change = F.coalesce(place - 1, F.lit(0))
    frame = frame.withColumn(CHANGE, change.cast("tinyint")).drop(CHANGE_KIND)
    return DeferredFrame.of(frame)


def fail_on_malformed(source: Source, frame: DataFrame, advice: str) -> DataFrame:
    """Returns the rows of a source. The first rejected record or file fails the job."""

    def part(name: str, before: str = "", after: str = "") -> Column:
        value = F.get_json_object(F.col(BAD), f"$.{name}")
        return F.coalesce(F.concat(F.lit(before), value, F.lit(after)), F.lit(""))

    cause = F.concat(
        F.lit(f"source {source.name}: "),
        part("file"),
        part("line", ", line "),
        F.when(part("file") != "", ": ").otherwise(""),
        part("message"),
    )
    failed = raise_error("MS-RUN-MALFORMED", cause, fix=advice)
    has_bad_records = F.when(F.col(BAD).isNotNull(), failed.cast("boolean")).otherwise(F.lit(True))
    return frame.where(has_bad_records).drop(BAD)


def _aliased(frame: DataFrame, alias: str | None) -> DataFrame:
    return frame.alias(alias) if alias else frame


def source_of(node: Source | Select) -> Source | None:
    """Returns the source of a stream, if there is no operator in between."""
    below: Node = node
    while isinstance(below, Select | TableJoin):
        below = below.input if isinstance(below, Select) else below.left.node
    return below if isinstance(below, Source) else None


class spark_errors:  # noqa: N801 -- a context manager
    """Converts analysis errors of Spark to errors with the place in the SQL text."""

    def __init__(
        self,
        node: Select | TableJoin | Operator | None = None,
        expression: Expression | None = None,
    ) -> None:
        self._place = node.place if node else None
        if expression is not None and expression.origin is not None:
            self._place = expression.origin.text.place(expression.origin.span[0])

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, PlanError) and error.at(self._place) is not error:
            raise error.at(self._place) from None
        if isinstance(error, AnalysisException | ParseException):
            text = str(error).split("\n")[0].split(" SQLSTATE:")[0]
            raise PlanError(
                "MS-PLAN-SPARK",
                f"Spark cannot resolve this query: {text}",
                fix="See the functions and types of Spark SQL.",
                place=self._place,
            ) from None
