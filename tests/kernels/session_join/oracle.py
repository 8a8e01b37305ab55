"""The session join as a definition: every session is compared with every other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from millstream.kernels.core.kernel import WatermarkAdvance
from millstream.temporal import Emit
from millstream.values import JoinType

Key = tuple[str | None, int | None]
Out = tuple[int | None, int | None, int, int]  # ids of a left and a right row, start and end
Bag = Counter[Out]


@dataclass(frozen=True)
class Row:
    id: int
    t: int
    key: Key


@dataclass(frozen=True)
class Join:
    how: JoinType = JoinType.INNER
    gap: int = 5
    emit: Emit = Emit.FINAL
    lateness: int = 0

    @property
    def once(self) -> bool:
        """Is a left row done with once its session has met one?"""
        return self.how.left_only and (self.emit is Emit.CHANGES or self.how is JoinType.ANTI)


@dataclass(eq=False)
class Session:
    """Rows of one side and key. `low` is its first row's time, but no older than what could be open
    when that row came: a session that was closed then is not met by it."""

    key: Key
    rows: list[Row]
    gap: int
    low: int
    closed: bool = False
    met: bool = False  # of a left one, where that is all there is to know: see `Join.once`

    @property
    def first(self) -> int:
        return min(row.t for row in self.rows)

    @property
    def end(self) -> int:
        return max(row.t for row in self.rows) + self.gap

    def touches(self, other: Session) -> bool:
        """Of one side: are they one session?"""
        return (
            self.key == other.key
            and None not in self.key
            and self.first <= other.end
            and other.first <= self.end
        )

    def meets(self, other: Session) -> bool:
        return (
            self.key == other.key
            and None not in self.key
            and self.low <= other.end
            and other.low <= self.end
        )


def sessions_of(rows: Iterable[Row], gap: int, oldest: int = -(10**9)) -> list[Session]:
    """Rows of one side as sessions; one without a key is a session of its own."""
    made: list[Session] = []
    for row in sorted(rows, key=lambda row: row.t):
        for session in made:
            if session.key == row.key and None not in row.key and row.t <= session.end:
                session.rows.append(row)
                break
        else:
            made.append(Session(row.key, [row], gap, max(row.t, oldest)))
    return made


def pairs_of(left: Session, right: Session) -> list[Out]:
    start, end = min(left.first, right.first), max(left.end, right.end)
    return [(one.id, two.id, start, end) for one in left.rows for two in right.rows]


def unmatched(side: int, session: Session) -> list[Out]:
    ids = [(row.id, None) if side == 0 else (None, row.id) for row in session.rows]
    return [(*both, session.first, session.end) for both in ids]


def once(left: Session, rights: Sequence[Session]) -> list[Out]:
    """Rows of a left session that met some, with the window of the one that ends first."""
    right = min(rights, key=lambda session: session.end)
    start, end = min(left.first, right.first), max(left.end, right.end)
    return [(row.id, None, start, end) for row in left.rows]


def final_rows(join: Join, lefts: Iterable[Row], rights: Iterable[Row]) -> Bag:
    """Returns the complete output at the end of both inputs, which does not depend on the order of
    arrival."""
    sides = sessions_of(lefts, join.gap), sessions_of(rights, join.gap)
    out: Bag = Counter()
    for left in sides[0]:
        met = [right for right in sides[1] if left.meets(right)]
        if join.how is JoinType.SEMI:
            out.update(once(left, met) if met else [])
        elif join.how is not JoinType.ANTI:
            for right in met:
                out.update(pairs_of(left, right))
        if join.how.preserves_left and not met:
            out.update(unmatched(0, left))
    for right in sides[1]:
        if join.how.preserves_right and not any(left.meets(right) for left in sides[0]):
            out.update(unmatched(1, right))
    return out


@dataclass
class Stepwise:
    """The output of each batch, and the state after it."""

    join: Join
    sessions: tuple[list[Session], list[Session]] = field(default_factory=lambda: ([], []))
    late: tuple[list[Row], list[Row]] = field(default_factory=lambda: ([], []))
    output: set[tuple[int | None, int | None]] = field(default_factory=set)

    def step(self, lefts: Iterable[Row], rights: Iterable[Row], advance: WatermarkAdvance) -> Bag:
        out: list[Out] = []
        for side, rows in enumerate((lefts, rights)):
            out += self._arrive(side, list(rows), advance.before)
        for left in self.sessions[0]:
            left.met = left.met or bool(self._met(0, left))
        at_once = self.join.emit is Emit.CHANGES
        if at_once:
            out += self._tell()
        closing: tuple[list[Session], list[Session]] = ([], [])
        for side, sessions in enumerate(self.sessions):
            for session in sessions:
                if not session.closed and session.end + self.join.lateness < advance.after:
                    session.closed = True
                    closing[side].append(session)
        if not at_once:
            out += self._tell()
        for side, keeps in enumerate((self.join.how.preserves_left, self.join.how.preserves_right)):
            for session in closing[side]:
                if keeps and not session.met and not self._met(side, session):
                    out += unmatched(side, session)
        self._let_go()
        fresh = Counter(row for row in out if row[:2] not in self.output)
        self.output.update(row[:2] for row in out)
        return fresh

    def _arrive(self, side: int, rows: list[Row], before: int) -> list[Out]:
        open_from = before - self.join.lateness
        mine = self.sessions[side]
        late: list[Row] = []
        fragments: list[Session] = []
        for fragment in sessions_of(rows, self.join.gap, open_from - self.join.gap):
            touched = [one for one in mine if one.touches(fragment) and not one.closed]
            if fragment.end < open_from and not touched:
                late += fragment.rows
            else:
                fragments.append(fragment)
        self.late[side][:] = late
        out: list[Out] = []
        for fragment in fragments:
            if None in fragment.key:  # it meets none, and that is known at once
                keeps = (self.join.how.preserves_left, self.join.how.preserves_right)[side]
                out += unmatched(side, fragment) if keeps else []
                continue
            touched = [one for one in mine if one.touches(fragment) and not one.closed]
            for one in touched:
                fragment.rows += one.rows
                fragment.low = min(fragment.low, one.low)
                fragment.met |= one.met
                mine.remove(one)
            mine.append(fragment)
        return out

    def _met(self, side: int, session: Session) -> list[Session]:
        return [other for other in self.sessions[1 - side] if session.meets(other)]

    def _tell(self) -> list[Out]:
        """Rows of sessions that met; some of them were emitted before."""
        out: list[Out] = []
        if self.join.how is JoinType.ANTI:
            return out
        final = self.join.emit is Emit.FINAL
        for left in self.sessions[0]:
            met = self._met(0, left)
            if final:
                met = [right for right in met if left.closed and right.closed]
            if self.join.how is JoinType.SEMI:
                known = met or ([left] if self.join.once and left.met else [])
                out += once(left, known) if known else []
            else:
                out += [pair for right in met for pair in pairs_of(left, right)]
        return out

    def _let_go(self) -> None:
        """Sessions that are closed go, unless one that they met is open, or a left one of a SEMI
        join still waits for it."""
        stored: list[list[Session]] = [[], []]
        for side, sessions in enumerate(self.sessions):
            for session in sessions:
                met = self._met(side, session)
                waits = any(not other.closed for other in met) and not self.join.once
                if side == 0 and self.join.how.left_only:
                    waits = waits and not any(other.closed for other in met)
                if not session.closed or waits:
                    stored[side].append(session)
        for sessions, retained in zip(self.sessions, stored, strict=True):
            sessions[:] = retained

    def stored(self, side: int) -> int:
        """How many rows are stored."""
        if not self.join.how.left_only:
            return sum(len(session.rows) for session in self.sessions[side])
        if side == 1:
            return 0
        waiting = [one for one in self.sessions[0] if not (self.join.once and one.met)]
        return sum(len(session.rows) for session in waiting)
