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

from millstream.kernels.base import HASH, LATENESS, TIME, Clock, StepResult, frames
from millstream.kernels.heavy import HeavyKeys
from millstream.spark import packets
from millstream.spark.arrow_frame import ArrowFrame
from millstream.spark.clock import HostInput, Progress
from millstream.spark.host import INPUTS, LATE, MAIN, REJECTED, STATS, KernelHost


def step(host: KernelHost, group: int, rows: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    store = host.state.value("clock")
    progress = Progress.load(store.get(), host.inputs, host.signature)
    before = progress.watermark
    arrived: dict[int, list[pl.DataFrame]] = {}
    ended = False
    for packet in _packets(rows):
        progress.tick(packet.now)
        if packet.kind >= packets.PASSED:
            port = packet.kind - packets.PASSED
            yield _packet_row(host.columns, port, packet.source, cast("bytes", packet.blob))
        elif packet.kind == packets.END_OF_INPUT:
            ended = True
        elif packet.kind == packets.REJECTED:
            origin = _origin(host, packet.source)
            yield _packet_row(host.columns, REJECTED, origin, cast("bytes", packet.blob))
        elif packet.kind == packets.ROWS:
            progress.hear(packet.source, packet.top, packet.rows, idle=packet.silent)
            progress.count(packet.source, packet.tally)
            if packet.blob is not None:
                frame = _frame(host.inputs[packet.source], packet.blob)
                arrived.setdefault(packet.source, []).append(frame)
    if ended:
        progress.end()
    clock = Clock(before, progress.advance())
    inputs = {
        source: parts[0] if len(parts) == 1 else pl.concat(parts)
        for source, parts in arrived.items()
    }
    for source, frame in inputs.items():
        _weigh(progress, host.inputs[source], frame)
    result = host.kernel.step(host.state, inputs, clock)
    store.put(progress.dump())

    for frame in frames(result):
        yield _main_rows(host.columns, frame)
    for source, found in result.late.items():
        frame = _late_rows(host.inputs[source], found)
        if frame.height:
            origin = _origin(host, source)
            yield _packet_row(host.columns, LATE, origin, packets.encode(frame.to_arrow()))
    stats = _stats(host, group, clock, progress, result)
    yield _packet_row(host.columns, STATS, _origin(host, 0), stats)


def _origin(host: KernelHost, source: int) -> int:
    return host.number * INPUTS + source


@dataclass(frozen=True, slots=True)
class _Packet:
    kind: int
    source: int
    top: int | None
    now: int | None
    rows: int
    silent: bool
    blob: bytes | None
    tally: str | None


def _packets(rows: Iterator[pd.DataFrame]) -> Iterator[_Packet]:
    names = ("kind", "source", "top", "now", "rows", "silent", "blob", "tally")
    for frame in rows:
        for kind, source, top, now, count, silent, blob, tally in zip(
            *(frame[name] for name in names), strict=True
        ):
            yield _Packet(
                int(kind),
                int(source),
                None if top == packets.NO_TIME else int(top),
                None if now == packets.NO_TIME else int(now),
                int(count),
                bool(silent),
                blob,
                tally,
            )


def _frame(source: HostInput, blob: bytes) -> pl.DataFrame:
    frame = cast("pl.DataFrame", pl.from_arrow(packets.decode(blob)))
    if source.hash_from is None:
        return frame
    return frame.with_columns(pl.col(source.hash_from).alias(HASH))


def _weigh(progress: Progress, source: HostInput, frame: pl.DataFrame) -> None:
    """Count the rows of the heaviest keys."""
    if not source.keys:
        return
    keyed = frame.filter(pl.col(HASH).is_not_null()) if frame[HASH].null_count() else frame
    held = progress.heavy.get(source.name)
    heavy = HeavyKeys.of_data(held) if held else HeavyKeys(_HEAVY)
    keys = keyed.select(source.keys)
    heavy.add(keyed[HASH].to_numpy(), name=lambda number: ", ".join(map(str, keys.row(number))))
    progress.heavy[source.name] = heavy.as_data()


_HEAVY = 16


def _late_rows(source: HostInput, frame: pl.DataFrame) -> pl.DataFrame:
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
    host: KernelHost, group: int, clock: Clock, progress: Progress, result: StepResult
) -> bytes:
    stats = {
        "operator": host.number,
        "group": group,
        "before": clock.before,
        "after": clock.after,
        "silent": len(progress.idle) == len(host.inputs),
        "idle": progress.idle,
        "derived": [each.name for each in host.inputs if each.derived],
        "tops": progress.tops,
        "tally": progress.tally,
        "heavy": progress.heavy,
        "counts": result.counts,
    }
    return json.dumps(stats).encode()
