"""COUNT(DISTINCT) over frames without end.

A partition keeps the set of its values. A row's count grows by one where its value is seen for the
first time, so no row needs a set of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from millstream.kernels.core.key_index import Ints
from millstream.kernels.core.specs import CallSpec

_PART, _VALUE, _PLACE = "_part", "_value", "_place"


class Counted(NamedTuple):
    counts: pl.Series  # of each arranged row
    sets: pl.Series  # what each part of a partition has seen


def column(call: CallSpec) -> str:
    """Where a partition's set is kept."""
    return f"set {call.name}"


def count(
    call: CallSpec, rows: pl.DataFrame, at: Ints, held: pl.Series | None, held_at: Ints, parts: Ints
) -> Counted:
    """`parts` numbers the part of each place; rows and held sets lie at the places `at` and
    `held_at`, and the set of a part lies at its first place."""
    values = rows[str(call.argument)]
    seen = pl.DataFrame([values.alias(_VALUE), pl.Series(_PLACE, at)])
    if call.filter is not None:
        seen = seen.filter(rows[call.filter].fill_null(False))
    seen = seen.filter(pl.col(_VALUE).is_not_null()).sort(_PLACE)
    if held is not None:
        sets = pl.DataFrame([held.alias(_VALUE), pl.Series(_PLACE, held_at)])
        known = sets.filter(pl.col(_VALUE).list.len() > 0).explode(_VALUE)
        seen = pl.concat([known, seen], rechunk=True)
    part = pl.Series(_PART, parts[seen[_PLACE].to_numpy()])
    seen = seen.with_columns(part).filter(pl.struct(_PART, _VALUE).is_first_distinct())

    more = np.bincount(seen[_PLACE].to_numpy(), minlength=parts.size)
    upto = np.cumsum(more)
    starts = np.flatnonzero(np.append(True, parts[1:] != parts[:-1]))
    before = (upto - more)[starts]
    counts = upto - np.repeat(before, np.diff(np.append(starts, parts.size)))
    every = pl.DataFrame([pl.Series(_PART, parts[starts])])
    sets = every.join(seen.group_by(_PART).agg(_VALUE), on=_PART, how="left", maintain_order="left")
    empty = pl.lit([], dtype=pl.List(values.dtype))
    return Counted(
        pl.Series(call.name, counts.astype(np.int64)),
        sets.select(pl.col(_VALUE).fill_null(empty).alias(column(call))).to_series(),
    )
