"""Pairs of a regular join: as an interval join's, but rows that were taken back do not count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import polars as pl

from millstream.kernels.core import key_index as index
from millstream.kernels.core.specs import RegularJoinSpec
from millstream.kernels.interval_join import spec as join_spec
from millstream.kernels.interval_join.matching import Matcher, Matches, Partner, Partners
from millstream.kernels.regular_join.sides import regular_sides, unbounded
from millstream.kernels.state.sorted_rows import Rows


class RegularMatcher(Matcher):
    def __init__(self, spec: RegularJoinSpec) -> None:
        plain = unbounded(spec)
        left, right = regular_sides(spec)
        super().__init__(plain, (left.plain, right.plain))
        self._names = (list(left.plain.output), list(right.plain.output))
        # Where it is only asked whether there is a partner, one is as good as many.
        self._one_is_enough = spec.how.left_only and not self._checks and not any(spec.over_changes)

    def match(
        self, side: join_spec.Side, new: Rows, partners: Iterable[Partner]
    ) -> Iterator[Matches]:
        found: list[Partners] = []
        count = 0
        enough: index.Enough = "all"
        if self._one_is_enough:
            enough = "each here" if side.number == 0 else "each there"
        for segment, rows in partners:
            skip = segment.skip if segment else 0
            for mine, theirs in new.index.pairs(
                rows.index, side.lower, side.upper, skip=skip, enough=enough
            ):
                pair = Partners(segment, rows, mine, theirs)
                if segment is not None and segment.gone and rows.matched is not None:
                    held = ~rows.matched[theirs]
                    pair.new, pair.theirs = mine[held], theirs[held]
                found.append(pair)
                count += pair.new.size
                if count >= index.MAX_PAIRS:
                    yield from self._decide(side, new, found)
                    found, count = [], 0
        if count:
            yield from self._decide(side, new, found)

    def _side_by_side(self, left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
        mine, theirs = self._names
        return left[:, mine].hstack(right[:, theirs].get_columns())
