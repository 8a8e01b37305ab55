"""One step of the state host: packets in, the kernel run once, rows and packets out.

The host owns what a kernel should not know: packets, and the watermark with its minimum rule.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import pandas as pd
import polars as pl
import pyarrow as pa

from millstream.errors import StateError
from millstream.kernels.base import HASH, Clock, StepResult, frames
from millstream.spark import packets
from millstream.spark.arrow_frame import ArrowFrame
from millstream.spark.host import LATE, MAIN, REJECTED, STATS, HostInput, KernelHost
from millstream.temporal import BEGIN_OF_TIME, END_OF_TIME


def step(host: KernelHost, group: int, rows: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    store = host.state.value("clock")
    progress = Progress.load(store.get(), host.inputs, host.signature)
    before = progress.watermark(host.inputs)
    arrived: dict[int, list[pl.DataFrame]] = {}
    for packet in _packets(rows):
        if packet.kind == packets.END_OF_INPUT:
            progress.ended = True
            continue
        progress.hear(host.inputs[packet.source].name, packet)
        if packet.kind == packets.REJECTED:
            yield _packet_row(host.columns, REJECTED, packet.source, cast("bytes", packet.blob))
        elif packet.blob is not None:
            frame = _frame(host.inputs[packet.source], packet.blob)
            arrived.setdefault(packet.source, []).append(frame)
    clock = Clock(before, progress.watermark(host.inputs))
    inputs = {
        source: parts[0] if len(parts) == 1 else pl.concat(parts)
        for source, parts in arrived.items()
    }
    result = host.kernel.step(host.state, inputs, clock)
    store.put(progress.dump())

    for frame in frames(result):
        yield _main_rows(host.columns, frame)
    for source, frame in result.late.items():
        if frame.height:
            yield _packet_row(host.columns, LATE, source, packets.encode(frame.to_arrow()))
    stats = _stats(group, host.inputs, clock, progress, result)
    yield _packet_row(host.columns, STATS, 0, stats)


@dataclass(frozen=True, slots=True)
class _Packet:
    kind: int
    source: int
    top: int | None
    blob: bytes | None
    tally: str | None


def _packets(rows: Iterator[pd.DataFrame]) -> Iterator[_Packet]:
    for frame in rows:
        for kind, source, top, blob, tally in zip(
            frame["kind"], frame["source"], frame["top"], frame["blob"], frame["tally"], strict=True
        ):
            yield _Packet(int(kind), int(source), None if pd.isna(top) else int(top), blob, tally)


def _frame(source: HostInput, blob: bytes) -> pl.DataFrame:
    frame = cast("pl.DataFrame", pl.from_arrow(packets.decode(blob)))
    if source.hash_from is None:
        return frame
    return frame.with_columns(pl.col(source.hash_from).alias(HASH))


def _main_rows(columns: tuple[str, ...], frame: pl.DataFrame) -> pd.DataFrame:
    table = frame.select(columns).to_arrow()
    count = frame.height
    ports = {
        "_port": pa.repeat(pa.scalar(MAIN, pa.int8()), count),
        "_from": pa.nulls(count, pa.int32()),
        "_blob": pa.nulls(count, pa.binary()),
    }
    for name, column in ports.items():
        table = table.append_column(name, column)
    return ArrowFrame.of(table)


def _packet_row(columns: tuple[str, ...], port: int, source: int, blob: bytes) -> pd.DataFrame:
    empty = {name: pd.Series([None], dtype=object) for name in columns}
    return pd.DataFrame({**empty, "_port": [port], "_from": [source], "_blob": [blob]})


def _stats(
    group: int, inputs: tuple[HostInput, ...], clock: Clock, progress: Progress, result: StepResult
) -> bytes:
    stats = {
        "group": group,
        "before": clock.before,
        "after": clock.after,
        "tops": {each.name: top for each, top in zip(inputs, progress.tops, strict=True)},
        "tally": progress.tally,
        "counts": result.counts,
    }
    return json.dumps(stats).encode()


@dataclass(slots=True)
class Progress:
    """How far each input is, and what was counted before the exchange."""

    tops: list[int]
    ended: bool
    tally: dict[str, dict[str, int]]
    signature: dict[str, str]

    @classmethod
    def load(
        cls, blob: bytes | None, inputs: tuple[HostInput, ...], signature: dict[str, str]
    ) -> Progress:
        if blob is None:
            return cls([BEGIN_OF_TIME] * len(inputs), False, {}, signature)
        held = json.loads(blob)
        _refuse_change(held["signature"], signature)
        return cls(held["tops"], held["ended"], held["tally"], signature)

    def dump(self) -> bytes:
        held = {
            "tops": self.tops,
            "ended": self.ended,
            "tally": self.tally,
            "signature": self.signature,
        }
        return json.dumps(held, separators=(",", ":")).encode()

    def hear(self, name: str, packet: _Packet) -> None:
        if packet.tally is not None:
            held = self.tally.setdefault(name, {})
            for what, count in json.loads(packet.tally).items():
                held[what] = held.get(what, 0) + count
        if packet.top is not None:
            self.tops[packet.source] = max(self.tops[packet.source], packet.top)

    def watermark(self, inputs: tuple[HostInput, ...]) -> int:
        """The minimum rule: an operator is as far as the slowest of its inputs."""
        if self.ended:
            return END_OF_TIME
        slowest = min(top - each.delay for top, each in zip(self.tops, inputs, strict=True))
        return max(BEGIN_OF_TIME, slowest)


def _refuse_change(old: dict[str, str], new: dict[str, str]) -> None:
    changes = [
        f"{what}: {old.get(what, 'none')} -> {new.get(what, 'none')}"
        for what in dict.fromkeys([*old, *new])
        if old.get(what) != new.get(what)
    ]
    if changes:
        raise StateError(
            "MS-STATE-CHANGED",
            f"the checkpoint was made by another join: {'; '.join(changes)}.",
            fix="Undo the change to go on, or start anew with another checkpoint.",
        )
