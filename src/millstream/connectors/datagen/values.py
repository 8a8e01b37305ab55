"""Generates values as a function of seed, column and row number, so that a row can be repeated."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millstream.connectors.datagen.field import FLOATS, INTEGERS, TIMES, Field
from millstream.connectors.dead_letters import BAD

Rows = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64] | npt.NDArray[np.float64]
_CHARACTERS = np.frombuffer(b"0123456789abcdefghijklmnopqrstuvwxyz", np.uint8)


@dataclass(frozen=True)
class RandomBits:
    """64 random bits of each row: SplitMix64 of the row number."""

    seed: str

    @cached_property
    def _offset(self) -> np.uint64:
        return np.uint64(
            int.from_bytes(hashlib.blake2b(self.seed.encode(), digest_size=8).digest(), "little")
        )

    def bits(self, rows: Rows) -> Rows:
        found = (rows + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) + self._offset
        found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return found ^ (found >> np.uint64(31))

    def uniform(self, rows: Rows) -> npt.NDArray[np.float64]:
        """From 0 (included) to 1 (excluded)."""
        return (self.bits(rows) >> np.uint64(11)).astype(np.float64) * 2.0**-53


@dataclass(frozen=True)
class FieldValues:
    """The values of one column. `type` is its Arrow type."""

    field: Field
    type: pa.DataType
    seed: int

    def of(self, rows: Rows, times: npt.NDArray[np.int64]) -> pa.Array:
        """Returns the values of rows; `times` are those of the rows in microseconds."""
        values = self._values(rows, times)
        if not self.field.null_rate:
            return values
        missing = self._random("null").uniform(rows) < self.field.null_rate
        return pc.if_else(pa.array(missing), pa.scalar(None, values.type), values)

    def _values(self, rows: Rows, times: npt.NDArray[np.int64]) -> pa.Array:
        field = self.field
        if field.type in TIMES:
            return self._times(rows, times)
        if field.type == "boolean":
            return pa.array(self._random().bits(rows) & np.uint64(1) == 1)
        if field.values:
            return pa.array(list(field.values), self.type).take(pa.array(self._numbers(rows)))
        if field.length:
            return self._text(rows)
        numbers = self._sequence(rows) if field.kind == "sequence" else self._numbers(rows)
        if field.type in INTEGERS or field.type in FLOATS or field.type == "string":
            return pa.array(numbers).cast(self.type)
        return _decimals(numbers, self.type)

    def _sequence(self, rows: Rows) -> npt.NDArray[np.int64]:
        return (rows + np.uint64(int(self.field.low) % 2**64)).view(np.int64)

    def _random(self, use: str = "") -> RandomBits:
        return RandomBits(f"{self.seed}/{self.field.name.lower()}/{use}")

    def _times(self, rows: Rows, times: npt.NDArray[np.int64]) -> pa.Array:
        if self.field.max_past:
            past = self._random().bits(rows) % np.uint64(self.field.max_past + 1)
            times = times - past.view(np.int64)
        found = pa.array(times).cast(pa.timestamp("us"))
        return found.cast(pa.date32() if self.field.type == "date" else self.type, safe=False)

    def _numbers(self, rows: Rows) -> Numbers:
        field, high = self.field, self.field.high or 0
        is_float = field.type in FLOATS
        if field.distribution == "zipf":
            ranks = np.searchsorted(self._zipf, self._random().uniform(rows), side="right")
            return int(field.low) + np.minimum(ranks, len(self._zipf) - 1).astype(np.int64)
        if field.distribution == "uniform":
            if is_float:
                return field.low + self._random().uniform(rows) * (high - field.low)
            bits, span = self._random().bits(rows), int(high) - int(field.low) + 1
            drawn = bits if span == 2**64 else bits % np.uint64(span)
            return (drawn + np.uint64(int(field.low) % 2**64)).view(np.int64)
        drawn_floats = np.clip(self._continuous(rows), field.low, high)
        return drawn_floats if is_float else np.rint(drawn_floats).astype(np.int64)

    def _continuous(self, rows: Rows) -> npt.NDArray[np.float64]:
        field = self.field
        distance = -np.log1p(-self._random().uniform(rows))
        if field.distribution == "exponential":
            return field.low + distance * (field.mean - field.low)
        angle = 2 * np.pi * self._random("angle").uniform(rows)
        found: npt.NDArray[np.float64] = field.mean + field.stddev * np.sqrt(2 * distance) * np.cos(
            angle
        )
        return found

    @cached_property
    def _zipf(self) -> npt.NDArray[np.float64]:
        """The cumulative probabilities of the ranks."""
        ranks = np.arange(1, int(self.field.high or 0) - int(self.field.low) + 2, dtype=np.float64)
        weights = np.cumsum(ranks**-self.field.skew)
        found: npt.NDArray[np.float64] = weights / weights[-1]
        return found

    def _text(self, rows: Rows) -> pa.Array:
        length, words = self.field.length, -(-self.field.length // 8)
        columns = [self._random(str(number)).bits(rows) for number in range(words)]
        content = np.column_stack(columns).view(np.uint8)[:, :length]
        if self.field.type == "string":
            content = _CHARACTERS[content % len(_CHARACTERS)]
        offsets = np.arange(len(rows) + 1, dtype=np.int32) * length
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(content))]
        kind = pa.string() if self.field.type == "string" else pa.binary()
        return pa.Array.from_buffers(kind, len(rows), buffers)


def _decimals(
    unscaled: npt.NDArray[np.int64] | npt.NDArray[np.float64], kind: pa.DataType
) -> pa.Array:
    low = unscaled.astype(np.int64)
    both = np.column_stack([low, np.where(low < 0, -1, 0)]).astype(np.int64)
    return pa.Array.from_buffers(kind, len(low), [None, pa.py_buffer(np.ascontiguousarray(both))])


@dataclass(frozen=True)
class Generator:
    """The rows of a source. `step`: microseconds between two rows."""

    columns: tuple[FieldValues, ...]
    step: float

    def rows(self, names: Sequence[str], first: int, end: int, base: int) -> pa.RecordBatch:
        """Returns columns of the rows from `first` to before `end`, and BAD, which is NULL. Row 0
        has the time `base`."""
        numbers = np.arange(first, end, dtype=np.uint64)
        times = base + (numbers.astype(np.float64) * self.step).astype(np.int64)
        columns = {each.field.name: each for each in self.columns}
        arrays = [columns[name].of(numbers, times) for name in names]
        good = pa.nulls(len(numbers), pa.string())
        return pa.RecordBatch.from_arrays([*arrays, good], [*names, BAD])
