"""The state host: one Spark stateful processor that runs any kernel.

It owns what a kernel should not know: packets, Spark's state stores, the watermark and its minimum
rule. One call a key group and micro-batch; results leave as rows of four kinds (`PORTS`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from millstream.kernels.base import Clock, Kernel, frames
from millstream.spark import packets
from millstream.spark.state import SparkState
from millstream.temporal import BEGIN_OF_TIME, END_OF_TIME

MAIN, LATE, REJECTED, STATS = 0, 1, 2, 3
PORTS = "_port tinyint, _from int, _blob binary"
_PORT_COLUMNS = ("_port", "_from", "_blob")


@dataclass(frozen=True, slots=True)
class HostInput:
    """One input of the operator: its name in accounts, and its watermark's delay."""

    name: str
    delay: int


class KernelHost(StatefulProcessor):
    def __init__(
        self, kernel: Kernel, inputs: tuple[HostInput, ...], columns: tuple[str, ...]
    ) -> None:
        self._kernel = kernel
        self._inputs = inputs
        self._columns = columns

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._state = SparkState(handle, (("clock", "value"), *self._kernel.stores))

    def handleInputRows(  # noqa: N802 -- Spark's name
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: N803 -- Spark's name
    ) -> Iterator[pd.DataFrame]:
        store = self._state.value("clock")
        progress = _Progress.load(store.get(), self._inputs)
        before = progress.watermark(self._inputs)
        arrived: dict[int, list[pl.DataFrame]] = {}
        for packet in rows:
            for kind, source, top, blob, tally in zip(
                packet["kind"],
                packet["source"],
                packet["top"],
                packet["blob"],
                packet["tally"],
                strict=True,
            ):
                if kind == packets.END_OF_INPUT:
                    progress.ended = True
                    continue
                if tally is not None:
                    progress.add(self._inputs[source].name, json.loads(tally))
                if kind == packets.REJECTED:
                    yield self._packet_row(REJECTED, source, blob)
                    continue
                if not pd.isna(top):
                    progress.tops[source] = max(progress.tops[source], int(top))
                if blob is not None:
                    frame = pl.from_arrow(packets.decode(blob))
                    arrived.setdefault(source, []).append(frame)  # type: ignore[arg-type]
        after = progress.watermark(self._inputs)
        inputs = {source: _one(parts) for source, parts in arrived.items()}
        result = self._kernel.step(self._state, inputs, Clock(before, after))
        store.put(progress.dump())

        for frame in frames(result):
            yield self._main_rows(frame)
        for source, frame in result.late.items():
            if frame.height:
                yield self._packet_row(LATE, source, packets.encode(frame.to_arrow()))
        stats = {
            "group": int(key[0]),
            "before": before,
            "after": after,
            "tops": {i.name: top for i, top in zip(self._inputs, progress.tops, strict=True)},
            "tally": progress.tally,
            "counts": result.counts,
        }
        yield self._packet_row(STATS, 0, json.dumps(stats).encode())

    def _main_rows(self, frame: pl.DataFrame) -> pd.DataFrame:
        table = frame.select(self._columns).to_arrow()
        count = table.num_rows
        ports = {
            "_port": pa.repeat(pa.scalar(MAIN, pa.int8()), count),
            "_from": pa.nulls(count, pa.int32()),
            "_blob": pa.nulls(count, pa.binary()),
        }
        for name, column in ports.items():
            table = table.append_column(name, column)
        return ArrowFrame(table.combine_chunks().to_pandas(types_mapper=pd.ArrowDtype))

    def _packet_row(self, port: int, source: int, blob: bytes) -> pd.DataFrame:
        empty = {name: pd.Series([None], dtype=object) for name in self._columns}
        return pd.DataFrame({**empty, "_port": [port], "_from": [int(source)], "_blob": [blob]})

    def close(self) -> None:
        pass


class _ArrowSeries(pd.Series):  # type: ignore[type-arg]
    """A column that is in Arrow's memory already.

    Spark applies a converter to every value of a nested type; here there is nothing to convert.
    """

    def apply(self, *_: Any, **__: Any) -> _ArrowSeries:
        return self


class ArrowFrame(pd.DataFrame):
    """A frame that reaches Spark without a Python object a value."""

    @property
    def _constructor(self) -> type[ArrowFrame]:
        return ArrowFrame

    @property
    def _constructor_sliced(self) -> type[_ArrowSeries]:
        return _ArrowSeries


@dataclass(slots=True)
class _Progress:
    """How far each input is, and what was counted before the exchange."""

    tops: list[int]
    ended: bool
    tally: dict[str, dict[str, int]]

    @classmethod
    def load(cls, blob: bytes | None, inputs: tuple[HostInput, ...]) -> _Progress:
        if blob is None:
            return cls([BEGIN_OF_TIME] * len(inputs), False, {})
        held = json.loads(blob)
        return cls(held["tops"], held["ended"], held["tally"])

    def dump(self) -> bytes:
        held = {"tops": self.tops, "ended": self.ended, "tally": self.tally}
        return json.dumps(held, separators=(",", ":")).encode()

    def add(self, name: str, counts: dict[str, int]) -> None:
        held = self.tally.setdefault(name, {})
        for what, count in counts.items():
            held[what] = held.get(what, 0) + count

    def watermark(self, inputs: tuple[HostInput, ...]) -> int:
        """The minimum rule: an operator is as far as the slowest of its inputs."""
        if self.ended:
            return END_OF_TIME
        return max(
            BEGIN_OF_TIME,
            min(top - i.delay for top, i in zip(self.tops, inputs, strict=True)),
        )


def _one(parts: list[pl.DataFrame]) -> pl.DataFrame:
    return parts[0] if len(parts) == 1 else pl.concat(parts)
