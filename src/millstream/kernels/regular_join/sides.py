"""What a regular join tells of each side's rows, and how it holds them.

A side is `tracked` if what is insert of a row depends on whether it has a partner: rows of an outer
side come out alone without one, those of SEMI and ANTI come out because of it. How that is stored:

    the other side never takes rows retracted      a mark a row, or the row is done with (SEMI, ANTI)
    it does, or rows of this side themselves  the row's number of partners, in a column

A row of a side that must be able to lose it, or to hold another number, can be removed.
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

MATCH_COUNT = (
    "_partners"  # of a stored row: with how many it was insert, those that expired among them
)


@dataclass(frozen=True, slots=True)
class Side:
    base: join_spec.Side
    tracked: bool
    counted: bool  # is MATCH_COUNT stored?
    exact: bool  # may the number fall? Else it is only asked whether there is any
    emits_matched: bool  # a tracked row is insert when it has a partner (SEMI), or when it has none

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
        """What to keep of a frame. Two rows are equal if these are, the time apart."""
        return self.base.columns(sorted(given))

    def content(self, given: list[str]) -> list[str]:
        return [name for name in self.columns(given) if name != TIME]


def unbounded(spec: RegularJoinSpec) -> IntervalJoinSpec:
    """To find pairs, a regular join is an interval join whose bounds hold all of time."""
    return IntervalJoinSpec(
        spec.how,
        BEGIN_OF_TIME,
        END_OF_TIME,
        spec.left_keys,
        spec.right_keys,
        spec.left_columns,
        spec.right_columns,
        spec.across,
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
