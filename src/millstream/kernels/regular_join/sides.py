"""How a regular join emits and stores the rows of each side.

A side is `tracked` if the output for a row depends on whether it has a match: unmatched rows of a
preserved side are emitted, and SEMI and ANTI select rows by their matches. The state for this is:

    the other side never retracts          a match flag per row, or no row once matched (SEMI, ANTI)
    the other side or this side retracts   the row's number of matches, in a column

Rows of a side are removable if they can be retracted, or if their number of matches can change.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from millstream.kernels.core.kernel import TIME
from millstream.kernels.core.specs import RegularJoinSpec
from millstream.kernels.interval_join import spec as join_spec
from millstream.kernels.interval_join.spec import IntervalJoinSpec, sides_of
from millstream.kernels.state.segment_log import Layout
from millstream.temporal import BEGIN_OF_TIME, END_OF_TIME
from millstream.values import JoinType

MATCH_COUNT = "_match_count"  # in stored rows: the number of matches, including expired ones


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a regular join."""

    base: join_spec.Side
    tracked: bool
    counted: bool  # MATCH_COUNT is stored
    exact: bool  # the count can decrease; otherwise only 0 or 1 is stored
    emits_matched: (
        bool  # tracked rows are emitted if they have a match (SEMI), or if they have none
    )

    @property
    def number(self) -> int:
        return self.base.number

    @property
    def name(self) -> str:
        return self.base.name

    @property
    def layout(self) -> Layout:
        return self.base.layout

    def columns(self, given: list[str]) -> list[str]:
        """Returns the columns to store. Two rows are equal if these columns are equal, except for
        the time."""
        return self.base.columns(sorted(given))

    def content(self, given: list[str]) -> list[str]:
        return [name for name in self.columns(given) if name != TIME]


def unbounded(spec: RegularJoinSpec) -> IntervalJoinSpec:
    """Returns the equivalent interval join, whose bounds cover all times."""
    return IntervalJoinSpec(
        spec.how,
        BEGIN_OF_TIME,
        END_OF_TIME,
        spec.left_keys,
        spec.right_keys,
        spec.left_columns,
        spec.right_columns,
        spec.pair_predicate,
        spec.key_is_hash,
    )


def regular_sides(spec: RegularJoinSpec) -> tuple[Side, Side]:
    left, right = sides_of(unbounded(spec))
    return _side(spec, left), _side(spec, right)


def _side(spec: RegularJoinSpec, base: join_spec.Side) -> Side:
    own, other = spec.over_changes[base.number], spec.over_changes[1 - base.number]
    semi = spec.how is JoinType.SEMI and base.number == 0
    tracked = base.preserved or semi
    removable = own or (tracked and other)
    removes_matched_left = tracked and not removable and spec.how.left_only
    layout = Layout(
        base.layout.hash_column,
        has_match_flags=tracked or removable,
        removes_matched=removable or removes_matched_left,
    )
    return Side(
        replace(base, layout=layout),
        tracked,
        counted=tracked and removable,
        exact=other,
        emits_matched=semi,
    )
