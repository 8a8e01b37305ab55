"""Session joins with a predicate over pairs of rows, as a definition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from tests.kernels.session_join.oracle import (
    Bag,
    Join,
    Out,
    Row,
    Session,
    Stepwise,
    pairs_of,
    sessions_of,
    unmatched,
)

from millstream.kernels.core.kernel import WatermarkAdvance
from millstream.values import JoinType

Matches = Callable[[int, int], bool | None]  # by the ids of a left and a right row


def span(session: Session, others: Sequence[Session]) -> tuple[int, int]:
    """The window of an unmatched row: that of its session and the overlapping one that ends
    last."""
    last = max([*others], key=lambda other: other.end, default=session)
    return min(session.first, last.first), max(session.end, last.end)


def true_pairs(left: Session, right: Session, matches: Matches) -> list[Out]:
    found = pairs_of(left, right)
    return [pair for pair in found if matches(pair[0] or 0, pair[1] or 0) is True]


def semi_rows(left: Session, rights: Iterable[Session], matches: Matches) -> list[Out]:
    """Each row of a left session with the window of the first right session that it matches."""
    found: dict[int | None, Out] = {}
    for right in sorted(rights, key=lambda session: session.end):
        for one, _, start, end in true_pairs(left, right, matches):
            found.setdefault(one, (one, None, start, end))
    return list(found.values())


def rest(
    side: int, session: Session, others: Sequence[Session], matched: set[tuple[int, int | None]]
) -> list[Out]:
    """The rows of a session that matched none."""
    bounds = span(session, others)
    rows = [(*row[:2], *bounds) for row in unmatched(side, session)]
    return [row for row in rows if (side, row[side]) not in matched]


def final_rows(join: Join, matches: Matches, lefts: Iterable[Row], rights: Iterable[Row]) -> Bag:
    """The complete output at the end of both inputs."""
    sides = sessions_of(lefts, join.gap), sessions_of(rights, join.gap)
    out: Bag = Counter()
    matched: set[tuple[int, int | None]] = set()
    for left in sides[0]:
        met = [right for right in sides[1] if left.meets(right)]
        for right in met:
            pairs = true_pairs(left, right, matches)
            matched |= {(side, pair[side]) for pair in pairs for side in (0, 1)}
            out.update([] if join.how.left_only else pairs)
        out.update(semi_rows(left, met, matches) if join.how is JoinType.SEMI else [])
    for side, keeps in enumerate((join.how.preserves_left, join.how.preserves_right)):
        for session in sides[side] if keeps else []:
            others = [other for other in sides[1 - side] if session.meets(other)]
            out.update(rest(side, session, others, matched))
    return out


@dataclass
class StepwiseWithPredicate(Stepwise):
    """The output of each batch, and the state after it."""

    matches: Matches = field(kw_only=True)
    matched: set[tuple[int, int | None]] = field(default_factory=set)

    def step(self, lefts: Iterable[Row], rights: Iterable[Row], advance: WatermarkAdvance) -> Bag:
        out: list[Out] = []
        for side, rows in enumerate((lefts, rights)):
            out += self._arrive(side, list(rows), advance.before)
        for sessions in self.sessions:
            for session in sessions:
                session.closed |= session.end + self.join.lateness < advance.after
        for left in self.sessions[0]:
            met = [right for right in self._met(0, left) if left.closed and right.closed]
            pairs = [pair for right in met for pair in true_pairs(left, right, self.matches)]
            if self.join.how is JoinType.SEMI:
                out += semi_rows(left, met, self.matches)
            elif self.join.how is not JoinType.ANTI:
                out += pairs
            self.matched |= {(side, pair[side]) for pair in pairs for side in (0, 1)}
        is_final = [
            [
                session
                for session in sessions
                if session.closed and all(other.closed for other in self._met(side, session))
            ]
            for side, sessions in enumerate(self.sessions)
        ]
        for side, keeps in enumerate((self.join.how.preserves_left, self.join.how.preserves_right)):
            for session in is_final[side] if keeps else []:
                out += rest(side, session, self._met(side, session), self.matched)
        for sessions, gone in zip(self.sessions, is_final, strict=True):
            sessions[:] = [session for session in sessions if session not in gone]
        fresh = Counter(row for row in out if row[:2] not in self.output)
        self.output.update(row[:2] for row in out)
        return fresh

    def stored(self, side: int) -> int:
        return sum(len(session.rows) for session in self.sessions[side])
