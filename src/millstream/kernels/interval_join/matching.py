"""Pairs of rows that match: the index proposes, keys and predicate decide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from millstream.kernels.core import key_index as index
from millstream.kernels.core.key_index import Bools, Ints
from millstream.kernels.core.predicate import evaluate
from millstream.kernels.interval_join.spec import IntervalJoinSpec, Side
from millstream.kernels.state.manifest import Segment
from millstream.kernels.state.sorted_rows import FEW_ROWS, Rows, stack, take

Partner = tuple[Segment | None, Rows]  # rows of the other side, and the segment if they are held


@dataclass(slots=True)
class Partners:
    """Pairs of new rows with the rows of one partner, by their numbers."""

    segment: Segment | None
    rows: Rows
    new: Ints
    theirs: Ints


@dataclass(slots=True)
class Matches:
    found: list[Partners]
    rows: pl.DataFrame | None  # the pairs as they come out; None if the left side alone does


class Matcher:
    def __init__(self, spec: IntervalJoinSpec, sides: tuple[Side, Side]) -> None:
        self._across = spec.across
        self._keys = list(zip(sides[0].keys, sides[1].keys, strict=True))
        self._outputs = None if spec.how.left_only else list(spec.outputs)
        self._checks = bool(self._keys) or spec.across is not None

    def match(self, side: Side, new: Rows, partners: Iterable[Partner]) -> Iterator[Matches]:
        """Matches new rows of a side with rows of the other one."""
        found: list[Partners] = []
        count = 0
        enough: index.Enough = "all"
        if self._outputs is None and not self._checks:  # one partner is as good as many
            enough = "each here" if side.number == 0 else "each there"
        for segment, rows in partners:
            skip = segment.skip if segment else 0
            for mine, theirs in new.index.pairs(
                rows.index, side.lower, side.upper, skip=skip, enough=enough
            ):
                found.append(Partners(segment, rows, mine, theirs))
                count += mine.size
                if count >= index.MAX_PAIRS:
                    yield from self._decide(side, new, found)
                    found, count = [], 0
        if count:
            yield from self._decide(side, new, found)

    def _decide(self, side: Side, new: Rows, found: list[Partners]) -> Iterator[Matches]:
        found = [pair for pair in found if pair.new.size]
        if not found:
            return
        if self._outputs is None and not self._checks:
            yield Matches(found, None)
            return
        mine = take(new.content, _joined([pair.new for pair in found]))
        theirs = _take_all(found)
        pairs = (mine, theirs) if side.number == 0 else (theirs, mine)
        if self._checks:
            verdict = self._verdict(*pairs)
            if not verdict.all():
                kept = np.flatnonzero(verdict)
                pairs = (take(pairs[0], kept), take(pairs[1], kept))
                ends = np.cumsum([pair.new.size for pair in found])
                for pair, flags in zip(found, np.split(verdict, ends[:-1]), strict=True):
                    _keep(pair, flags)
        if pairs[0].height:
            yield Matches(found, None if self._outputs is None else self._side_by_side(*pairs))

    def _verdict(self, left: pl.DataFrame, right: pl.DataFrame) -> Bools:
        true = [left[mine] == right[theirs] for mine, theirs in self._keys]
        if self._across is not None:
            true.append(evaluate(self._across, lambda name: _column(name, left, right)))
        verdict = np.ones(left.height, np.bool_)
        for term in true:
            verdict &= (term.fill_null(False) if term.null_count() else term).to_numpy()
        return verdict

    def _side_by_side(self, left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
        if self._checks and self._outputs is not None:  # there are columns that only check
            return pl.DataFrame([_column(name, left, right) for name in self._outputs])
        return left.hstack(right.get_columns())


def _column(name: str, left: pl.DataFrame, right: pl.DataFrame) -> pl.Series:
    return (left if name in left.columns else right).get_column(name)


def _take_all(found: list[Partners]) -> pl.DataFrame:
    """The partners' rows, one below the other. Few rows are taken in one go from all segments."""
    if sum(pair.theirs.size for pair in found) > FEW_ROWS:
        return stack([take(pair.rows.content, pair.theirs) for pair in found])
    numbers, before = [], 0
    for pair in found:
        numbers.append(pair.theirs + before)
        before += len(pair.rows)
    return take(stack([pair.rows.content for pair in found]), _joined(numbers))


def _joined(parts: list[Ints]) -> Ints:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _keep(pair: Partners, flags: Bools) -> None:
    pair.new, pair.theirs = pair.new[flags], pair.theirs[flags]
