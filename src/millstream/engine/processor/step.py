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
from millstream.engine.shuffle import format as packets
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

# The store of the watermarks. A historical name, which never changes: the identity of the state is
# in it, so that a processor of another version rejects the state and does not take it for a new
# one.
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
            each.read_message(packet)
        stage_number, input_number = divmod(packet.target, INPUTS)
        if packet.kind >= packets.PASS_THROUGH:
            kind = packet.kind - packets.PASS_THROUGH
            yield packet_row(columns, kind, packet.target, cast("bytes", packet.payload))
        elif packet.kind == packets.REJECTED_ROWS:
            origin = origin_of(stages[stage_number].stage, input_number)
            yield packet_row(columns, REJECTED, origin, cast("bytes", packet.payload))
        elif packet.kind == packets.ROWS:
            stages[stage_number].add_packet(input_number, packet)
    for stage_number, each in enumerate(stages):
        result = each.run()
        if each.stage.has_link:
            stages[stage_number + 1].add_results(each, nonempty_frames(result))
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
    before: int  # the watermark before this step
    rows: dict[int, list[pl.DataFrame]] = field(default_factory=dict)  # by input
    allowance: StateLimit | None = None

    @classmethod
    def begin(cls, stage: Stage, state: SparkState) -> _StageStep:
        stored = state.value(_STORE).get()
        watermarks = WatermarkTracker.load(stored, stage.inputs, stage.identity)
        return cls(stage, state, watermarks, watermarks.watermark)

    def read_message(self, packet: _Packet) -> None:
        """Reads what a packet says to every operator: processing time, partitions of sources, the
        end of input, and an allowance if it is for this operator."""
        self.watermarks.set_processing_time(packet.now)
        if packet.kind == packets.END_OF_INPUT:
            self.watermarks.end(**json.loads(packet.partitions or "{}"))
        elif packet.kind == packets.KNOWN_PARTITION:
            self.watermarks.add_partition(**json.loads(packet.partitions or "{}"))
        is_own = packet.kind == packets.ALLOWANCE and packet.target == self.stage.number
        if is_own and self.stage.evicts:
            rows = None if packet.rows == packets.NO_LIMIT else packet.rows
            self.allowance = StateLimit(rows, packet.max_time, OnLimit.EVICT)

    def add_packet(self, source: int, packet: _Packet) -> None:
        """Adds the rows of a packet to an input, and the progress of its source."""
        partitions = json.loads(packet.partitions) if packet.partitions else None
        self.watermarks.record_chunk(
            source, packet.max_time, packet.rows, idle=packet.is_idle, partitions=partitions
        )
        self.watermarks.count(source, packet.input_counts)
        if packet.payload is not None:
            frame = cast("pl.DataFrame", pl.from_arrow(packets.decode(packet.payload)))
            self._add(source, frame)

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
        max_time = None if progress.watermark == packets.NO_TIME else progress.watermark
        self.watermarks.record_chunk(link.input, max_time, count, idle=progress.is_idle)
        self.watermarks.count(link.input, json.dumps({"in": count}))

    def _add(self, source: int, frame: pl.DataFrame) -> None:
        spec = self.stage.inputs[source]
        copies = [pl.col(same).alias(name) for name, same in spec.copies]
        if spec.hash_from is not None:
            copies.append(pl.col(spec.hash_from).alias(HASH))
        if copies:
            frame = frame.with_columns(copies)
        self.rows.setdefault(source, []).append(frame)

    def run(self) -> StepResult:
        """Advances the watermark and runs the kernel once, over the rows of all inputs."""
        frames = {source: _concatenated(parts) for source, parts in self.rows.items()}
        limit, enforces_limit = self.stage.default_limit, self.allowance is not None
        if self.allowance is not None:
            limit = _with_new_rows(self.allowance, frames.values())
        advance = WatermarkAdvance(self.before, self.watermarks.advance(), limit, enforces_limit)
        branches: dict[int, list[pl.DataFrame]] = {}
        for source, rows in frames.items():
            frame, spec = rows, self.stage.inputs[source]
            _count_heavy_hitters(self.watermarks, spec, frame)
            if spec.wall_clock:
                frame = frame.with_columns(pl.lit(self.watermarks.now, pl.Int64).alias(TIME))
            if spec.keeps_origin:
                frame = frame.with_columns(pl.lit(source, pl.Int32).alias(BRANCH))
            branches.setdefault(self.stage.kernel_input(source), []).append(frame)
        inputs = {number: _concatenated(parts) for number, parts in branches.items()}
        result = self.stage.kernel.step(self.state, inputs, advance)
        self.state.value(_STORE).put(self.watermarks.dump())
        return result

    def side_packets(self, group: int, result: StepResult) -> Iterator[tuple[int, int, bytes]]:
        return side_packets(self.stage, self.watermarks, self.before, group, result)


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
    target: int  # stage * INPUTS + input
    sequence: int
    max_time: int | None
    now: int | None
    rows: int
    is_idle: bool | None
    payload: bytes | None
    input_counts: str | None
    partitions: str | None


def _packets(rows: Iterator[pd.DataFrame]) -> Iterator[_Packet]:
    names = tuple(name for name in packets.PACKET_SCHEMA.names if name != "label")
    for frame in rows:
        for kind, target, sequence, max_time, now, count, is_idle, *texts in zip(
            *(frame[name] for name in names), strict=True
        ):
            yield _Packet(
                int(kind),
                int(target),
                int(sequence),
                None if max_time == packets.NO_TIME else int(max_time),
                None if now == packets.NO_TIME else int(now),
                int(count),
                None if is_idle == packets.UNKNOWN else bool(is_idle),
                *texts,
            )


def _count_heavy_hitters(
    watermarks: WatermarkTracker, source: InputSpec, frame: pl.DataFrame
) -> None:
    """Adds the rows of an input to the counts of its most frequent keys."""
    if not source.keys:
        return
    keyed = frame.filter(pl.col(HASH).is_not_null()) if frame[HASH].null_count() else frame
    stored = watermarks.heavy_hitters.get(source.name)
    found = HeavyHitters.of_data(stored) if stored else HeavyHitters(_HEAVY_HITTERS)
    keys = keyed.select(source.keys)
    found.add(keyed[HASH].to_numpy(), name=lambda number: ", ".join(map(str, keys.row(number))))
    watermarks.heavy_hitters[source.name] = found.as_data()
