"""Decodes values with a reader that takes a block of values or rejects all of it.

A block that is rejected is halved, so that each malformed value is found and no other is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from millstream.connectors.file.rejections import Flaw
from millstream.connectors.file.values import Column
from millstream.connectors.kafka.formats.conversions import converted

StrictRead = Callable[[Sequence[bytes]], pa.Table | None]


class RecordDecoder(Protocol):
    """Decodes values that one schema describes."""

    def decode(self, values: Sequence[bytes]) -> tuple[list[pa.Array], dict[int, Flaw]]:
        """Returns the declared columns, a row for each value, and the flaws by row."""
        ...


@dataclass(frozen=True, slots=True)
class BlockDecoder:
    """Decodes values in blocks.

    Attributes:
        columns: The declared columns.
        read: Reads a block; None if one of its values is malformed.
        flaw: What is said of a malformed value.
    """

    columns: tuple[Column, ...]
    read: StrictRead
    flaw: str

    def decode(self, values: Sequence[bytes]) -> tuple[list[pa.Array], dict[int, Flaw]]:
        tables, malformed = read_in_halves(values, self.read)
        flaws = {row: Flaw(self.flaw) for row in malformed}
        if not tables:
            return [pa.nulls(len(values), column.type) for column in self.columns], flaws
        table = pa.concat_tables(tables, promote_options="permissive")
        arrays, unfit = converted(table, self.columns)
        if not malformed:
            return arrays, unfit
        rows = np.setdiff1d(np.arange(len(values)), malformed)
        flaws |= {int(rows[row]): flaw for row, flaw in unfit.items()}
        return [placed(array, rows, len(values)) for array in arrays], flaws


def read_in_halves(values: Sequence[bytes], read: StrictRead) -> tuple[list[pa.Table], list[int]]:
    """Returns the blocks of the other values, in their order, and the malformed values."""
    table = read(values) if values else None
    if table is not None:
        return [table], []
    if len(values) <= 1:
        return [], list(range(len(values)))
    half = len(values) // 2
    tables, malformed = read_in_halves(values[:half], read)
    more, others = read_in_halves(values[half:], read)
    return tables + more, malformed + [half + row for row in others]


def placed(array: pa.Array, rows: np.typing.NDArray[np.intp], size: int) -> pa.Array:
    """Returns an array with the values at some rows, and NULL at the others."""
    places = np.full(size, -1)
    places[rows] = np.arange(len(rows))
    return array.take(pa.array(places, mask=places < 0))
