"""Two results as bags of rows: what is missing, and what should not be there."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

_OP = "_op"
_TIMES = "_times"


@dataclass(frozen=True, slots=True)
class Difference:
    """`rows` have how many too many (above 0) or too few there are of each."""

    rows: pl.DataFrame

    def __bool__(self) -> bool:
        return self.rows.height > 0

    def __str__(self) -> str:
        """The first rows that differ, each with a sign."""
        lines = []
        for row in self.rows.sort(self.rows.columns[:-1], nulls_last=True).head(6).to_dicts():
            times = row.pop(_TIMES)
            lines.append(f"{times:+d} × {row}")
        more = self.rows.height - len(lines)
        return "\n".join([*lines, *([f"and {more} rows more that differ"] if more else [])])


def difference(expected: pl.DataFrame, came: pl.DataFrame) -> Difference:
    """`came` may hold changes: a row with `_OP` of -U or -D takes one like it away."""
    actual = _comparable(_counted(came))
    wanted = _comparable(expected)
    names = [name for name in actual.columns if name != _TIMES]
    if names != wanted.columns:
        raise ValueError(f"the columns {names} came, and not {wanted.columns}")
    wanted = wanted.with_columns(pl.lit(-1, pl.Int64).alias(_TIMES))
    both = pl.concat([wanted, actual], how="vertical_relaxed")
    summed = both.group_by(names).agg(pl.col(_TIMES).sum())
    return Difference(summed.filter(pl.col(_TIMES) != 0))


def _counted(came: pl.DataFrame) -> pl.DataFrame:
    op = next((name for name in came.columns if name.lower() == _OP), None)
    if op is None:
        return came.with_columns(pl.lit(1, pl.Int64).alias(_TIMES))
    away = pl.col(op).is_in(["-U", "-D"])
    times = pl.when(away).then(pl.lit(-1, pl.Int64)).otherwise(pl.lit(1, pl.Int64))
    return came.with_columns(times.alias(_TIMES)).drop(op)


def _comparable(frame: pl.DataFrame) -> pl.DataFrame:
    """Whole numbers of one width, times of one unit, in UTC and without saying so."""
    columns = []
    for name, kind in frame.schema.items():
        column = pl.col(name)
        if kind == pl.Datetime:
            column = column.dt.cast_time_unit("us").dt.replace_time_zone(None)
        elif kind.is_integer():
            column = column.cast(pl.Int64)
        columns.append(column)
    return frame.select(columns)
