"""Streams the data files that versions of a table add: Spark logs which files, executors read them.

{"id": "…", "version": 7, "index": 0, "snapshot": 0}

An offset is the first file that is not read yet: file `index` of the files that `version` adds or,
with `snapshot`, of all files of the table at that version.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from millstream.connectors.lake.data_file import DataFile
from millstream.connectors.python_source import ErrorAnnotation
from millstream.connectors.work_items import ITEM

_SCHEMA = pa.schema([(ITEM, pa.string())])
LoggedOffset = dict[str, str | int]


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """What a stream of data files needs.

    Attributes:
        start: snapshot, latest, version or timestamp.
        start_value: The version, or the time in milliseconds.
        limit: Files of a batch at most.
        tasks: The number of tasks that read a batch, at most.
    """

    start: str
    start_value: int
    limit: int
    tasks: int


@dataclass(frozen=True, slots=True)
class Position:
    """The first file that is not read yet."""

    version: int
    index: int = 0
    is_snapshot: bool = False

    def logged(self, table_id: str) -> LoggedOffset:
        return {
            "id": table_id,
            "version": self.version,
            "index": self.index,
            "snapshot": int(self.is_snapshot),
        }

    @classmethod
    def of(cls, logged: LoggedOffset) -> Position:
        return cls(int(logged["version"]), int(logged["index"]), bool(logged["snapshot"]))


class VersionLog(Protocol):
    """The versions of a table, in the process beside the driver. `pause`: the seconds between two
    looks for new versions."""

    pause: float

    def describe(self) -> tuple[str, int]:
        """Returns the id of the table, and its latest version."""
        ...

    def latest(self, known_id: str) -> int:
        """Returns the latest version; fails if the table has another id."""
        ...

    def version_at(self, millis: int) -> int:
        """Returns the first version at or after a time; the next version if there is none."""
        ...

    def snapshot(self, version: int) -> tuple[DataFile, ...]:
        """Returns the data files of a version, the oldest first."""
        ...

    def files_of(self, version: int) -> tuple[DataFile, ...]:
        """Returns the data files with the rows that a version adds."""
        ...


@dataclass
class Items(InputPartition):
    """The work items of one task."""

    items: list[str]


class VersionStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, settings: StreamSettings, log: VersionLog) -> None:
        self.settings = settings
        self.log = log
        self._target: int | None = None
        self._looked = -float("inf")
        self._latest = -1

    def __getstate__(self) -> dict[str, object]:
        return {}  # executors only call `read`

    def initialOffset(self) -> LoggedOffset:  # noqa: N802
        with ErrorAnnotation():
            table_id, latest = self.log.describe()
            # A run that ends with its input begins with the version where it ends.
            return self._first(latest if self._target is None else self._target).logged(table_id)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadMaxRows(self.settings.limit)  # of files; rows are not known

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        with ErrorAnnotation():
            _, self._target = self.log.describe()

    def latestOffset(self, start: LoggedOffset, limit: ReadLimit) -> LoggedOffset:  # noqa: N802
        with ErrorAnnotation():
            table_id = str(start["id"])
            last = self._last_version(table_id)
            most = None if isinstance(limit, ReadAllAvailable) else self.settings.limit
            return advance(self.log, Position.of(start), last, most).logged(table_id)

    def partitions(self, start: LoggedOffset, end: LoggedOffset) -> list[Items]:
        with ErrorAnnotation():
            files = files_between(self.log, Position.of(start), Position.of(end))
            return [Items(each) for each in _shared_out(list(files), self.settings.tasks)]

    def read(self, partition: Items) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        yield pa.RecordBatch.from_arrays([pa.array(partition.items)], schema=_SCHEMA)

    def _first(self, latest: int) -> Position:
        settings = self.settings
        if settings.start == "latest":
            return Position(latest + 1)
        if settings.start == "version":
            return Position(settings.start_value)
        if settings.start == "timestamp":
            return Position(self.log.version_at(settings.start_value))
        return Position(latest, is_snapshot=True)

    def _last_version(self, table_id: str) -> int:
        now = time.monotonic()
        if self._latest < 0 or now - self._looked >= self.log.pause:
            self._latest = self.log.latest(table_id)
            self._looked = now
        return self._latest if self._target is None else min(self._target, self._latest)


def advance(log: VersionLog, start: Position, last: int, most: int | None) -> Position:
    """Returns where a batch of at most `most` files ends, with versions up to `last`."""
    place, left = start, float("inf") if most is None else most
    while place.version <= last:
        count = len(_files_at(log, place)) - place.index
        if count > left:
            return replace(place, index=place.index + int(left))
        left -= count
        place = Position(place.version + 1)
    return place


def files_between(log: VersionLog, start: Position, end: Position) -> Iterator[DataFile]:
    """Yields the files from one position to before another."""
    place = start
    while place.version < end.version:
        yield from _files_at(log, place)[place.index :]
        place = Position(place.version + 1)
    if end.index:
        yield from _files_at(log, end)[place.index : end.index]


def _files_at(log: VersionLog, place: Position) -> tuple[DataFile, ...]:
    return log.snapshot(place.version) if place.is_snapshot else log.files_of(place.version)


def _shared_out(files: list[DataFile], tasks: int) -> list[list[str]]:
    """Distributes files to tasks, the largest first to the task with the fewest bytes."""
    found: list[list[str]] = [[] for _ in range(max(1, min(tasks, len(files))))]
    sizes = [0] * len(found)
    for file in sorted(files, key=lambda each: (-each.size, each.path)):
        least = sizes.index(min(sizes))
        found[least].append(file.encoded())
        sizes[least] += max(file.size, 1)
    return [each for each in found if each]
