"""The rows that the processor emits, each with its kind: main rows, late rows, rejected rows,
relayed rows, statistics.

Main rows have the columns of the result. Other kinds are packets: one row with a payload and the
operator and input that it is from.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pandas as pd
import polars as pl
import pyarrow as pa

from millstream.engine.processor.processor import Stage
from millstream.engine.processor.watermarks import InputSpec, WatermarkTracker
from millstream.engine.runtime.arrow_frame import ArrowFrame
from millstream.engine.shuffle.column_names import (
    BRANCH,
    INPUTS,
    LATE,
    MAIN,
    ORIGIN,
    PAYLOAD,
    RELAYED,
    ROW_KIND,
    STATS,
)
from millstream.engine.shuffle.format import IS_ORIGINAL, MAX_RELAYED_ROWS, PROGRESS, encode
from millstream.kernels.core.kernel import LATENESS, TIME, StepResult, nonempty_frames


def main_rows(columns: tuple[str, ...], frame: pl.DataFrame) -> pd.DataFrame:
    """Returns rows of a result as Spark takes them."""
    table = frame.select(columns).to_arrow()
    count = frame.height
    side_columns = {
        ROW_KIND: pa.repeat(pa.scalar(MAIN, pa.int8()), count),
        ORIGIN: pa.nulls(count, pa.int32()),
        PAYLOAD: pa.nulls(count, pa.binary()),
    }
    for name, column in side_columns.items():
        table = table.append_column(name, column)
    return ArrowFrame.of(table)


def packet_row(columns: tuple[str, ...], kind: int, origin: int, payload: bytes) -> pd.DataFrame:
    """Returns a packet as one row, in which the columns of the result are NULL."""
    empty = {name: pd.Series([None], dtype=object) for name in columns}
    return pd.DataFrame({**empty, ROW_KIND: [kind], ORIGIN: [origin], PAYLOAD: [payload]})


def origin_of(stage: Stage, number: int) -> int:
    """The operator of a stage and one of its inputs, as one number."""
    return stage.operator * INPUTS + number


def side_packets(
    stage: Stage,
    watermarks: WatermarkTracker,
    watermark_before: int,
    group: int,
    result: StepResult,
) -> Iterator[tuple[int, int, bytes]]:
    """Returns what a stage emits beside its result, as kind, origin and payload: late rows, the
    result again if a later output group of the query reads it, and statistics.

    Args:
        stage: The stage that has run.
        watermarks: Its watermarks after the step.
        watermark_before: Its watermark before the step.
        group: The label of the key group.
        result: What its kernel has returned.
    """
    for number, found in result.late.items():
        for input_number, rows in _by_input(stage, number, found):
            frame = _late_rows(stage.inputs[input_number], rows)
            if frame.height:
                yield LATE, origin_of(stage, input_number), encode(frame.to_arrow())
    for frame in nonempty_frames(result) if stage.relayed else ():
        for part in frame.select(stage.relayed).iter_slices(MAX_RELAYED_ROWS):
            yield RELAYED, origin_of(stage, 0), encode(part.to_arrow())
    yield (
        STATS,
        origin_of(stage, 0),
        _statistics(stage, watermarks, watermark_before, group, result),
    )


def _statistics(
    stage: Stage,
    watermarks: WatermarkTracker,
    watermark_before: int,
    group: int,
    result: StepResult,
) -> bytes:
    """The report of one key group and stage. All counts are since its state began."""
    stats = {
        "operator": stage.operator,
        "group": group,
        "watermark_before": watermark_before,
        "watermark_after": watermarks.watermark,
        "is_idle": watermarks.is_idle,
        "idle_inputs": watermarks.idle_inputs,
        "derived_inputs": [each.name for each in stage.inputs if each.derived],
        "max_times": watermarks.max_times,
        "input_counts": watermarks.input_counts,
        "heavy_hitters": watermarks.heavy_hitters,
        "counts": result.counts,
    }
    return json.dumps(stats).encode()


def _by_input(stage: Stage, number: int, late: pl.DataFrame) -> Iterator[tuple[int, pl.DataFrame]]:
    """Returns the late rows of a kernel's input, for each input of the stage that they are from."""
    if BRANCH in late.columns:
        for (input_number,), rows in late.partition_by(
            BRANCH, as_dict=True, include_key=False
        ).items():
            yield int(input_number), rows
        return
    inputs = range(len(stage.inputs))
    yield next(each for each in inputs if stage.kernel_input(each) == number), late


def _late_rows(spec: InputSpec, frame: pl.DataFrame) -> pl.DataFrame:
    """Returns each late row once, with its lateness.

    Late rows of a window join have their own time beside that of their window, and their lateness
    is that of their own time. A row that is in several windows is late when the last of its windows
    has closed.
    """
    if IS_ORIGINAL in frame.columns:  # it is late in every group that has a copy of it
        frame = frame.filter(pl.col(IS_ORIGINAL)).drop(IS_ORIGINAL)
    if PROGRESS not in frame.columns:
        return frame
    ahead = pl.col(TIME) - pl.col(PROGRESS)
    last = frame.filter(ahead >= spec.last_window)
    return last.with_columns(pl.col(LATENESS) + ahead).drop(PROGRESS)
