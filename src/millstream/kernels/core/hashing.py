"""Hashes of values: the same in every process and with every version of the libraries, since they
are kept with state. They find candidates only; whoever looks rows up compares the values."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

Hashes = npt.NDArray[np.uint64]

_ODD = np.uint64(0x9E3779B97F4A7C15)
_PRIME = 0x100000001B3


def plain_zero(value: pl.Expr) -> pl.Expr:
    """-0.0 as 0.0, as it is in Spark where values are compared, under the value's own name."""
    return pl.when(value.ne_missing(0.0)).then(value).otherwise(0.0)


def can_hash(kind: Any) -> bool:
    """Not lists; structs, if they hold none."""
    if isinstance(kind, pl.Struct):
        return all(can_hash(field.dtype) for field in kind.fields)
    return not kind.is_nested()


def hashes(values: pl.Series) -> Hashes:
    """Of values without NULLs."""
    kind = values.dtype
    if isinstance(kind, pl.Struct):
        return _of_fields(values, [field.name for field in kind.fields])
    if kind in {pl.String, pl.Binary}:
        return mixed(_of_bytes(values.cast(pl.Binary)))
    if kind.is_decimal():
        return mixed(_of_bytes(values.cast(pl.String).cast(pl.Binary)))
    if kind.is_float():
        plain = values.cast(pl.Float64).fill_nan(float("nan")).to_numpy() + 0.0  # no -0.0, one NaN
        return mixed(plain.view(np.uint64))
    return mixed(values.to_physical().cast(pl.Int64).to_numpy().view(np.uint64))


def mixed(numbers: Hashes) -> Hashes:
    """Numbers that differ a little, as numbers that differ in about half of their bits."""
    made = numbers + _ODD
    made = (made ^ (made >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    made = (made ^ (made >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return made ^ (made >> np.uint64(31))


def _of_fields(values: pl.Series, names: list[str]) -> Hashes:
    made = np.zeros(values.len(), np.uint64)
    for name in names:
        field = values.struct.field(name)
        own = np.zeros(values.len(), np.uint64)
        own[field.is_not_null().to_numpy()] = hashes(field.drop_nulls())
        made = mixed(made) ^ own
    return mixed(made)


def _of_bytes(values: pl.Series) -> Hashes:
    """A polynomial of each text's bytes, modulo 2^64: sums over the bytes of all texts at once, of
    which each takes its part and moves it to its own beginning."""
    lengths = values.bin.size().to_numpy().astype(np.int64)
    text = np.frombuffer(b"".join(values.to_list()), np.uint8)
    ends = np.cumsum(lengths)
    powers = np.full(text.size + 1, _PRIME, np.uint64)
    powers[0] = 1
    np.multiply.accumulate(powers, out=powers)
    sums = np.zeros(text.size + 1, np.uint64)
    np.cumsum((text.astype(np.uint64) + np.uint64(1)) * powers[:-1], out=sums[1:])
    back = np.full(text.size + 1, pow(_PRIME, -1, 2**64), np.uint64)
    back[0] = 1
    np.multiply.accumulate(back, out=back)
    starts = ends - lengths
    found: Hashes = (sums[ends] - sums[starts]) * back[starts]
    return found
