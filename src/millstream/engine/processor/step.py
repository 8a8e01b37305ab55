"""One step of the processor: reads the packets of a key group, runs each kernel once, emits rows.

The step owns what a kernel does not know: packets, the stages that share a shuffle, and the
watermark with its minimum rule.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import cast

import pandas as pd
import polars as pl

from millstream.engine.processor.outputs import main_rows, origin_of, packet_row, side_packets
from millstream.engine.processor.processor import KernelProcessor, Stage
from millstream.engine.processor.state_adapter import SparkState
from millstream.engine.processor.watermarks import InputSpec, WatermarkTracker
from millstream.engine.shuffle import format as packet_format
from millstream.engine.shuffle.column_names import BRANCH, INPUTS, REJECTED
from millstream.engine.shuffle.spark_hashes import xxhash64
from millstream.kernels.core.heavy_hitters import HeavyHitters
from millstream.kernels.core.kernel import (
    HASH,
    TIME,
    StepResult,
    WatermarkAdvance,
    nonempty_frames,
)
from millstream.temporal import OnLimit, StateLimit

# The store of the watermarks. Its name never changes, because it also stores the identity: under
# another name, a new version would not find the identity and would begin with empty state.
_STORE = "clock"
_HEAVY_HITTERS = 16  # keys that are counted for each input


def run_stages(
    processor: KernelProcessor, group: int, rows: Iterator[pd.DataFrame]
) -> Iterator[pd.DataFrame]:
    """Runs all stages over the packets of one key group in one micro-batch."""
    columns = processor.columns
    stages = [
        _StageStep.begin(*each) for each in zip(processor.stages, processor.states, strict=True)
    ]
    for packet in sorted(_packets(rows), key=lambda packet: packet.sequence):
        for each in stages:
            each.apply_control(packet)
        if packet.kind >= packet_format.PASS_THROUGH:
            kind = packet.kind - packet_format.PASS_THROUGH
            yield packet_row(columns, kind, packet.target, cast("bytes", packet.payload))
        elif packet.kind == packet_format.REJECTED_ROWS:
            position, input_number = divmod(packet.target, INPUTS)
            origin = origin_of(stages[position].stage, input_number)
            yield packet_row(columns, REJECTED, origin, cast("bytes", packet.payload))
        elif packet.kind == packet_format.ROWS:
            position, input_number = divmod(packet.target, INPUTS)
            stages[position].add_packet(input_number, packet)
    for position, each in enumerate(stages):
        result = each.run()
        if each.stage.has_link:
            stages[position + 1].add_results(each, nonempty_frames(result))
        else:
            for frame in nonempty_frames(result):
                yield main_rows(columns, frame)
        for kind, origin, payload in each.side_packets(group, result):
            yield packet_row(columns, kind, origin, payload)


@dataclass(slots=True)
class _StageStep:
    """The part of the step that belongs to one stage."""

    stage: Stage
    state: SparkState
    watermarks: WatermarkTracker
    watermark_before: int  # the watermark before this step
    rows: dict[int, list[pl.DataFrame]] = field(default_factory=dict)  # by input
    allowance: StateLimit | None = None

    @classmethod
    def begin(cls, stage: Stage, state: SparkState) -> _StageStep:
        stored = state.value(_STORE).get()
        watermarks = WatermarkTracker.load(stored, stage.inputs, stage.identity)
        return cls(stage, state, watermarks, watermarks.watermark)

    def apply_control(self, packet: _Packet) -> None:
        """Applies what a packet says to every operator: processing time, partitions of sources, the
        end of input, and an allowance if it is for this operator."""
        self.watermarks.set_processing_time(packet.now)
        if packet.kind == packet_format.END_OF_INPUT:
            self.watermarks.end(**json.loads(packet.partitions or "{}"))
        elif packet.kind == packet_format.KNOWN_PARTITION:
            self.watermarks.add_partition(**json.loads(packet.partitions or "{}"))
        is_own = packet.kind == packet_format.ALLOWANCE and packet.target == self.stage.operator
        if is_own and self.stage.evicts:
            rows = None if packet.rows == packet_format.NO_LIMIT else packet.rows
            self.allowance = StateLimit(rows, packet.allowance_bytes, OnLimit.EVICT)

    def add_packet(self, input_number: int, packet: _Packet) -> None:
        """Adds the rows of a packet to an input, and the progress of its source."""
        partitions = json.loads(packet.partitions) if packet.partitions else None
        self.watermarks.record_chunk(
            input_number, packet.max_time, packet.rows, idle=packet.is_idle, partitions=partitions
        )
        self.watermarks.count(input_number, packet.input_counts)
        if packet.payload is not None:
            frame = cast("pl.DataFrame", pl.from_arrow(packet_format.decode(packet.payload)))
            self._add(input_number, frame)

    def add_results(self, upstream: _StageStep, results: Iterable[pl.DataFrame]) -> None:
        """Adds the results of the stage before this one to one of this one's inputs."""
        link, progress = upstream.stage.link, upstream.watermarks
        assert link is not None
        columns = [pl.col(old).alias(new) for new, old in link.columns]
        count = 0
        for result in results:
            count += result.height
            rows = result.select(columns)
            if link.hash_columns:
                hashes = xxhash64(rows.select(link.hash_columns).to_arrow().columns)
                rows = rows.with_columns(pl.Series(HASH, hashes))
            self._add(link.input, rows if link.fold is None else link.fold(rows))
        max_time = None if progress.watermark == packet_format.NO_TIME else progress.watermark
        self.watermarks.record_chunk(link.input, max_time, count, idle=progress.is_idle)
        self.watermarks.count(link.input, json.dumps({"in": count}))

    def _add(self, input_number: int, frame: pl.DataFrame) -> None:
        spec = self.stage.inputs[input_number]
        added = [pl.col(same).alias(name) for name, same in spec.equal_columns]
        if spec.hash_from is not None:
            added.append(pl.col(spec.hash_from).alias(HASH))
        if added:
            frame = frame.with_columns(added)
        self.rows.setdefault(input_number, []).append(frame)

    def run(self) -> StepResult:
        """Advances the watermark and runs the kernel once, over the rows of all inputs."""
        frames = {number: _concatenated(parts) for number, parts in self.rows.items()}
        limit, enforces_limit = self.stage.default_limit, self.allowance is not None
        if self.allowance is not None:
            limit = _with_new_rows(self.allowance, frames.values())
        advance = WatermarkAdvance(
            self.watermark_before, self.watermarks.advance(), limit, enforces_limit
        )
        by_kernel_input: dict[int, list[pl.DataFrame]] = {}
        for number, rows in frames.items():
            frame, spec = rows, self.stage.inputs[number]
            _count_heavy_hitters(self.watermarks, spec, frame)
            if spec.wall_clock:
                frame = frame.with_columns(pl.lit(self.watermarks.now, pl.Int64).alias(TIME))
            if spec.keeps_origin:
                frame = frame.with_columns(pl.lit(number, pl.Int32).alias(BRANCH))
            by_kernel_input.setdefault(self.stage.kernel_input(number), []).append(frame)
        inputs = {number: _concatenated(parts) for number, parts in by_kernel_input.items()}
        result = self.stage.kernel.step(self.state, inputs, advance)
        self.state.value(_STORE).put(self.watermarks.dump())
        return result

    def side_packets(self, group: int, result: StepResult) -> Iterator[tuple[int, int, bytes]]:
        return side_packets(self.stage, self.watermarks, self.watermark_before, group, result)


def _concatenated(parts: list[pl.DataFrame]) -> pl.DataFrame:
    """Returns the rows of all parts. Branches of a UNION ALL can have another order of columns."""
    first, *others = parts
    return pl.concat([first, *(each.select(first.columns) for each in others)]) if others else first


def _with_new_rows(allowance: StateLimit, inputs: Iterable[pl.DataFrame]) -> StateLimit:
    """Adds the rows of this batch to an allowance, which was computed from the state before it.
    Otherwise rows of new keys would be evicted in favour of older rows."""
    frames = list(inputs)
    rows, size = allowance.max_rows, allowance.max_bytes
    return replace(
        allowance,
        max_rows=None if rows is None else rows + sum(frame.height for frame in frames),
        max_bytes=None if size is None else size + int(sum(f.estimated_size() for f in frames)),
    )


@dataclass(frozen=True, slots=True)
class _Packet:
    """A packet as the step reads it: the columns of `PACKET_SCHEMA` without `label`."""

    kind: int
    target: int  # its meaning depends on `kind`, see `format`
    sequence: int
    max_time: int | None
    now: int | None
    rows: int
    is_idle: bool | None
    payload: bytes | None
    input_counts: str | None
    partitions: str | None

    @property
    def allowance_bytes(self) -> int | None:
        """The bytes of an allowance, which has no times."""
        return self.max_time


def _packets(rows: Iterator[pd.DataFrame]) -> Iterator[_Packet]:
    names = tuple(name for name in packet_format.PACKET_SCHEMA.names if name != "label")
    for frame in rows:
        for kind, target, sequence, max_time, now, count, is_idle, *texts in zip(
            *(frame[name] for name in names), strict=True
        ):
            yield _Packet(
                int(kind),
                int(target),
                int(sequence),
                None if max_time == packet_format.NO_TIME else int(max_time),
                None if now == packet_format.NO_TIME else int(now),
                int(count),
                None if is_idle == packet_format.UNKNOWN else bool(is_idle),
                *texts,
            )


def _count_heavy_hitters(
    watermarks: WatermarkTracker, spec: InputSpec, frame: pl.DataFrame
) -> None:
    """Adds the rows of an input to the counts of its most frequent keys."""
    if not spec.keys:
        return
    keyed = frame.filter(pl.col(HASH).is_not_null()) if frame[HASH].null_count() else frame
    stored = watermarks.heavy_hitters.get(spec.name)
    found = HeavyHitters.of_data(stored) if stored else HeavyHitters(_HEAVY_HITTERS)
    keys = keyed.select(spec.keys)
    found.add(keyed[HASH].to_numpy(), name=lambda number: ", ".join(map(str, keys.row(number))))
    watermarks.heavy_hitters[spec.name] = found.as_data()
