"""Matching for regular joins: as for interval joins, except that removed rows are skipped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import polars as pl

from millstream.kernels.core import key_index as index
from millstream.kernels.core.specs import RegularJoinSpec
from millstream.kernels.interval_join import spec as join_spec
from millstream.kernels.interval_join.matching import Candidate, CandidatePairs, Matcher, Matches
from millstream.kernels.regular_join.sides import regular_sides, unbounded
from millstream.kernels.state.sorted_rows import Rows


class RegularMatcher(Matcher):
    """Finds matching pairs at any time distance."""

    def __init__(self, spec: RegularJoinSpec) -> None:
        base = unbounded(spec)
        left, right = regular_sides(spec)
        super().__init__(base, (left.base, right.base))
        self._names = (list(left.base.output), list(right.base.output))
        # If only the existence of a match matters, one match per row is enough.
        self._one_is_enough = spec.how.left_only and not self._checks and not any(spec.over_changes)

    def match(
        self, side: join_spec.Side, new: Rows, candidates: Iterable[Candidate]
    ) -> Iterator[Matches]:
        found: list[CandidatePairs] = []
        count = 0
        enough: index.Enough = "all"
        if self._one_is_enough:
            enough = "one per own row" if side.number == 0 else "one per other row"
        for segment, rows in candidates:
            skip = segment.skip if segment else 0
            for own_rows, other_rows in new.index.pairs(
                rows.index, side.lower, side.upper, skip=skip, enough=enough
            ):
                pair = CandidatePairs(segment, rows, own_rows, other_rows)
                if segment is not None and segment.removed and rows.matched is not None:
                    stored = ~rows.matched[other_rows]
                    pair.new_numbers, pair.other_numbers = own_rows[stored], other_rows[stored]
                found.append(pair)
                count += pair.new_numbers.size
                if count >= index.MAX_PAIRS:
                    yield from self._decide(side, new, found)
                    found, count = [], 0
        if count:
            yield from self._decide(side, new, found)

    def _combine(self, left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
        left_names, right_names = self._names
        return left[:, left_names].hstack(right[:, right_names].get_columns())
