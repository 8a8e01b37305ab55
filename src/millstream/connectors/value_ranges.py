"""Streams ranges of a table's rows: Spark logs their bounds, executors read them.

{"rows": 1}        all rows were read ('mode' = 'snapshot')
{"last": 1200}     the greatest value of the incremental column that was read; null: none

Values are integers or texts: dates and times are in ISO 8601.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from millstream.connectors.python_source import ErrorAnnotation
from millstream.connectors.work_items import ITEM

_PAUSE = 0.1  # seconds between two looks for new rows
_SCHEMA = pa.schema([(ITEM, pa.string())])
Value = int | str | None
Offset = dict[str, Any]


class Bounds(Protocol):
    """A table with a column whose values only increase."""

    def greatest(self, after: Value, to: Value, most: int | None) -> Value:
        """Returns the greatest value above `after` and at most `to`, or of the next `most` such
        rows; None if there is no such row."""
        ...


@dataclass(frozen=True, slots=True)
class ValueRange:
    """Rows whose value of the incremental column is above `after` and at most `to`; None: all."""

    after: Value
    to: Value

    def encoded(self) -> str:
        return json.dumps([self.after, self.to])

    @classmethod
    def decoded(cls, text: str) -> ValueRange:
        return cls(*json.loads(text))


@dataclass
class Item(InputPartition):
    """The work item of one task."""

    item: str


class RangeStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """`bounds`: None if all rows are read once."""

    def __init__(self, bounds: Bounds | None, limit: int) -> None:
        self.bounds = bounds
        self.limit = limit
        self._target: Value = None
        self._is_bounded = False
        self._looked = -float("inf")

    def __getstate__(self) -> dict[str, object]:
        return {}  # executors only call `read`

    def initialOffset(self) -> Offset:  # noqa: N802
        return {"last": None} if self.bounds else {"rows": 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadMaxRows(self.limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._is_bounded = True
        if self.bounds:
            with ErrorAnnotation():
                self._target = self.bounds.greatest(None, None, None)

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        if not self.bounds:
            return {"rows": 1}
        now = time.monotonic()
        if not self._is_bounded and now - self._looked < _PAUSE:
            return start
        self._looked = now
        if self._is_bounded and self._target is None:
            return start
        most = None if isinstance(limit, ReadAllAvailable) else self.limit
        with ErrorAnnotation():
            found = self.bounds.greatest(start["last"], self._target, most)
        return start if found is None else {"last": found}

    def partitions(self, start: Offset, end: Offset) -> list[Item]:
        if start == end:
            return []
        return [Item(ValueRange(start.get("last"), end.get("last")).encoded())]

    def read(self, partition: Item) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        yield pa.RecordBatch.from_arrays([pa.array([partition.item])], schema=_SCHEMA)
