"""Copies the rows of one stream to several outputs, each with its own columns and filters.

    rows ─▶ one copy per output, labelled ─▶ SELECTs of output 0 ─▶ SELECTs of output 1 … ─▶ rows

The result has one struct column per output, filled for the rows that the output takes, the label
OUTPUT, and SIDE_COLUMNS. It is one pass over the rows: reading the stream once per output would
compute the operators below it once per output.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from millstream.connectors.dead_letters import BAD
from millstream.connectors.deferred_frame import DeferredFrame
from millstream.engine.compile.filtered_changes import with_change_kinds
from millstream.engine.compile.outputs import in_output_mode
from millstream.engine.compile.stateless import StreamFrame, compile_select
from millstream.engine.processor.routing import BAD_RECORD
from millstream.engine.scan.loop import KEEP
from millstream.engine.shuffle.column_names import (
    MAIN,
    ORIGIN,
    OUTPUT,
    PAYLOAD,
    ROW_KIND,
    output_column,
)
from millstream.plan.facts.evaluated_expressions import columns_read_by_steps
from millstream.plan.nodes import Pipeline, Select, TableJoin

_ROW, _PASSES = (
    "_ms_row",
    "_ms_passes",
)  # a row of the common stream, and whether its filters keep it
NO_OUTPUT = -1  # the label of rows that are for no output: packets and malformed records
# The columns that a sink takes of an output's columns.
Projection = Callable[[Pipeline, StructType], Mapping[str, Column]]
TableStep = Callable[[TableJoin, StreamFrame], StreamFrame]


def count_label(source: int) -> int:
    """The label of copies that only count the rows of a source, if no operator counts them."""
    return NO_OUTPUT - 1 - source


@dataclass(frozen=True, slots=True)
class GroupOutput:
    """An output of a group: its number in the query and its steps above the common stream."""

    number: int
    pipeline: Pipeline
    steps: tuple[Select | TableJoin, ...]


@dataclass(frozen=True, slots=True)
class FanOut:
    """The labelled rows, and the columns of each output before the sink's projection."""

    frame: DataFrame
    schemas: Mapping[int, StructType]


def fan_out(
    common: StreamFrame,
    members: Sequence[GroupOutput],
    table_step: TableStep,
    project: Projection,
    source: int | None = None,
) -> FanOut:
    """Copies the rows of `common` to the outputs. `source` is the number of the source if its rows
    must be counted."""
    is_data_row = F.lit(True) if common.is_data_row is None else common.is_data_row
    labels = _labels(common, [each.number for each in members], source)
    frame = common.frame.select(
        F.struct(*common.visible_columns).alias(_ROW),
        is_data_row.alias(_PASSES),
        F.explode(labels).alias(OUTPUT),
        *common.engine_columns,
    )
    finished: list[str] = []
    schemas = {}
    has_side_rows, has_bad_records = common.has_side_rows, common.has_bad_records
    for each in members:
        given = replace(
            common,
            filtered=True,
            has_side_rows=has_side_rows,
            has_bad_records=has_bad_records,
            files=None,
            file_columns={},
            file_predicates=(),
            table_joins=(),
            labels=(OUTPUT, _ROW, _PASSES, *finished),
        )
        own = F.col(_PASSES) & (F.col(OUTPUT) == each.number)
        opened = frame.select(f"{_ROW}.*", own.alias(KEEP), *given.engine_columns)
        result = replace(given, rows=DeferredFrame.of(opened))
        _, *needed = columns_read_by_steps(each.steps)
        for step, read in zip(each.steps, needed, strict=True):
            if isinstance(step, Select):
                result = compile_select(step, result, read)
            else:
                result = table_step(step, result)
        frame, schemas[each.number] = _as_struct(result, each, project, filtered=common.filtered)
        finished.append(output_column(each.number))
        has_side_rows, has_bad_records = result.has_side_rows, result.has_bad_records
    return FanOut(
        _with_side_columns(
            frame,
            finished,
            source,
            has_side_rows=has_side_rows,
            has_bad_records=has_bad_records,
        ),
        schemas,
    )


def _labels(common: StreamFrame, numbers: Sequence[int], source: int | None) -> Column:
    """The labels of the copies of a row."""
    count = [] if source is None else [count_label(source)]
    found = _array([*numbers, *count])
    # Of a change, the old and the new value are found by their positions, so that both must stay.
    if common.filtered and not common.is_changelog:
        found = F.when(F.col(KEEP), found).otherwise(_array(count))
    if common.has_bad_records:
        found = F.when(F.col(BAD).isNotNull(), _array([NO_OUTPUT, *count])).otherwise(found)
    if common.has_side_rows:
        found = F.when(F.col(ROW_KIND) != MAIN, _array([NO_OUTPUT])).otherwise(found)
    return found


def _array(labels: Sequence[int]) -> Column:
    return F.array(*map(F.lit, labels)).cast("array<int>")


def _as_struct(
    result: StreamFrame, member: GroupOutput, project: Projection, *, filtered: bool
) -> tuple[DataFrame, StructType]:
    """Replaces the columns of an output by one struct and removes its copies that are filtered
    out."""
    frame, is_data_row, visible_columns = result.frame, result.is_data_row, result.visible_columns
    if result.is_changelog:
        if filtered or any(_filters(step) for step in member.steps):
            frame = with_change_kinds(frame, member.number)
        is_data_row, visible_columns = in_output_mode(result, member.pipeline.mode)
    assert is_data_row is not None
    rows = frame.select(*visible_columns, is_data_row.alias(KEEP), *result.engine_columns)
    schema = StructType(rows.schema.fields[: len(visible_columns)])
    taken = [column.alias(name) for name, column in project(member.pipeline, schema).items()]
    # Computed for data rows only: the expressions of a sink may fail on other rows.
    values = F.when(F.col(KEEP), F.struct(*taken)).alias(output_column(member.number))
    others = F.coalesce(F.col(OUTPUT) != member.number, F.lit(True))
    if result.has_bad_records:  # a row for which an expression of the steps fails
        others |= F.col(BAD).isNotNull()
    return rows.where(others | F.col(KEEP)).select(values, *result.engine_columns), schema


def _filters(step: Select | TableJoin) -> bool:
    return isinstance(step, TableJoin) or step.where is not None


def _with_side_columns(
    frame: DataFrame,
    outputs: Sequence[str],
    source: int | None,
    *,
    has_side_rows: bool,
    has_bad_records: bool,
) -> DataFrame:
    """The outputs with SIDE_COLUMNS; malformed records become packets."""
    port = F.col(ROW_KIND) if has_side_rows else F.lit(MAIN)
    origin = F.col(ORIGIN) if has_side_rows else F.lit(None)
    payload = F.col(PAYLOAD) if has_side_rows else F.lit(None)
    if has_bad_records:
        bad = F.col(BAD).isNotNull() & (F.col(OUTPUT) >= NO_OUTPUT)
        port = F.when(bad, F.lit(BAD_RECORD)).otherwise(port)
        origin = F.when(bad, F.lit(source or 0)).otherwise(origin)
        payload = F.when(bad, F.col(BAD).cast("binary")).otherwise(payload)
    ports = (
        port.cast("tinyint").alias(ROW_KIND),
        origin.cast("int").alias(ORIGIN),
        payload.cast("binary").alias(PAYLOAD),
    )
    return frame.select(OUTPUT, *outputs, *ports)
