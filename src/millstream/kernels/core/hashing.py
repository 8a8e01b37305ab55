"""Hashes of column values, identical in every process and with every version of the libraries.

They are stored with state. Equal hashes only select candidates: lookups compare the values as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from millstream.kernels.core.kernel import HASH

Hashes = npt.NDArray[np.uint64]

NULL_HASH = 0x6D696C6C_73747265  # replaces the hash of a key that is NULL

_ODD = np.uint64(0x9E3779B97F4A7C15)
_PRIME = 0x100000001B3


def normalize_zero(value: pl.Expr) -> pl.Expr:
    """Replaces -0.0 with 0.0, because Spark compares them as equal. Keeps the column name."""
    return pl.when(value.ne_missing(0.0)).then(value).otherwise(0.0)


def is_hashable(kind: Any) -> bool:
    """Returns whether values of this type can be hashed: all types except lists and structs of
    lists."""
    if isinstance(kind, pl.Struct):
        return all(is_hashable(field.dtype) for field in kind.fields)
    return not kind.is_nested()


def hashes(values: pl.Series) -> Hashes:
    """Returns hashes of values, which must not be NULL."""
    kind = values.dtype
    if isinstance(kind, pl.Struct):
        return _of_fields(values, [field.name for field in kind.fields])
    if kind in {pl.String, pl.Binary}:
        return mix_bits(_of_bytes(values.cast(pl.Binary)))
    if kind.is_decimal():
        return mix_bits(_of_bytes(values.cast(pl.String).cast(pl.Binary)))
    if kind.is_float():
        plain = values.cast(pl.Float64).fill_nan(float("nan")).to_numpy() + 0.0  # no -0.0, one NaN
        return mix_bits(plain.view(np.uint64))
    return mix_bits(values.to_physical().cast(pl.Int64).to_numpy().view(np.uint64))


def mix_bits(numbers: Hashes) -> Hashes:
    """Mixes the bits of numbers, so that similar numbers get very different hashes."""
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
        made = mix_bits(made) ^ own
    return mix_bits(made)


def _of_bytes(values: pl.Series) -> Hashes:
    """Hashes each text as a polynomial of its bytes, modulo 2^64.

    Computes prefix sums over the bytes of all texts at once. Each text takes the difference at its
    two ends and scales it back to its own first byte.
    """
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


def fill_null_hashes(frame: pl.DataFrame) -> pl.DataFrame:
    """Replaces NULL hashes with NULL_HASH. Without keys, all rows get the same hash."""
    if HASH not in frame.columns:
        return frame.with_columns(pl.lit(NULL_HASH, pl.Int64).alias(HASH))
    if not frame[HASH].null_count():
        return frame
    return frame.with_columns(pl.col(HASH).fill_null(NULL_HASH))
