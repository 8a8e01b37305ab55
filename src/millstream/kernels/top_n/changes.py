"""Changes among the first n rows of partitions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from millstream.kernels.core.frames import take
from millstream.kernels.core.kernel import (
    DELETE,
    HASH,
    INSERT,
    OP,
    TIME,
    UPDATE_AFTER,
    UPDATE_BEFORE,
)
from millstream.kernels.core.key_index import Bools, Ints

_WEIGHT, _CODE, _COPIES = "_w", "_c", "_n"


class Changes(NamedTuple):
    """Changed rows by number, their ranks and their operations."""

    rows: Ints  # by their numbers
    ranks: Ints
    ops: npt.NDArray[np.int8]


def count_retractions(out: pl.DataFrame) -> int:
    """Returns how many rows of an output frame are retractions."""
    return int(out[OP].is_in([UPDATE_BEFORE, DELETE]).sum())


def membership_changes(codes: Ints, rows: Ints, old: Ints, new: Ints) -> Changes:
    """Returns rows that left the first n, then rows that entered. `old` and `new` are ranks, 0 if
    not among the first n."""
    left, entered = np.flatnonzero((old > 0) & (new == 0)), np.flatnonzero((old == 0) & (new > 0))
    places = np.concatenate((left, entered))
    ops = np.repeat(np.array([DELETE, INSERT], np.int8), [left.size, entered.size])
    order = np.lexsort((ops == INSERT, codes[places]))
    places, ops = places[order], ops[order]
    return Changes(rows[places], np.where(ops == DELETE, old[places], new[places]), ops)


def rank_changes(codes: Ints, rows: Ints, old: Ints, new: Ints) -> Changes:
    """Returns the old and the new row of each rank that changed."""
    moved = old != new
    gone, joined = np.flatnonzero(moved & (old > 0)), np.flatnonzero(moved & (new > 0))
    places, ranks = np.concatenate((gone, joined)), np.concatenate((old[gone], new[joined]))
    added = np.arange(places.size) >= gone.size
    order = np.lexsort((added, ranks, codes[places]))
    places, ranks, added = places[order], ranks[order], added[order]
    code = codes[places]
    pair = (code[1:] == code[:-1]) & (ranks[1:] == ranks[:-1])
    ops = np.where(added, INSERT, DELETE).astype(np.int8)
    ops[:-1][pair] = UPDATE_BEFORE
    ops[1:][pair] = UPDATE_AFTER
    return Changes(rows[places], ranks, ops)


def without_equal_pairs(changes: Changes, content: pl.DataFrame) -> Changes:
    """Drops updates whose old and new row are equal."""
    before = np.flatnonzero(changes.ops == UPDATE_BEFORE)
    if not before.size:
        return changes
    old, new = take(content, changes.rows[before]), take(content, changes.rows[before + 1])
    alike = np.ones(before.size, np.bool_)
    for name in content.columns:
        alike &= old[name].eq_missing(new[name]).to_numpy()
    if not alike.any():
        return changes
    keep = np.ones(changes.rows.size, np.bool_)
    keep[before[alike]] = keep[before[alike] + 1] = False
    return Changes(changes.rows[keep], changes.ranks[keep], changes.ops[keep])


def net_rows(
    rows: pl.DataFrame, codes: Ints, stored: pl.DataFrame | None, content: list[str]
) -> tuple[pl.DataFrame, Ints, Bools]:
    """Cancels out insertions and retractions of a batch.

    Returns the rows to add with their partitions, and which stored rows to remove. Retractions of
    rows that are not in state are ignored.
    """
    gone = np.zeros(0 if stored is None else stored.height, np.bool_)
    is_retraction = rows[OP].is_in([UPDATE_BEFORE, DELETE])
    if not is_retraction.any():
        return rows, codes, gone
    weight = pl.Series(_WEIGHT, np.where(is_retraction.to_numpy(), -1, 1))
    sums = (
        rows.with_columns(pl.Series(_CODE, codes), weight)
        .group_by(content, maintain_order=True)
        .agg(pl.col(_WEIGHT).sum(), pl.col(_CODE).first(), pl.col(TIME).max(), pl.col(HASH).first())
    )
    weights = sums[_WEIGHT].to_numpy()
    fresh = np.repeat(np.flatnonzero(weights > 0), weights[weights > 0])
    if stored is not None:
        gone = _rows_to_retract(stored, sums.filter(pl.col(_WEIGHT) < 0), content)
    added = take(sums, fresh)
    return added, added[_CODE].to_numpy(), gone


def _rows_to_retract(stored: pl.DataFrame, less: pl.DataFrame, content: list[str]) -> Bools:
    """Returns which stored rows to remove: among equal rows, those that arrived last."""
    gone = np.zeros(stored.height, np.bool_)
    alike = stored[:, content].hash_rows().is_in(less[:, content].hash_rows().implode())
    likely = np.flatnonzero(alike.to_numpy())
    if not likely.size:
        return gone
    own_rows = take(stored[:, content], likely).with_columns(
        pl.lit(0, pl.Int64).alias(_WEIGHT),
        pl.Series("_row", likely),
        pl.Series("_late", stored["_a"].to_numpy()[likely]),
    )
    other_rows = less.select(
        *content, _WEIGHT, pl.lit(-1, pl.Int64).alias("_row"), pl.lit(-1, pl.Int64).alias("_late")
    )
    both = own_rows.vstack(other_rows.select(own_rows.columns)).sort("_late", descending=True)
    both = both.with_columns(
        pl.col(_WEIGHT).sum().over(content),
        pl.int_range(1, pl.len() + 1).over(content).alias(_COPIES),
    )
    chosen = both.filter((pl.col("_row") >= 0) & (pl.col(_COPIES) <= -pl.col(_WEIGHT)))
    gone[chosen["_row"].to_numpy()] = True
    return gone
