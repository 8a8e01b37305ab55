"""Streams row numbers: Spark logs how many rows exist when, executors generate them.

{"rows": 120000, "base": 1767225600000000}     the offset log's entry: the number of rows so far,
                                               and the time of row 0 in microseconds
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from millstream.connectors.python_source import NamedDataSource
from millstream.connectors.work_items import ITEM
from millstream.temporal import MICROS

SETTINGS = "settings"
_PIECE = 100_000  # rows of a task; the same on any machine, since a retry must fit
_SCHEMA = pa.schema([(ITEM, pa.string())])
Offset = dict[str, int]


@dataclass(frozen=True, slots=True)
class RowSettings:
    """When rows exist.

    Attributes:
        rate: Rows per second.
        rows: Rows in total; None: no end.
        start: The time of the first row in microseconds; None: the time when the row is generated.
        limit: Rows of a batch at most.
    """

    rate: int
    rows: int | None
    start: int | None
    limit: int

    def encoded(self) -> str:
        return json.dumps([self.rate, self.rows, self.start, self.limit])


@dataclass(frozen=True, slots=True)
class RowRange:
    """Rows from `first` to before `end`; row 0 has the time `base` in microseconds."""

    first: int
    end: int
    base: int

    def encoded(self) -> str:
        return json.dumps([self.first, self.end, self.base])

    @classmethod
    def decoded(cls, text: str) -> RowRange:
        return cls(*json.loads(text))


class GeneratedRows(NamedDataSource):
    called: ClassVar[str] = "millstream_datagen"

    def schema(self) -> str:
        return f"{ITEM} string"

    def streamReader(self, schema: StructType) -> RowStream:  # noqa: ARG002, N802
        return RowStream(RowSettings(*json.loads(self.options[SETTINGS])))


@dataclass
class Piece(InputPartition):
    """The work item of one task."""

    item: str


class RowStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """After a restart, the rate starts again: rows of the time in between are not generated."""

    def __init__(
        self,
        settings: RowSettings,
        seconds: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.settings = settings
        self._seconds, self._now = seconds, now
        self._started: tuple[float, int] | None = None  # when, and the rows at that time
        self._base = 0
        self._once = False
        self._target: int | None = None

    def initialOffset(self) -> Offset:  # noqa: N802
        return {"rows": 0, "base": self._time()}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadMaxRows(self.settings.limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._once = True

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        rows = start["rows"]
        if self._started is None:
            self._start(start)
        end = self._available()
        if not isinstance(limit, ReadAllAvailable):
            end = min(end, rows + self.settings.limit)
        return {"rows": max(end, rows), "base": self._base}

    def partitions(self, start: Offset, end: Offset) -> list[Piece]:
        numbers = range(start["rows"], end["rows"], _PIECE)
        return [
            Piece(RowRange(first, min(first + _PIECE, end["rows"]), end["base"]).encoded())
            for first in numbers
        ]

    def read(self, partition: Piece) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        yield pa.RecordBatch.from_arrays([pa.array([partition.item])], schema=_SCHEMA)

    def _start(self, start: Offset) -> None:
        settings, rows = self.settings, start["rows"]
        self._started = self._seconds(), rows
        if self._once:  # a bounded source has all its rows, another one those of a second
            self._target = rows + settings.rate if settings.rows is None else settings.rows
        step = MICROS["s"] / settings.rate
        if settings.start is not None:
            self._base = settings.start
        elif rows == 0 and self._target is not None:
            self._base = start["base"] - int(self._target * step)
        else:
            self._base = max(start["base"], self._time() - int(rows * step))

    def _available(self) -> int:
        assert self._started is not None
        began, rows = self._started
        if self._target is None:
            found = rows + int((self._seconds() - began) * self.settings.rate)
        else:
            found = self._target
        return found if self.settings.rows is None else min(found, self.settings.rows)

    def _time(self) -> int:
        return int(self._now() * MICROS["s"])
