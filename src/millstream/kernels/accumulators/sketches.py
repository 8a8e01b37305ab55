"""approx_count_distinct and approx_percentile, with sketches of Apache DataSketches.

Most groups are small. Their values are stored as a list, which is exact and needs no call per
group; a sketch is created only for long lists.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

import datasketches  # type: ignore[import-untyped]
import numpy as np
import polars as pl

from millstream.kernels.accumulators.accumulator import Accumulator
from millstream.kernels.core.hashing import normalize_zero

_NANS = struct.Struct("<q")


class _Sketch(Accumulator):
    longest = 512  # values of a group that are stored as a list

    @property
    def _names(self) -> tuple[str, str]:
        return self.column("values"), self.column("sketch")

    def fold(self, _rows: pl.DataFrame) -> list[pl.Expr]:
        values, sketch = self._names
        return [self._collected(pl.col(values)), pl.lit(None, pl.List(pl.Binary)).alias(sketch)]

    def merge(self, _partials: pl.DataFrame) -> list[pl.Expr]:
        values, sketch = self._names
        return [self._collected(pl.col(values).explode()), pl.col(sketch).drop_nulls()]

    def _collected(self, values: pl.Expr) -> pl.Expr:
        return values.drop_nulls()

    def settle(self, partials: pl.DataFrame) -> pl.DataFrame:
        """Converts long lists to sketches, and merges the sketches of each group."""
        values, sketch = self._names
        if partials.schema[sketch] == pl.Binary:
            return partials
        has_sketch = pl.col(sketch).list.len().fill_null(0) > 0
        long = (pl.col(values).list.len() > self.longest) | has_sketch
        rows = partials.select(long.arg_true()).to_series()
        blobs = pl.Series(sketch, [None], dtype=pl.Binary).new_from_index(0, partials.height)
        lists = partials[values]
        if rows.len():
            made = [
                self._build_sketch(old or [], new)
                for old, new in zip(
                    partials[sketch].gather(rows).to_list(), lists.gather(rows), strict=True
                )
            ]
            blobs = blobs.scatter(rows, made)
            empty = pl.Series([[]], dtype=lists.dtype)
            flags = pl.Series(np.isin(np.arange(partials.height), rows.to_numpy()))
            lists = empty.new_from_index(0, partials.height).zip_with(flags, lists)
        return partials.with_columns(lists.alias(values), blobs.alias(sketch))

    def _build_sketch(self, sketches: list[bytes], values: pl.Series) -> bytes:
        raise NotImplementedError

    def _with_sketches(
        self, partials: pl.DataFrame, exact: pl.Expr, of: Callable[[bytes], Any]
    ) -> pl.Expr:
        """Computes values from lists, and from the sketch for groups that have one."""
        sketch = partials[self._names[1]]
        found = partials.select(exact.alias("v")).to_series()
        rows = sketch.is_not_null().arg_true()
        if rows.len():
            made = pl.Series([of(blob) for blob in sketch.gather(rows)], dtype=found.dtype)
            picked = np.arange(found.len())
            picked[rows.to_numpy()] = found.len() + np.arange(rows.len())
            found = found.append(made).gather(picked)
        return pl.lit(found)


class DistinctSketch(_Sketch):
    """A HyperLogLog sketch. It hashes numbers and strings itself, always in the same way; values of
    other types are converted to strings."""

    @property
    def _size(self) -> int:
        """The logarithm of the number of the sketch's registers."""
        error = self.call.parameters[0] if self.call.parameters else 0.05
        return min(max(math.ceil(2 * math.log2(1.04 / error)), 12), 21)

    def column(self, what: str) -> str:
        return f"distinct {what}:{self.stem}/{self._size}"

    def prepare(self, rows: pl.DataFrame) -> list[pl.Expr]:
        kind, value = rows.schema[str(self.call.argument)], self.value
        if kind.is_float():
            value = normalize_zero(value.cast(pl.Float64))
        elif kind.is_integer() or kind.is_temporal():
            value = value.to_physical().cast(pl.Int64)
        elif kind == pl.Binary:
            value = value.bin.encode("hex")
        elif kind.is_nested():
            value = pl.struct(value).struct.json_encode()
        else:
            value = value.cast(pl.String)
        return [value.alias(self._names[0])]

    def _collected(self, values: pl.Expr) -> pl.Expr:
        return values.drop_nulls().unique(maintain_order=True)

    def _build_sketch(self, sketches: list[bytes], values: pl.Series) -> bytes:
        union = datasketches.hll_union(self._size)
        for blob in sketches:
            union.update(datasketches.hll_sketch.deserialize(blob))
        fresh = datasketches.hll_sketch(self._size, datasketches.HLL_8)
        for value in values:
            fresh.update(value)
        union.update(fresh)
        made: bytes = union.get_result(datasketches.HLL_8).serialize_compact()
        return made

    def finish(self, partials: pl.DataFrame, _kind: Any) -> pl.Expr:
        exact = pl.col(self._names[0]).list.len().cast(pl.Int64)
        return self._with_sketches(partials, exact, _distinct)


def _distinct(blob: bytes) -> int:
    estimate: float = datasketches.hll_sketch.deserialize(blob).get_estimate()
    return round(estimate)


class QuantileSketch(_Sketch):
    """A KLL sketch of doubles: its quantiles are values from the input.

    The parameters are one or more fractions, then optionally the accuracy: the error of a rank is
    at most about 1 / accuracy of the number of rows.
    """

    def __init__(self, call: Any, weighted: bool, ansi: bool) -> None:
        super().__init__(call, weighted, ansi)
        given = list(call.parameters) or [0.5]
        accuracy = given.pop() if len(given) > 1 and given[-1] > 1 else 10_000
        self._fractions = given
        self._k = min(max(math.ceil((2.296 * accuracy) ** (1 / 0.9021)), 200), 65_535)
        self._accuracy = accuracy

    def column(self, what: str) -> str:
        return f"quantile {what}:{self.stem}/{self._k}"

    def prepare(self, _rows: pl.DataFrame) -> list[pl.Expr]:
        return [self.value.cast(pl.Float64).alias(self._names[0])]

    def _build_sketch(self, sketches: list[bytes], values: pl.Series) -> bytes:
        whole, nans = datasketches.kll_doubles_sketch(self._k), int(values.is_nan().sum())
        for blob in sketches:
            part, more = _quantiles(blob)
            whole.merge(part)
            nans += more
        whole.update(values.to_numpy(writable=True))
        return _NANS.pack(nans) + bytes(whole.serialize())

    def finish(self, partials: pl.DataFrame, kind: Any) -> pl.Expr:
        values = pl.col(self._names[0]).list.sort()
        count = values.list.len().cast(pl.Int64)
        many = isinstance(kind, pl.List) or len(self._fractions) > 1
        picks = [
            values.list.get(((count * part).ceil().cast(pl.Int64) - 1).clip(0), null_on_oob=True)
            for part in self._fractions
        ]
        exact = pl.when(count > 0).then(pl.concat_list(picks)) if many else picks[0]

        def of(blob: bytes) -> Any:
            sketch, nans = _quantiles(blob)
            found = [_quantile(sketch, nans, part) for part in self._fractions]
            return found if many else found[0]

        return self._with_sketches(partials, exact, of)


def _quantiles(blob: bytes) -> tuple[Any, int]:
    """A sketch, and how many NaNs there were, which it would pass over."""
    (nans,) = _NANS.unpack_from(blob)
    return datasketches.kll_doubles_sketch.deserialize(blob[_NANS.size :]), nans


def _quantile(sketch: Any, nans: int, part: float) -> float:
    """NaN is greater than all other count_columns, as in Spark."""
    if nans:
        rank = math.ceil(part * (sketch.n + nans))
        if rank > sketch.n:
            return math.nan
        part = rank / sketch.n
    return float(sketch.get_quantile(part, True))
