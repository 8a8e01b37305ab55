"""What a function's accumulator is."""

from __future__ import annotations

from typing import Any

import polars as pl

from millstream.kernels.core.specs import CallSpec

ROWS = "_n"  # how many rows a partial stands for
WEIGHT = "_w"  # what they weigh together


class Accumulator:
    """One aggregate function. Columns that it may share are named by what is in them."""

    def __init__(self, call: CallSpec, weighted: bool, ansi: bool) -> None:
        self.call = call
        self.weighted = weighted
        self.ansi = ansi
        self.stem = (call.argument or "*") + (f"?{call.filter}" if call.filter else "")

    @property
    def value(self) -> pl.Expr:
        """The argument, NULL where the filter is not true."""
        assert self.call.argument is not None
        value = pl.col(self.call.argument)
        return value if self.call.filter is None else pl.when(self.call.filter).then(value)

    def column(self, what: str) -> str:
        return f"{what}:{self.stem}"

    def prepare(self, _rows: pl.DataFrame) -> list[pl.Expr]:
        """Columns of rows that `fold` needs."""
        return []

    def fold(self, rows: pl.DataFrame) -> list[pl.Expr]:
        """Rows to partials, in the context of a group."""
        raise NotImplementedError

    def merge(self, partials: pl.DataFrame) -> list[pl.Expr]:
        """Partials to partials, in the context of a group."""
        raise NotImplementedError

    def settle(self, partials: pl.DataFrame) -> pl.DataFrame:
        """Partials as they are retained, from what `fold` or `merge` made."""
        return partials

    def finish(self, partials: pl.DataFrame, kind: Any) -> pl.Expr:
        """Partials to values, of the type `kind` or one that is cast to it."""
        raise NotImplementedError
