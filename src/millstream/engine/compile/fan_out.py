"""Copies the rows of one stream to several outputs, each with its own columns and filters.

    rows ─▶ one copy per output, labelled ─▶ SELECTs of output 0 ─▶ SELECTs of output 1 … ─▶ rows

The result has one struct column per output, filled for the rows that the output takes, the label
OUTPUT, and the port columns. It is one pass over the rows: reading the stream once per output would
compute the operators below it once per output.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from millstream.connectors.dead_letters import BAD
from millstream.connectors.deferred_frame import Rows
from millstream.engine.compile.filtered_changes import with_kinds
from millstream.engine.compile.output_mode import in_mode
from millstream.engine.compile.stateless import Flow, select_flow
from millstream.engine.processor.routing import BAD_RECORD
from millstream.engine.shuffle.column_names import BLOB, FROM, MAIN, OUTPUT, PORT, output_column
from millstream.engine.shuffle.packer import KEEP
from millstream.plan.nodes import Pipeline, Select, TableJoin

_ROW, _PASSES = (
    "_ms_row",
    "_ms_passes",
)  # a row of the common stream, and whether its filters keep it
NO_OUTPUT = -1  # the label of rows that are for no output: packets and malformed records
# The columns that a sink takes of an output's columns.
Projection = Callable[[Pipeline, StructType], Mapping[str, Column]]
TableStep = Callable[[TableJoin, Flow], Flow]


def count_label(source: int) -> int:
    """The label of the copies by which the rows of a source are counted, where no operator counts
    them."""
    return NO_OUTPUT - 1 - source


@dataclass(frozen=True, slots=True)
class BranchOutput:
    """An output of a branch: its number in the query and its steps above the common stream."""

    number: int
    pipeline: Pipeline
    steps: tuple[Select | TableJoin, ...]


@dataclass(frozen=True, slots=True)
class FanOut:
    """The labelled rows, and the columns of each output before the sink's projection."""

    frame: DataFrame
    schemas: Mapping[int, StructType]


def fan_out(
    common: Flow,
    members: Sequence[BranchOutput],
    table_step: TableStep,
    project: Projection,
    source: int | None = None,
) -> FanOut:
    """Copies `common` to its members. `source` is the number of the source if the rows are to be
    counted."""
    sound = F.lit(True) if common.sound is None else common.sound
    labels = _labels(common, [each.number for each in members], source)
    frame = common.frame.select(
        F.struct(*common.shown).alias(_ROW),
        sound.alias(_PASSES),
        F.explode(labels).alias(OUTPUT),
        *common.carried,
    )
    finished: list[str] = []
    schemas = {}
    sided = common.sided
    for each in members:
        given = replace(
            common,
            filtered=True,
            sided=sided,
            files=None,
            plain={},
            kept=(),
            tables=(),
            labels=(OUTPUT, _ROW, _PASSES, *finished),
        )
        own = F.col(_PASSES) & (F.col(OUTPUT) == each.number)
        opened = frame.select(f"{_ROW}.*", own.alias(KEEP), *given.carried)
        result = replace(given, rows=Rows.of(opened))
        for step in each.steps:
            if isinstance(step, Select):
                result = select_flow(step, result)
            else:
                result = table_step(step, result)
        frame, schemas[each.number] = _as_struct(result, each, project, filtered=common.filtered)
        finished.append(output_column(each.number))
        sided = result.sided
    return FanOut(
        _with_ports(frame, finished, source, sided=sided, checked=common.checked), schemas
    )


def _labels(common: Flow, numbers: Sequence[int], source: int | None) -> Column:
    """The labels of the copies of a row."""
    count = [] if source is None else [count_label(source)]
    found = _array([*numbers, *count])
    # Of a change, the old and the new value are found by their positions, so that both must stay.
    if common.filtered and not common.changes:
        found = F.when(F.col(KEEP), found).otherwise(_array(count))
    if common.checked:
        found = F.when(F.col(BAD).isNotNull(), _array([NO_OUTPUT, *count])).otherwise(found)
    if common.sided:
        found = F.when(F.col(PORT) != MAIN, _array([NO_OUTPUT])).otherwise(found)
    return found


def _array(labels: Sequence[int]) -> Column:
    return F.array(*map(F.lit, labels)).cast("array<int>")


def _as_struct(
    result: Flow, member: BranchOutput, project: Projection, *, filtered: bool
) -> tuple[DataFrame, StructType]:
    """Replaces an output's columns by one struct and removes the copies that it does not take."""
    frame, sound, shown = result.frame, result.sound, result.shown
    if result.changes:
        if filtered or any(_filters(step) for step in member.steps):
            frame = with_kinds(frame, member.number)
        sound, shown = in_mode(result, member.pipeline.mode)
    assert sound is not None
    rows = frame.select(*shown, sound.alias(KEEP), *result.carried)
    schema = StructType(rows.schema.fields[: len(shown)])
    taken = [column.alias(name) for name, column in project(member.pipeline, schema).items()]
    # What a sink computes of a row is not computed of anything else: it may fail.
    values = F.when(F.col(KEEP), F.struct(*taken)).alias(output_column(member.number))
    others = F.coalesce(F.col(OUTPUT) != member.number, F.lit(True))
    return rows.where(others | F.col(KEEP)).select(values, *result.carried), schema


def _filters(step: Select | TableJoin) -> bool:
    return isinstance(step, TableJoin) or step.where is not None


def _with_ports(
    frame: DataFrame, outputs: Sequence[str], source: int | None, *, sided: bool, checked: bool
) -> DataFrame:
    """The outputs with port columns; malformed records become packets."""
    port = F.col(PORT) if sided else F.lit(MAIN)
    origin = F.col(FROM) if sided else F.lit(None)
    blob = F.col(BLOB) if sided else F.lit(None)
    if checked:
        bad = F.col(BAD).isNotNull() & (F.col(OUTPUT) == NO_OUTPUT)
        port = F.when(bad, F.lit(BAD_RECORD)).otherwise(port)
        origin = F.when(bad, F.lit(source)).otherwise(origin)
        blob = F.when(bad, F.col(BAD).cast("binary")).otherwise(blob)
    ports = (
        port.cast("tinyint").alias(PORT),
        origin.cast("int").alias(FROM),
        blob.cast("binary").alias(BLOB),
    )
    return frame.select(OUTPUT, *outputs, *ports)
