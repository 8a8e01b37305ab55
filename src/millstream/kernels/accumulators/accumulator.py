"""The interface of an aggregate function's accumulator."""

from __future__ import annotations

from typing import Any

import polars as pl

from millstream.kernels.core.specs import CallSpec

ROWS = "_n"  # how many rows a partial result represents
WEIGHT = "_w"  # the sum of their weights


class Accumulator:
    """One aggregate function. Columns that it may share with other functions are named by their
    content."""

    def __init__(self, call: CallSpec, weighted: bool, ansi: bool) -> None:
        self.call = call
        self.weighted = weighted
        self.ansi = ansi
        self.stem = (call.argument or "*") + (f"?{call.filter}" if call.filter else "")

    @property
    def value(self) -> pl.Expr:
        """The argument, or NULL if the filter is not true."""
        assert self.call.argument is not None
        value = pl.col(self.call.argument)
        return value if self.call.filter is None else pl.when(self.call.filter).then(value)

    def column(self, what: str) -> str:
        return f"{what}:{self.stem}"

    def prepare(self, _rows: pl.DataFrame) -> list[pl.Expr]:
        """Returns columns that `fold` needs."""
        return []

    def fold(self, rows: pl.DataFrame) -> list[pl.Expr]:
        """Folds the rows of a group into partial results."""
        raise NotImplementedError

    def merge(self, partials: pl.DataFrame) -> list[pl.Expr]:
        """Merges the partial results of a group."""
        raise NotImplementedError

    def settle(self, partials: pl.DataFrame) -> pl.DataFrame:
        """Converts the output of `fold` or `merge` into the stored form of partial results."""
        return partials

    def finish(self, partials: pl.DataFrame, kind: Any) -> pl.Expr:
        """Computes values from partial results, of the type `kind` or one that can be cast to
        it."""
        raise NotImplementedError
