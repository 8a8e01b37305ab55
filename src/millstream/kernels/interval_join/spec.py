"""What an interval join is asked to do, and what follows from it for each of its sides."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.kernels.core.kernel import HASH, TIME
from millstream.kernels.core.predicate import columns_of
from millstream.kernels.state.segment_log import Layout
from millstream.temporal import LatePolicy, StateLimit
from millstream.values import JoinType, Predicate


@dataclass(frozen=True, slots=True)
class OtherSideWindows:
    """The windows of the other side, if they differ from those of a row's own side. The time of a
    row is the last microsecond of its own window plus `lateness`; it may match rows of every
    window that begins by then."""

    size: int
    slide: int
    offset: int = 0
    lateness: int = 0

    def closed(self, watermark: int) -> int:
        """Rows before this time may match only rows of windows that have closed."""
        last = watermark - self.lateness - self.size
        start = last - (last - self.offset) % self.slide
        return start + self.slide + self.lateness


@dataclass(frozen=True, slots=True)
class IntervalJoinSpec:
    """Columns go by their names in the frames, each name on one side only (keys apart)."""

    how: JoinType
    lower: int
    upper: int
    left_keys: tuple[str, ...]
    right_keys: tuple[str, ...]
    left_columns: tuple[str, ...]  # that come out
    right_columns: tuple[str, ...]
    across: Predicate | None = None
    key_is_hash: bool = False  # `_h` is the one integer key itself, so equal hashes are equal keys
    retention: int | None = None  # how long to hold rows, if longer than the bounds need
    limit: StateLimit = StateLimit()  # of the operator: no key group may have more
    late: LatePolicy = LatePolicy()
    panes: tuple[OtherSideWindows, OtherSideWindows] | None = (
        None  # that left and right rows wait for
    )

    @property
    def outputs(self) -> tuple[str, ...]:
        if self.how.left_only:
            return self.left_columns
        return (*self.left_columns, *self.right_columns)


@dataclass(frozen=True, slots=True)
class Side:
    number: int
    name: str
    keys: tuple[str, ...]  # to be compared; none where equal hashes are equal keys
    output: tuple[str, ...]
    asked: frozenset[str]  # columns of the predicate, of either side
    lower: int  # a partner's time less the row's lies in [lower, upper]
    upper: int
    hold: int
    preserved: bool  # do rows come out without a partner?
    layout: Layout
    panes: OtherSideWindows | None = None

    def due(self, watermark: int) -> int:
        """Rows before this time cannot match new rows."""
        return watermark - self.upper if self.panes is None else self.panes.closed(watermark)

    def live(self, watermark: int) -> int:
        """Rows before this time leave state."""
        return watermark - self.hold if self.panes is None else self.panes.closed(watermark)

    def columns(self, given: list[str]) -> list[str]:
        """What to keep of a frame, the output first and the hash last."""
        asked = [name for name in given if name in self.asked]
        wanted = dict.fromkeys((*self.output, *self.keys, *asked))
        return [name for name in wanted if name not in {TIME, HASH}] + [TIME, HASH]


def sides_of(spec: IntervalJoinSpec) -> tuple[Side, Side]:
    def side(number: int, lower: int, upper: int, preserved: bool) -> Side:
        keys = (spec.left_keys, spec.right_keys)[number]
        output = (spec.left_columns, spec.right_columns)[number]
        once = number == 0 and spec.how.left_only
        if number == 1 and spec.how.left_only:
            output = ()
        hash_from = keys[0] if spec.key_is_hash and keys[0] in output else None
        return Side(
            number,
            ("left", "right")[number],
            () if spec.key_is_hash else keys,
            output,
            frozenset(columns_of(spec.across)),
            lower,
            upper,
            upper if spec.retention is None else max(upper, spec.retention),
            preserved,
            Layout(hash_from, marked=preserved or once, once=once),
            spec.panes[number] if spec.panes else None,
        )

    return (
        side(0, spec.lower, spec.upper, spec.how.preserves_left),
        side(1, -spec.upper, -spec.lower, spec.how.preserves_right),
    )
