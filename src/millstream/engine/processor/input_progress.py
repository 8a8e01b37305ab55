"""The progress of one input of an operator: how far each partition of its source is.

A Kafka topic has partitions; a source without any, such as files, is one implicit partition. The
progress of an input is the minimum over its partitions. A partition without rows for the source's
idle timeout does not count until it has rows again; nor does one that has ended, unless all have.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

from millstream.temporal import BEGIN_OF_TIME, END_OF_TIME

IMPLICIT = ""  # the one partition of a source that has none, and of one that has not reported any


@dataclass(slots=True)
class PartitionProgress:
    """`max_time` is the greatest event time that counts, `pending_max_time` its next value, which
    counts after a number of rows, and `last_rows_at` the processing time of the last batch with
    rows."""

    max_time: int = BEGIN_OF_TIME
    pending_max_time: int = BEGIN_OF_TIME
    last_rows_at: int | None = None
    is_idle: bool = False

    @property
    def ended(self) -> bool:
        return self.max_time >= END_OF_TIME

    def end(self) -> None:
        self.max_time = self.pending_max_time = END_OF_TIME
        self.is_idle = False


@dataclass(slots=True)
class InputProgress:
    """`rows` is the number of rows since the last progress, over all partitions."""

    rows: int = 0
    partitions: dict[str, PartitionProgress] = field(
        default_factory=lambda: {IMPLICIT: PartitionProgress()}
    )
    _reported: set[str] = field(default_factory=set)  # in this micro-batch

    @classmethod
    def of_data(cls, data: list[Any]) -> Self:
        rows, partitions = data
        return cls(rows, {name: PartitionProgress(*each) for name, each in partitions.items()})

    def as_data(self) -> list[Any]:
        partitions = {
            name: [each.max_time, each.pending_max_time, each.last_rows_at, each.is_idle]
            for name, each in self.partitions.items()
        }
        return [self.rows, partitions]

    @property
    def implicit(self) -> PartitionProgress:
        return self.partitions[IMPLICIT]

    def add(self, name: str) -> PartitionProgress:
        """Returns the progress of a partition. One that is new counts from this batch on; the
        implicit one is only used until the first partition is known."""
        if name != IMPLICIT:
            self.partitions.pop(IMPLICIT, None)
        return self.partitions.setdefault(name, PartitionProgress())

    def record(self, name: str, max_time: int | None) -> None:
        """Records rows of a partition; `max_time` is their greatest time, if they have one."""
        known = self.add(name)
        self._reported.add(name)
        known.is_idle = False
        if max_time is not None:
            known.pending_max_time = max(known.pending_max_time, max_time)

    def end(self, name: str | None = None) -> None:
        """Ends one partition, or all. The end of an unknown partition does not affect others."""
        if name is None:
            for each in self.partitions.values():
                each.end()
        else:
            self.partitions.setdefault(name, PartitionProgress()).end()

    def advance(self, every: int) -> None:
        """Advances all partitions if there were `every` rows."""
        if self.rows >= every:
            for each in self.partitions.values():
                each.max_time = max(each.max_time, each.pending_max_time)
            self.rows = 0

    def detect_idle(self, now: int, timeout: int | None) -> None:
        """Marks partitions as idle that have had no rows for `timeout`. One that never had any is
        without rows since it became known."""
        for name, each in self.partitions.items():
            if each.last_rows_at is None or name in self._reported:
                each.last_rows_at = now
            if timeout is not None and not each.ended:
                each.is_idle = now - each.last_rows_at >= timeout

    @property
    def ended(self) -> bool:
        return all(each.ended for each in self.partitions.values())

    @property
    def is_idle(self) -> bool:
        """Whether no partition counts, though not all have ended."""
        return not self.ended and not self._active

    @property
    def max_time(self) -> int:
        """The least time over the partitions that count; if none does, over those that are idle."""
        idle = [each for each in self.partitions.values() if each.is_idle]
        return min((each.max_time for each in self._active or idle), default=END_OF_TIME)

    @property
    def _active(self) -> list[PartitionProgress]:
        return [each for each in self.partitions.values() if not each.is_idle and not each.ended]
