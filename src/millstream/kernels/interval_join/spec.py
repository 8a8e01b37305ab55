"""The specification of an interval join, and the properties of each side derived from it."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.kernels.core.kernel import HASH, TIME
from millstream.kernels.core.predicate import columns_of
from millstream.kernels.state.segment_log import Layout
from millstream.scalars import Predicate
from millstream.temporal import LatePolicy, StateLimit
from millstream.values import JoinType


@dataclass(frozen=True, slots=True)
class OtherSideWindows:
    """The windows of the other side, if they differ from those of a row's own side.

    The time of a row is the last microsecond of its own window plus `lateness`. The row may match
    rows of every window that begins by then.
    """

    size: int
    slide: int
    offset: int = 0
    lateness: int = 0

    def first_open(self, watermark: int) -> int:
        """Returns the time before which rows can match only rows of closed windows."""
        last = watermark - self.lateness - self.size
        start = last - (last - self.offset) % self.slide
        return start + self.slide + self.lateness


@dataclass(frozen=True, slots=True)
class IntervalJoinSpec:
    """An interval join. Each column name occurs on one side only, except for keys."""

    how: JoinType
    lower: int
    upper: int
    left_keys: tuple[str, ...]
    right_keys: tuple[str, ...]
    left_columns: tuple[str, ...]  # of the output
    right_columns: tuple[str, ...]
    pair_predicate: Predicate | None = None
    key_is_hash: bool = False  # `_h` is the only key, an integer, so equal hashes are equal keys
    retention: int | None = None  # how long to retain rows, if longer than the bounds need
    limit: StateLimit = StateLimit()  # of the operator; a key group may not exceed it either
    late: LatePolicy = LatePolicy()
    other_windows: tuple[OtherSideWindows, OtherSideWindows] | None = (
        None  # the windows that left and right rows may match
    )

    @property
    def outputs(self) -> tuple[str, ...]:
        if self.how.left_only:
            return self.left_columns
        return (*self.left_columns, *self.right_columns)


@dataclass(frozen=True, slots=True)
class Side:
    """One side of the join."""

    number: int
    name: str
    keys: tuple[str, ...]  # to compare; empty if equal hashes are equal keys
    output: tuple[str, ...]
    predicate_columns: frozenset[str]  # of either side
    lower: int  # a match's time minus the row's is in [lower, upper]
    upper: int
    retain: int
    preserved: bool  # unmatched rows are emitted
    layout: Layout
    other_windows: OtherSideWindows | None = None

    def match_final_before(self, watermark: int) -> int:
        """Returns the time before which rows cannot match new rows, so that their match flags are
        final."""
        return (
            watermark - self.upper
            if self.other_windows is None
            else self.other_windows.first_open(watermark)
        )

    def live_from(self, watermark: int) -> int:
        """Returns the time before which rows leave state."""
        return (
            watermark - self.retain
            if self.other_windows is None
            else self.other_windows.first_open(watermark)
        )

    def columns(self, given: list[str]) -> list[str]:
        """Returns the columns to retain: output first, time and hash last."""
        predicate_columns = [name for name in given if name in self.predicate_columns]
        wanted = dict.fromkeys((*self.output, *self.keys, *predicate_columns))
        return [name for name in wanted if name not in {TIME, HASH}] + [TIME, HASH]


def sides_of(spec: IntervalJoinSpec) -> tuple[Side, Side]:
    """Returns the left and the right side."""

    def side(number: int, lower: int, upper: int, preserved: bool) -> Side:
        keys = (spec.left_keys, spec.right_keys)[number]
        output = (spec.left_columns, spec.right_columns)[number]
        removes_matched = number == 0 and spec.how.left_only
        if number == 1 and spec.how.left_only:
            output = ()
        hash_column = keys[0] if spec.key_is_hash and keys[0] in output else None
        return Side(
            number,
            ("left", "right")[number],
            () if spec.key_is_hash else keys,
            output,
            frozenset(columns_of(spec.pair_predicate)),
            lower,
            upper,
            upper if spec.retention is None else max(upper, spec.retention),
            preserved,
            Layout(
                hash_column,
                has_match_flags=preserved or removes_matched,
                removes_matched=removes_matched,
            ),
            spec.other_windows[number] if spec.other_windows else None,
        )

    return (
        side(0, spec.lower, spec.upper, spec.how.preserves_left),
        side(1, -spec.upper, -spec.lower, spec.how.preserves_right),
    )
