"""The watermark of an operator: the minimum over its inputs and the partitions of their sources.

Every key group receives the progress of every chunk of every input in the same micro-batch, and
takes processing time only from the offset log. So all groups compute the same watermark, and a
retried batch computes the same as its first attempt. An operator's processing time never decreases:
it is stored in state, and a batch whose own time is earlier, because the system clock was set back,
uses that of the batch before it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from millstream.engine.processor.input_progress import IMPLICIT, InputProgress
from millstream.errors import RunError
from millstream.state_format import reject_changed_identity
from millstream.temporal import BEGIN_OF_TIME, END_OF_TIME


@dataclass(frozen=True, slots=True)
class InputSpec:
    """One input of an operator: its name in the ledger, and how its rows advance the watermark.

    `hash_from` is the packet column that is the hash of the key, if any. `equal_columns` are
    columns that are not packed because they are equal to another one, with the name of that one.
    """

    name: str
    delay: int
    hash_from: str | None = None
    advance_every_rows: int = 1
    idle_timeout: int | None = None
    derived: bool = False  # results of another operator, which reports its watermark itself
    wall_clock: bool = False  # its rows have the operator's processing time, which is its progress
    keys: tuple[str, ...] = ()  # columns of its packets that identify its heavy hitters
    equal_columns: tuple[tuple[str, str], ...] = ()
    last_window: int = 0  # of a window join: the time between a row's first and last window
    source: str | None = None  # the source that it reads, if there is no operator between
    # the kernel's input that it is, or a branch of; None: the one with its own number
    kernel_input: int | None = None
    keeps_origin: bool = False  # are its rows marked, because late rows of branches are separated?

    @property
    def has_partitions(self) -> bool:
        """Whether progress is tracked for each partition of its source."""
        return not self.derived and not self.wall_clock


@dataclass(slots=True)
class WatermarkTracker:
    """The progress of all inputs and the watermark. Stored in the state of every key group, with
    the counts from before the shuffle."""

    inputs: tuple[InputSpec, ...]
    identity: str  # canonical: what the operator's state depends on
    progress: list[InputProgress]
    watermark: int = BEGIN_OF_TIME
    now: int | None = None
    input_counts: dict[str, dict[str, int]] = field(default_factory=dict)
    heavy_hitters: dict[str, dict[str, Any]] = field(
        default_factory=dict
    )  # by input, as data of HeavyHitters
    _ends: list[tuple[str | None, str | None]] = field(default_factory=list)  # in this micro-batch

    @classmethod
    def load(
        cls, payload: bytes | None, inputs: tuple[InputSpec, ...], identity: str
    ) -> WatermarkTracker:
        if payload is None:
            return cls(inputs, identity, [InputProgress() for _ in inputs])
        data = json.loads(payload)
        reject_changed_identity(data.get("identity"), identity)
        progress = [InputProgress.of_data(each) for each in data["inputs"]]
        known = (data["watermark"], data["now"], data["input_counts"], data["heavy_hitters"])
        return cls(inputs, identity, progress, *known)

    def dump(self) -> bytes:
        data = {
            "inputs": [each.as_data() for each in self.progress],
            "watermark": self.watermark,
            "now": self.now,
            "input_counts": self.input_counts,
            "heavy_hitters": self.heavy_hitters,
            "identity": self.identity,
        }
        return json.dumps(data, separators=(",", ":")).encode()

    @property
    def max_times(self) -> dict[str, int]:
        return {each.name: known.max_time for each, known in self._each()}

    @property
    def idle_inputs(self) -> tuple[str, ...]:
        return tuple(each.name for each, known in self._each() if known.is_idle)

    @property
    def is_idle(self) -> bool:
        """Whether the operator is idle: every input is idle or has ended, and not all have
        ended."""
        return bool(self.idle_inputs) and all(
            known.is_idle or known.ended for known in self.progress
        )

    def record_chunk(
        self,
        input_number: int,
        max_time: int | None,
        rows: int,
        *,
        idle: bool | None = None,
        partitions: Mapping[str, int | None] | None = None,
    ) -> None:
        """Records a chunk of an input.

        Args:
            input_number: The number of the input.
            max_time: The greatest time among its rows; of results of an operator, its watermark.
            rows: How many there are.
            idle: Whether the operator whose results these are is idle, if it has reported that.
            partitions: The same as `max_time` for each partition of the source that it has rows of.
        """
        spec, known = self.inputs[input_number], self.progress[input_number]
        if spec.derived:
            self._record_results(spec, known, max_time, idle)
            return
        by_partition = partitions if partitions and spec.has_partitions else {IMPLICIT: max_time}
        for name, partition_max_time in by_partition.items():
            known.record(name, partition_max_time)
        if max_time is not None:
            known.rows += rows

    def _record_results(
        self, spec: InputSpec, known: InputProgress, max_time: int | None, idle: bool | None
    ) -> None:
        if max_time is not None:
            if max_time < known.implicit.max_time:
                raise _decreasing_watermark(spec.name, known.implicit.max_time, max_time)
            known.implicit.max_time = max_time
        if idle is not None:
            known.implicit.is_idle = idle

    def set_processing_time(self, now: int | None) -> None:
        if now is not None:
            self.now = now if self.now is None else max(self.now, now)

    def add_partition(self, source: str, partition: str) -> None:
        """Waits for a partition of a source from now on, though it has had no rows yet."""
        for spec, known in self._each():
            if spec.source == source and spec.has_partitions:
                known.add(partition)

    def end(self, source: str | None = None, partition: str | None = None) -> None:
        """Ends all sources, one source, or one of its partitions: no more rows come from it. Other
        operators report the end of their results themselves."""
        self._ends.append((source, partition))

    def advance(self) -> int:
        """Applies the minimum rule: an operator is as far as the slowest partition of its inputs
        that is neither idle nor ended. The watermark never decreases."""
        for spec, known in self._each():
            # Only now, when the whole batch is recorded: packets come in any order.
            if not spec.derived:
                known.advance(spec.advance_every_rows)
        self._apply_ends()
        self._detect_idle()
        counted = [
            self._watermark_of(spec, known)
            for spec, known in self._each()
            if spec.wall_clock or not known.is_idle
        ]
        # Inputs that have ended do not end the operator while others are only idle.
        if counted and (min(counted) < END_OF_TIME or len(counted) == len(self.inputs)):
            self.watermark = max(self.watermark, min(counted))
        return self.watermark

    def _apply_ends(self) -> None:
        for source, partition in self._ends:
            for spec, known in self._each():
                if spec.derived or source not in (None, spec.source):
                    continue
                if partition is None or spec.has_partitions:
                    known.end(partition)

    def _watermark_of(self, spec: InputSpec, known: InputProgress) -> int:
        if known.ended:
            return END_OF_TIME
        if spec.wall_clock and self.now is not None:
            return self.now
        return known.max_time - spec.delay

    def _detect_idle(self) -> None:
        if self.now is None:
            return
        for spec, known in self._each():
            if spec.wall_clock and not spec.derived:
                known.implicit.max_time = max(known.implicit.max_time, self.now)
            known.detect_idle(self.now, spec.idle_timeout)

    def _each(self) -> Iterator[tuple[InputSpec, InputProgress]]:
        return zip(self.inputs, self.progress, strict=True)

    def count(self, input_number: int, counts_json: str | None) -> None:
        """Adds counts of an input's rows before the shuffle."""
        if counts_json is None:
            return
        counts = self.input_counts.setdefault(self.inputs[input_number].name, {})
        for what, count in json.loads(counts_json).items():
            counts[what] = counts.get(what, 0) + count


def _decreasing_watermark(name: str, before: int, after: int) -> RunError:
    return RunError(
        "MS-RUN-WATERMARK",
        f"the watermark of {name} went back from {_utc(before)} to {_utc(after)} UTC.",
        fix="This is a defect of Millstream: a watermark never decreases. Please report it.",
    )


def _utc(time: int) -> str:
    if not BEGIN_OF_TIME < time < END_OF_TIME:
        return "the end of time" if time >= END_OF_TIME else "the begin of time"
    return str(datetime(1970, 1, 1) + timedelta(microseconds=time))  # noqa: DTZ001, shown as UTC
