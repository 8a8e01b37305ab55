"""Adjusts the kinds of changes after a filter over results that change.

An operator emits the old and the new value of a change, and a filter is applied to each. If only
the old value passes, the change becomes `-D`; if only the new one does, `+I`.

An operator emits n old values and then the n new ones, in the same order. Filters mark rows and
remove none, so that the pairs can be found by position. If a step in between has multiplied rows,
pairs are unknown: old values become deletes and new values inserts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame

from millstream.connectors.work_items import CHANGE
from millstream.engine.scan.loop import KEEP
from millstream.engine.shuffle.column_names import OUTPUT
from millstream.kernels.core.kernel import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE

Ops = npt.NDArray[np.int8]
_NO_ROW = -1  # of packets among the rows


def with_change_kinds(frame: DataFrame, output: int | None = None) -> DataFrame:
    """Returns the stream with the kinds of changes after the filter. If the query has several
    outputs, only the copies for `output` are adjusted."""
    return frame.mapInArrow(partial(adjust_changes, output=output), frame.schema)


def adjust_changes(
    batches: Iterable[pa.RecordBatch], output: int | None = None
) -> Iterator[pa.RecordBatch]:
    """Sets the kinds of changes. A batch that ends within a change is joined with the next."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            if batch[CHANGE][batch.num_rows - 1].as_py() not in (UPDATE_BEFORE, UPDATE_AFTER):
                yield from _adjusted(waiting, output)
                waiting = []
    if waiting:
        yield from _adjusted(waiting, output)


def _adjusted(batches: list[pa.RecordBatch], output: int | None) -> Iterator[pa.RecordBatch]:
    rows = pa.Table.from_batches(batches)
    ops = rows[CHANGE].fill_null(_NO_ROW).to_numpy().astype(np.int8)
    passes = rows[KEEP].fill_null(False).to_numpy().astype(np.bool_)
    result = ops.copy()
    if output is None:
        result = kinds(ops, passes)
    else:
        own = np.flatnonzero(rows[OUTPUT].fill_null(_NO_ROW).to_numpy() == output)
        result[own] = kinds(ops[own], passes[own])
    column = pa.array(result, pa.int8(), mask=ops == _NO_ROW)
    place = rows.schema.get_field_index(CHANGE)
    yield from rows.set_column(place, rows.schema.field(place), column).to_batches()


def kinds(ops: Ops, passes: npt.NDArray[np.bool_]) -> Ops:
    """Returns the kinds of changes, given which old and new values pass the filter."""
    starts = np.flatnonzero(np.diff(ops, prepend=np.int8(-2)))
    lengths = np.diff(starts, append=ops.size)
    first = ops[starts]
    runs = np.flatnonzero(
        (first[:-1] == UPDATE_BEFORE) & (first[1:] == UPDATE_AFTER) & (lengths[:-1] == lengths[1:])
    )
    many = lengths[runs]
    within = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
    old = np.repeat(starts[runs], many) + within
    new = np.repeat(starts[runs + 1], many) + within
    result = ops.copy()
    result[ops == UPDATE_BEFORE] = DELETE
    result[ops == UPDATE_AFTER] = INSERT
    both = passes[old] & passes[new]
    result[old[both]] = UPDATE_BEFORE
    result[new[both]] = UPDATE_AFTER
    return result
