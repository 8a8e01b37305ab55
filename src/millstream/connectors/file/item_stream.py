"""Streams the files of a source: the driver admits files to micro-batches, executors read them.

A Python data source: Spark runs `FileItemStream` in a process beside the driver and logs what
`latestOffset` returns: {"batch": 42}, the last row of the source's `AdmissionLog`.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from millstream.connectors.file.admission_log import AdmissionLog, Choice, Item, Remainder
from millstream.connectors.file.csv_records import CsvForm
from millstream.connectors.file.listing import FileStatus, listing_of
from millstream.connectors.file.reader_turns import ReaderTurns
from millstream.connectors.file.row_counts import RowCounter
from millstream.connectors.file.work_names import encode_item
from millstream.connectors.python_source import ErrorAnnotation, NamedDataSource
from millstream.connectors.work_items import ITEM
from millstream.errors import RunError, StateError
from millstream.state_format import FORMAT_FIX

SETTINGS = "settings"
MODIFIED = "modified"  # the modification time of the item's file, in microseconds
_SCHEMA = pa.schema([(ITEM, pa.string()), (MODIFIED, pa.int64())])
_LEAST_PAUSE, _MOST_PAUSE = 0.01, 1.0  # seconds between two listings
_PAUSE_FACTOR = 4  # listing takes at most a fifth of an idle job's time
_CHECK_MISSING = 3600.0  # seconds between two searches for deleted files
_OPEN_COST = 1 << 20  # bytes: the cost of opening a file, for the distribution over tasks
_UNLIMITED = 2**31 - 1
Offset = dict[str, int]


@dataclass(frozen=True, slots=True)
class FileSettings:
    """What a stream of files needs; has no secrets, because plans show it.

    Attributes:
        log: The file of the admission log.
        run: Identifies the run: readers of one run have the same files in a batch.
        tasks: The number of tasks that read a batch, at most.
        max_files, max_rows: Limits of a batch; None: no limit.
        retention: For how long, in microseconds, the path of a deleted file is remembered.
    """

    path: str
    recursive: bool
    log: str
    run: str
    tasks: int
    max_files: int | None
    max_rows: int | None
    retention: int
    counter: RowCounter

    def encoded(self) -> str:
        fields = asdict(self)
        if (form := self.counter.csv) is not None:
            shown = (form.delimiter, form.quote, form.escape, form.multiline, form.trim)
            fields["counter"]["csv"] = shown
        return json.dumps(fields)

    @classmethod
    def decoded(cls, text: str) -> FileSettings:
        fields = json.loads(text)
        counter = fields.pop("counter")
        form = counter.pop("csv")
        counter = RowCounter(**counter, csv=None if form is None else CsvForm(*form))
        return cls(**fields, counter=counter)


class FileItems(NamedDataSource):
    called: ClassVar[str] = "millstream_files"

    def schema(self) -> str:
        return f"{ITEM} string, {MODIFIED} long"

    def streamReader(self, schema: StructType) -> FileItemStream:  # noqa: ARG002, N802
        return FileItemStream(FileSettings.decoded(self.options[SETTINGS]))


@dataclass
class TaskItems(InputPartition):
    """The work items of one task."""

    items: list[str]
    modified: list[int]


class FileItemStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, settings: FileSettings) -> None:
        self.settings = settings
        self.log = AdmissionLog(Path(settings.log))
        self.turns = ReaderTurns(self.log.path, settings.run)
        self.listing = listing_of(settings.path, recursive=settings.recursive)
        self._pending: deque[str] = deque()  # not admitted when they were listed, oldest first
        self._seen: set[str] = set()  # paths of the last listing that are in the log
        self._pause_until = 0.0
        self._missing_checked = -_CHECK_MISSING
        self._is_listed = False  # for a run that reads what exists when it starts

    def initialOffset(self) -> Offset:  # noqa: N802
        return {"batch": 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadMaxFiles(self.settings.max_files or _UNLIMITED)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        with ErrorAnnotation():
            self._list()
            self._is_listed = True

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        with ErrorAnnotation():
            batch = self._batch(start)
            is_all = isinstance(limit, ReadAllAvailable)
            return {"batch": self.turns.answer(batch, lambda: self._admit(batch, is_all=is_all))}

    def partitions(self, start: Offset, end: Offset) -> list[TaskItems]:
        with ErrorAnnotation():
            items = self.log.items(self._batch(start) + 1, self._batch(end))
            return [
                TaskItems(
                    [encode_item(each.path, each.begin, each.end) for each in own],
                    [each.modified for each in own],
                )
                for own in distribute(items, self.settings.tasks)
            ]

    def read(self, partition: TaskItems) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        columns = [pa.array(partition.items), pa.array(partition.modified)]
        yield pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)

    def commit(self, end: Offset) -> None:
        with ErrorAnnotation():
            self.log.drop_batches(self._batch(end))

    def _batch(self, offset: Offset) -> int:
        if "batch" not in offset:
            raise StateError(
                "MS-STATE-FORMAT",
                f"the checkpoint lists the files of {self.settings.path} in the format of an "
                "earlier version of Millstream.",
                fix=FORMAT_FIX,
            )
        return offset["batch"]

    def _admit(self, batch: int, *, is_all: bool) -> int:
        if self._needs_listing(batch):
            time.sleep(max(0.0, self._pause_until - time.monotonic()))
            self._list()
        admitted = self.log.admit(batch, self._choose)
        while is_all and admitted > batch:
            batch, admitted = admitted, self.log.admit(admitted, self._choose)
        return admitted

    def _needs_listing(self, batch: int) -> bool:
        if self._pending or self._is_listed:
            return False
        return self.log.last == batch and not self.log.has_remainder

    def _list(self) -> None:
        began = time.monotonic()
        try:
            paths = self.listing.paths()
        except (OSError, pa.ArrowException) as error:
            raise RunError(
                "MS-RUN-FILE",
                f"the files of {self.settings.path} cannot be listed: {error}.",
                fix="Make the folder readable and run the job again; nothing is lost.",
            ) from None
        listed = set(paths)
        self._seen &= listed
        new = self.log.unseen(path for path in paths if path not in self._seen)
        self._seen |= listed.difference(new)
        statuses = self.listing.statuses(new)
        oldest_first = sorted(statuses, key=lambda path: (statuses[path].modified, path))
        self._pending = deque(oldest_first)
        now = time.monotonic()
        if now - self._missing_checked >= _CHECK_MISSING:
            self._missing_checked = now
            self.log.drop_missing(listed, time.time_ns() // 1000, self.settings.retention)
        pause = min(max((now - began) * _PAUSE_FACTOR, _LEAST_PAUSE), _MOST_PAUSE)
        self._pause_until = time.monotonic() + pause

    def _choose(self, remainder: Remainder | None) -> Choice:
        """Takes pending files, within the limits of a batch."""
        items: list[Item] = []
        room = self.settings.max_rows
        while len(items) < (self.settings.max_files or _UNLIMITED) and room != 0:
            rest = remainder or self._next_file()
            remainder = None
            if rest is None:
                break
            if room is None:
                items.append(Item(rest.path, rest.begin, None, rest.size, rest.modified))
                continue
            part = self.settings.counter.part(rest.path, rest.begin, rest.size, room)
            if part is None:  # a batch of its own
                if items:
                    self._pending.appendleft(rest.path)
                else:
                    items.append(Item(rest.path, rest.begin, None, rest.size, rest.modified))
                break
            room -= part.rows
            is_whole = part.is_last and rest.begin == 0
            size = rest.size if part.is_last else part.end - rest.begin
            end = None if is_whole else part.end
            items.append(Item(rest.path, rest.begin, end, size, rest.modified))
            if not part.is_last:
                return items, Remainder(rest.path, part.end, rest.size, rest.modified)
        return items, None

    def _next_file(self) -> Remainder | None:
        """Returns the next pending file that still exists and no other reader has admitted."""
        while self._pending:
            path = self._pending.popleft()
            status: FileStatus | None = self.listing.statuses([path]).get(path)
            if status is not None and self.log.unseen([path]):
                return Remainder(path, 0, status.size, status.modified)
        return None


def distribute(items: Sequence[Item], tasks: int) -> list[list[Item]]:
    """Distributes items over tasks so that these read about as many bytes; each task has its items
    in their order."""
    groups: list[list[int]] = [[] for _ in range(min(tasks, len(items)))]
    loads = [0] * len(groups)
    for number in sorted(range(len(items)), key=lambda each: -items[each].size):
        least = loads.index(min(loads))
        groups[least].append(number)
        loads[least] += items[number].size + _OPEN_COST
    return [[items[number] for number in sorted(group)] for group in groups]
