"""Matching of rows: the key index finds candidate pairs; keys and predicate decide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from millstream.kernels.core import key_index as index
from millstream.kernels.core.frames import FEW_ROWS, stack, take
from millstream.kernels.core.key_index import Bools, Ints
from millstream.kernels.core.predicate import evaluate
from millstream.kernels.interval_join.spec import IntervalJoinSpec, Side
from millstream.kernels.state.manifest import Segment
from millstream.kernels.state.sorted_rows import Rows

Candidate = tuple[Segment | None, Rows]  # rows of the other side; the segment is None for new rows


@dataclass(slots=True)
class CandidatePairs:
    """Pairs of new rows and rows of one candidate segment, `other`, by row number."""

    segment: Segment | None
    other: Rows
    new_numbers: Ints
    other_numbers: Ints


@dataclass(slots=True)
class Matches:
    """Matching pairs, and their output rows."""

    found: list[CandidatePairs]
    rows: pl.DataFrame | None  # None if only left rows are emitted


class Matcher:
    """Finds matching pairs of rows."""

    def __init__(self, spec: IntervalJoinSpec, sides: tuple[Side, Side]) -> None:
        self._pair_predicate = spec.pair_predicate
        self._keys = list(zip(sides[0].keys, sides[1].keys, strict=True))
        self._outputs = None if spec.how.left_only else list(spec.outputs)
        self._checks = bool(self._keys) or spec.pair_predicate is not None

    def match(self, side: Side, new: Rows, candidates: Iterable[Candidate]) -> Iterator[Matches]:
        """Yields matches of new rows of a side with rows of the other side."""
        found: list[CandidatePairs] = []
        count = 0
        enough: index.Enough = "all"
        if self._outputs is None and not self._checks:  # one match per left row is enough
            enough = "one per own row" if side.number == 0 else "one per other row"
        for segment, rows in candidates:
            skip = segment.skip if segment else 0
            for own_numbers, other_numbers in new.index.pairs(
                rows.index, side.lower, side.upper, skip=skip, enough=enough
            ):
                found.append(CandidatePairs(segment, rows, own_numbers, other_numbers))
                count += own_numbers.size
                if count >= index.MAX_PAIRS:
                    yield from self._decide(side, new, found)
                    found, count = [], 0
        if count:
            yield from self._decide(side, new, found)

    def _decide(self, side: Side, new: Rows, found: list[CandidatePairs]) -> Iterator[Matches]:
        found = [pair for pair in found if pair.new_numbers.size]
        if not found:
            return
        if self._outputs is None and not self._checks:
            yield Matches(found, None)
            return
        own_rows = take(new.content, _concatenate([pair.new_numbers for pair in found]))
        other_rows = _take_candidates(found)
        pairs = (own_rows, other_rows) if side.number == 0 else (other_rows, own_rows)
        if self._checks:
            is_match = self._is_match(*pairs)
            if not is_match.all():
                retained = np.flatnonzero(is_match)
                pairs = (take(pairs[0], retained), take(pairs[1], retained))
                ends = np.cumsum([pair.new_numbers.size for pair in found])
                for pair, flags in zip(found, np.split(is_match, ends[:-1]), strict=True):
                    _filter_pairs(pair, flags)
        if pairs[0].height:
            yield Matches(found, None if self._outputs is None else self._combine(*pairs))

    def _is_match(self, left: pl.DataFrame, right: pl.DataFrame) -> Bools:
        is_match = np.ones(left.height, np.bool_)
        for left_key, right_key in self._keys:
            is_match &= _true(left[left_key] == right[right_key])
        if self._pair_predicate is not None:  # it is evaluated only for pairs with equal keys
            live = pl.Series(is_match) if self._keys else None

            def column(name: str) -> pl.Series:
                return _column(name, left, right)

            is_match = is_match & _true(evaluate(self._pair_predicate, column, left.height, live))
        return is_match

    def _combine(self, left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
        if (
            self._checks and self._outputs is not None
        ):  # some columns are read only by keys and predicate
            return pl.DataFrame([_column(name, left, right) for name in self._outputs])
        return left.hstack(right.get_columns())


def _true(term: pl.Series) -> Bools:
    return (term.fill_null(value=False) if term.null_count() else term).to_numpy()


def _column(name: str, left: pl.DataFrame, right: pl.DataFrame) -> pl.Series:
    return (left if name in left.columns else right).get_column(name)


def _take_candidates(found: list[CandidatePairs]) -> pl.DataFrame:
    """Returns the rows of the other side. A few rows are taken from all segments at once."""
    if sum(pair.other_numbers.size for pair in found) > FEW_ROWS:
        return stack([take(pair.other.content, pair.other_numbers) for pair in found])
    numbers, before = [], 0
    for pair in found:
        numbers.append(pair.other_numbers + before)
        before += len(pair.other)
    return take(stack([pair.other.content for pair in found]), _concatenate(numbers))


def _concatenate(parts: list[Ints]) -> Ints:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _filter_pairs(pair: CandidatePairs, flags: Bools) -> None:
    pair.new_numbers, pair.other_numbers = pair.new_numbers[flags], pair.other_numbers[flags]
