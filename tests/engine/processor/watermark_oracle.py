"""The watermark of an operator over sources with partitions, by its definition in
docs/03-time-and-watermarks.md.

a partition is ended, or idle: no rows for the idle timeout, or active
watermark = the minimum over all active partitions of (greatest time - delay)
no active partition: unchanged; every partition ended: the end of time; it never decreases
"""

from __future__ import annotations

from dataclasses import dataclass, field

from millstream.engine.processor.watermarks import InputSpec
from millstream.temporal import BEGIN_OF_TIME, END_OF_TIME


@dataclass
class Chunk:
    """Rows of an input: by partition their greatest time, None if no row has one."""

    input: int
    max_times: dict[str, int | None]
    rows: int


@dataclass
class MicroBatch:
    now: int
    chunks: list[Chunk] = field(default_factory=list)
    announced: list[tuple[str, str]] = field(default_factory=list)  # source, partition
    ended: list[tuple[str | None, str | None]] = field(default_factory=list)


@dataclass
class Partition:
    last: int  # processing time of its last rows, or at which it became known
    max_time: int = BEGIN_OF_TIME
    pending: int = BEGIN_OF_TIME
    ended: bool = False


@dataclass
class Oracle:
    inputs: tuple[InputSpec, ...]
    watermark: int = BEGIN_OF_TIME
    now: int | None = None
    rows: list[int] = field(init=False)
    known: list[dict[str, Partition]] = field(init=False)
    unknown: list[Partition | None] = field(init=False)  # for partitions not known yet

    def __post_init__(self) -> None:
        self.rows = [0 for _ in self.inputs]
        self.known = [{} for _ in self.inputs]
        self.unknown = [None for _ in self.inputs]

    def run(self, batch: MicroBatch) -> int:
        if self.now is None:
            self.unknown = [Partition(batch.now) for _ in self.inputs]
        self.now = batch.now if self.now is None else max(self.now, batch.now)
        for chunk in batch.chunks:
            self._record(chunk, self.now)
        for number, spec in enumerate(self.inputs):
            for source, name in batch.announced:
                if spec.source == source:
                    self._add(number, name)
            if self.rows[number] >= spec.advance_every_rows:
                self.rows[number] = 0
                for each in self.known[number].values():
                    each.max_time = max(each.max_time, each.pending)
            for ended, partition in batch.ended:
                if ended in (None, spec.source):
                    self._end(number, partition)
        self._advance(self.now)
        return self.watermark

    def _record(self, chunk: Chunk, now: int) -> None:
        for name, max_time in chunk.max_times.items():
            found = self._add(chunk.input, name)
            found.last = now
            if max_time is not None:
                found.pending = max(found.pending, max_time)
        if any(max_time is not None for max_time in chunk.max_times.values()):
            self.rows[chunk.input] += chunk.rows

    def _add(self, number: int, name: str) -> Partition:
        assert self.now is not None
        self.unknown[number] = None
        return self.known[number].setdefault(name, Partition(self.now))

    def _end(self, number: int, name: str | None) -> None:
        assert self.now is not None
        if name is not None:
            self.known[number].setdefault(name, Partition(self.now)).ended = True
            return
        for each in self._partitions(number):
            each.ended = True

    def _partitions(self, number: int) -> list[Partition]:
        placeholder = self.unknown[number]
        return [*self.known[number].values(), *([placeholder] if placeholder else [])]

    def _advance(self, now: int) -> None:
        every, active = [], []
        for number, spec in enumerate(self.inputs):
            for each in self._partitions(number):
                every.append(each)
                idle = spec.idle_timeout is not None and now - each.last >= spec.idle_timeout
                if not each.ended and not idle:
                    active.append(each.max_time - spec.delay)
        if all(each.ended for each in every):
            self.watermark = END_OF_TIME
        elif active:
            self.watermark = max(self.watermark, min(active))
