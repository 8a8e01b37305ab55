"""Chance by number: a draw depends on the seed, on what it is for and on the event, and on nothing
that was drawn before. So any slice of the events can be generated separately."""

from __future__ import annotations

from zlib import crc32

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

Whole = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint64]
_STEP = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_INLINE = 12  # a string view holds texts up to this length itself


def _mixed(bits: Bits) -> Bits:
    """Mixes all bits of a number: the finisher of SplitMix64."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


class Draws:
    def __init__(self, seed: int) -> None:
        self._seed = _mixed(np.array([seed], np.uint64) * _STEP + _STEP)

    def bits(self, what: str, numbers: Whole) -> Bits:
        """64 bits of chance for each number."""
        salt = _mixed(self._seed ^ np.uint64(crc32(what.encode())))
        return _mixed(numbers.astype(np.uint64) * _STEP + salt)

    def two(self, what: str, numbers: Whole) -> tuple[Bits, Bits]:
        """Two draws of 32 bits for each number."""
        bits = self.bits(what, numbers)
        return bits >> _HALF, bits & _LOW

    def below(self, limit: int | Whole, what: str, numbers: Whole) -> Whole:
        return below(limit, self.bits(what, numbers) >> _HALF)


def below(limit: int | Whole, bits: Bits) -> Whole:
    """32 bits of chance as a whole number of 0 or more and less than the limit."""
    return ((bits * np.asarray(limit, np.uint64)) >> _HALF).astype(np.int64)


class Noise:
    """A long text of chance that texts are cut from, without copying it."""

    def __init__(self, letters: npt.NDArray[np.uint8]) -> None:
        self._letters = letters
        self._buffer = pa.py_buffer(letters)
        tail = np.concatenate([letters, np.zeros(_INLINE, np.uint8)])
        # The letters from each place on: as many as a view holds, and the first four as a number.
        self._inline = np.lib.stride_tricks.sliding_window_view(tail, _INLINE)[: len(letters)]
        self._prefix = np.ascontiguousarray(self._inline[:, :4]).view(np.int32).ravel()

    def cut(self, bits: Bits, lengths: Whole) -> pl.Series:
        """A text of each length, from a place that the 32 bits choose."""
        count = len(lengths)
        places = ((bits * (len(self._letters) - lengths).astype(np.uint64)) >> _HALF).astype(
            np.int32
        )
        views = np.zeros((count, 4), np.int32)
        views[:, 0] = lengths
        views[:, 1] = self._prefix[places]
        views[:, 3] = places
        short = np.flatnonzero(lengths <= _INLINE)
        if len(short):
            inline = self._inline[places[short]].copy()
            inline[np.arange(_INLINE) >= lengths[short, None]] = 0
            views[short, 1:] = inline.view(np.int32)
        array = pa.Array.from_buffers(
            pa.string_view(), count, [None, pa.py_buffer(views), self._buffer]
        )
        return pl.Series(pl.from_arrow(array))


def letters(draws: Draws, what: str, count: int, special: str | None = None) -> Noise:
    """Letters from a to z; with a special one, that takes the place of one in twelve, and of no
    two in a row: a text of three is never all spaces."""
    places = np.arange(count)
    high, low = draws.two(what, places)
    text = (below(26, high) + ord("a")).astype(np.uint8)
    if special is not None:
        text[(places % 3 == 0) & (below(4, low) == 0)] = ord(special)
    return Noise(text)
