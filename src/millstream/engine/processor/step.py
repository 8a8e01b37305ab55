"""One step of the state host: packets in, each kernel run once, rows and packets out.

The host owns what a kernel should not know: packets, and the watermark with its minimum rule.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import cast

import pandas as pd
import polars as pl
import pyarrow as pa

from millstream.engine.processor.processor import KernelProcessor, Stage
from millstream.engine.processor.state_adapter import SparkState
from millstream.engine.processor.watermarks import InputSpec, WatermarkTracker
from millstream.engine.runtime.arrow_frame import ArrowFrame
from millstream.engine.shuffle import packer as packets
from millstream.engine.shuffle.column_names import (
    INPUTS,
    LATE,
    MAIN,
    ORIGIN,
    PAYLOAD,
    REJECTED,
    RELAYED,
    ROW_KIND,
    STATS,
)
from millstream.engine.shuffle.spark_hashes import xxhash64
from millstream.kernels.core.heavy_hitters import HeavyHitters
from millstream.kernels.core.kernel import (
    HASH,
    LATENESS,
    TIME,
    StepResult,
    WatermarkAdvance,
    nonempty_frames,
)
from millstream.temporal import OnLimit, StateLimit


def step(host: KernelProcessor, group: int, rows: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    stages = [_Step.begin(*each) for each in zip(host.stages, host.states, strict=True)]
    for packet in sorted(_packets(rows), key=lambda packet: packet.place):
        for each in stages:
            each.receive(packet)
        place, source = divmod(packet.source, INPUTS)
        if packet.kind >= packets.PASS_THROUGH:
            port = packet.kind - packets.PASS_THROUGH
            yield _packet_row(host.columns, port, packet.source, cast("bytes", packet.payload))
        elif packet.kind == packets.REJECTED:
            origin = stages[place].origin(source)
            yield _packet_row(host.columns, REJECTED, origin, cast("bytes", packet.payload))
        elif packet.kind == packets.ROWS:
            stages[place].take(source, packet)
    for place, each in enumerate(stages):
        result = each.run()
        if each.stage.has_link:
            stages[place + 1].read(each, nonempty_frames(result))
        else:
            for frame in nonempty_frames(result):
                yield _main_rows(host.columns, frame)
        for port, origin, payload in each.said(group, result):
            yield _packet_row(host.columns, port, origin, payload)


@dataclass(slots=True)
class _Step:
    """One stage's part of the step."""

    stage: Stage
    state: SparkState
    watermarks: WatermarkTracker
    before: int
    arrived: dict[int, list[pl.DataFrame]] = field(default_factory=dict)
    allowance: StateLimit | None = None

    @classmethod
    def begin(cls, stage: Stage, state: SparkState) -> _Step:
        stored = state.value("clock").get()
        watermarks = WatermarkTracker.load(stored, stage.inputs, stage.identity)
        return cls(stage, state, watermarks, watermarks.watermark)

    def take(self, source: int, packet: _Packet) -> None:
        partitions = json.loads(packet.partitions) if packet.partitions else None
        self.watermarks.record_chunk(
            source, packet.max_time, packet.rows, idle=packet.is_idle, partitions=partitions
        )
        self.watermarks.count(source, packet.input_counts)
        if packet.payload is not None:
            frame = cast("pl.DataFrame", pl.from_arrow(packets.decode(packet.payload)))
            self._add(source, frame)

    def receive(self, packet: _Packet) -> None:
        """Reads what a packet says to every operator: processing time, partitions of sources, the
        end of input, and an allowance if it is for this operator."""
        self.watermarks.set_processing_time(packet.now)
        if packet.kind == packets.END_OF_INPUT:
            self.watermarks.end(**json.loads(packet.partitions or "{}"))
        elif packet.kind == packets.NEW_PARTITION:
            self.watermarks.add_partition(**json.loads(packet.partitions or "{}"))
        is_own = packet.kind == packets.ALLOWANCE and packet.source == self.stage.number
        if is_own and self.stage.evicts:
            rows = None if packet.rows == packets.NO_LIMIT else packet.rows
            self.allowance = StateLimit(rows, packet.max_time, OnLimit.EVICT)

    def read(self, upstream: _Step, results: Iterable[pl.DataFrame]) -> None:
        """What the stage before this one gives is one of this one's inputs."""
        feed, told = upstream.stage.feed, upstream.watermarks
        assert feed is not None
        columns = [pl.col(old).alias(new) for new, old in feed.renamed]
        read = 0
        for result in results:
            read += result.height
            rows = result.select(columns)
            if feed.hashed:
                hashes = xxhash64(rows.select(feed.hashed).to_arrow().columns)
                rows = rows.with_columns(pl.Series(HASH, hashes))
            self._add(feed.into, rows if feed.fold is None else feed.fold(rows))
        max_time = None if told.watermark == packets.NO_TIME else told.watermark
        self.watermarks.record_chunk(feed.into, max_time, read, idle=told.is_idle)
        self.watermarks.count(feed.into, json.dumps({"in": read}))

    def _add(self, source: int, frame: pl.DataFrame) -> None:
        known = self.stage.inputs[source]
        copies = [pl.col(same).alias(name) for name, same in known.copies]
        if known.hash_from is not None:
            copies.append(pl.col(known.hash_from).alias(HASH))
        if copies:
            frame = frame.with_columns(copies)
        self.arrived.setdefault(source, []).append(frame)

    def run(self) -> StepResult:
        inputs = {
            source: parts[0] if len(parts) == 1 else pl.concat(parts)
            for source, parts in self.arrived.items()
        }
        limit, trims = self.stage.share, self.allowance is not None
        if self.allowance is not None:
            limit = _with_arrivals(self.allowance, inputs.values())
        clock = WatermarkAdvance(self.before, self.watermarks.advance(), limit, trims)
        for source, frame in inputs.items():
            known = self.stage.inputs[source]
            if known.wall_clock:
                inputs[source] = frame.with_columns(
                    pl.lit(self.watermarks.now, pl.Int64).alias(TIME)
                )
            _weigh(self.watermarks, known, frame)
        result = self.stage.kernel.step(self.state, inputs, clock)
        self.state.value("clock").put(self.watermarks.dump())
        return result

    def origin(self, source: int) -> int:
        return self.stage.number * INPUTS + source

    def said(self, group: int, result: StepResult) -> Iterator[tuple[int, int, bytes]]:
        """What comes out beside the result: late rows, packets of the result, and statistics."""
        for source, found in result.late.items():
            frame = _late_rows(self.stage.inputs[source], found)
            if frame.height:
                yield LATE, self.origin(source), packets.encode(frame.to_arrow())
        for frame in nonempty_frames(result) if self.stage.relayed else ():
            for part in frame.select(self.stage.relayed).iter_slices(packets.RELAYED_ROWS):
                yield RELAYED, self.origin(0), packets.encode(part.to_arrow())
        yield STATS, self.origin(0), self._stats(group, result)

    def _stats(self, group: int, result: StepResult) -> bytes:
        watermarks = self.watermarks
        stats = {
            "operator": self.stage.number,
            "group": group,
            "before": self.before,
            "after": watermarks.watermark,
            "is_idle": watermarks.is_idle,
            "idle_inputs": watermarks.idle_inputs,
            "derived": [each.name for each in self.stage.inputs if each.derived],
            "max_times": watermarks.max_times,
            "input_counts": watermarks.input_counts,
            "heavy_hitters": watermarks.heavy_hitters,
            "counts": result.counts,
        }
        return json.dumps(stats).encode()


def _with_arrivals(allowance: StateLimit, arrived: Iterable[pl.DataFrame]) -> StateLimit:
    """Adds the rows of this batch to an allowance, which was computed from the state before it.
    Otherwise rows of new keys would be evicted in favour of older rows."""
    arrivals = list(arrived)
    rows, size = allowance.max_rows, allowance.max_bytes
    return replace(
        allowance,
        max_rows=None if rows is None else rows + sum(frame.height for frame in arrivals),
        max_bytes=None if size is None else size + int(sum(f.estimated_size() for f in arrivals)),
    )


@dataclass(frozen=True, slots=True)
class _Packet:
    kind: int
    source: int
    place: int
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
        for kind, source, place, max_time, now, count, is_idle, *texts in zip(
            *(frame[name] for name in names), strict=True
        ):
            yield _Packet(
                int(kind),
                int(source),
                int(place),
                None if max_time == packets.NO_TIME else int(max_time),
                None if now == packets.NO_TIME else int(now),
                int(count),
                None if is_idle == packets.UNKNOWN else bool(is_idle),
                *texts,
            )


def _weigh(watermarks: WatermarkTracker, source: InputSpec, frame: pl.DataFrame) -> None:
    """Count the rows of the heaviest keys."""
    if not source.keys:
        return
    keyed = frame.filter(pl.col(HASH).is_not_null()) if frame[HASH].null_count() else frame
    held = watermarks.heavy_hitters.get(source.name)
    heavy_hitters = HeavyHitters.of_data(held) if held else HeavyHitters(_HEAVY)
    keys = keyed.select(source.keys)
    heavy_hitters.add(
        keyed[HASH].to_numpy(), name=lambda number: ", ".join(map(str, keys.row(number)))
    )
    watermarks.heavy_hitters[source.name] = heavy_hitters.as_data()


_HEAVY = 16


def _late_rows(source: InputSpec, frame: pl.DataFrame) -> pl.DataFrame:
    """Late rows as they are put out, each once. Those of a window join came with their own time
    beside that of their window: how late they are goes by the former. A row that is in several
    windows is late with the last."""
    if packets.OWN in frame.columns:  # it is late in every group that it was sent to
        frame = frame.filter(pl.col(packets.OWN)).drop(packets.OWN)
    if packets.PROGRESS not in frame.columns:
        return frame
    ahead = pl.col(TIME) - pl.col(packets.PROGRESS)
    last = frame.filter(ahead >= source.last_window)
    return last.with_columns(pl.col(LATENESS) + ahead).drop(packets.PROGRESS)


def _main_rows(columns: tuple[str, ...], frame: pl.DataFrame) -> pd.DataFrame:
    table = frame.select(columns).to_arrow()
    count = frame.height
    ports = {
        ROW_KIND: pa.repeat(pa.scalar(MAIN, pa.int8()), count),
        ORIGIN: pa.nulls(count, pa.int32()),
        PAYLOAD: pa.nulls(count, pa.binary()),
    }
    for name, column in ports.items():
        table = table.append_column(name, column)
    return ArrowFrame.of(table)


def _packet_row(columns: tuple[str, ...], port: int, source: int, payload: bytes) -> pd.DataFrame:
    empty = {name: pd.Series([None], dtype=object) for name in columns}
    return pd.DataFrame({**empty, ROW_KIND: [port], ORIGIN: [source], PAYLOAD: [payload]})
