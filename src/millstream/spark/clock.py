"""How far an operator is: the watermarks of its inputs, which of them are silent, and the minimum.

Every key group hears of every chunk of every input in the same micro-batch, and the wall clock only
as the offset log keeps it. So all groups decide alike, and a retried batch as its first try did.
An operator's processing time never decreases: it is stored in state, and a batch whose own time is
earlier, because the system clock was set back, uses the processing time of the batch before it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from millstream.errors import RunError
from millstream.state_format import reject_changed_identity
from millstream.temporal import BEGIN_OF_TIME, END_OF_TIME


@dataclass(frozen=True, slots=True)
class HostInput:
    """One input of an operator: its name in accounts and how its watermark follows its rows.

    `hash_from` names a column of its packets that is the key's hash as it stands, if one is;
    `copies` are columns that its packets lack, with the ones that they are the same as.
    """

    name: str
    delay: int
    hash_from: str | None = None
    every: int = 1
    idle: int | None = None
    derived: bool = False  # results of another operator, which tells its watermark itself
    wall_clock: bool = False  # its rows have the operator's processing time, which moves it, too
    keys: tuple[str, ...] = ()  # columns of its packets that its heaviest keys are told by
    copies: tuple[tuple[str, str], ...] = ()
    last_window: int = 0  # of a window join: a row's time in its last window is so far from its own


@dataclass(slots=True)
class _Heard:
    """What is known of one input. `next` is the time it will be at when enough rows have come."""

    top: int = BEGIN_OF_TIME
    next: int = BEGIN_OF_TIME
    rows: int = 0
    at: int | None = None  # by the wall clock
    idle: bool = False


@dataclass(slots=True)
class Progress:
    """Kept in the state of every key group, with what was counted before the exchange."""

    inputs: tuple[HostInput, ...]
    identity: str  # canonical: what the operator's state depends on
    heard: list[_Heard]
    watermark: int = BEGIN_OF_TIME
    now: int | None = None
    tally: dict[str, dict[str, int]] = field(default_factory=dict)
    heavy: dict[str, dict[str, Any]] = field(default_factory=dict)  # by input, as HeavyKeys' data
    _spoke: set[int] = field(default_factory=set)

    @classmethod
    def load(cls, blob: bytes | None, inputs: tuple[HostInput, ...], identity: str) -> Progress:
        if blob is None:
            return cls(inputs, identity, [_Heard() for _ in inputs])
        held = json.loads(blob)
        reject_changed_identity(held.get("identity"), identity)
        heard = [_Heard(*each) for each in held["heard"]]
        known = (held["watermark"], held["now"], held["tally"], held.get("heavy", {}))
        return cls(inputs, identity, heard, *known)

    def dump(self) -> bytes:
        held = {
            "heard": [[each.top, each.next, each.rows, each.at, each.idle] for each in self.heard],
            "watermark": self.watermark,
            "now": self.now,
            "tally": self.tally,
            "heavy": self.heavy,
            "identity": self.identity,
        }
        return json.dumps(held, separators=(",", ":")).encode()

    @property
    def tops(self) -> dict[str, int]:
        return {each.name: known.top for each, known in zip(self.inputs, self.heard, strict=True)}

    @property
    def idle(self) -> tuple[str, ...]:
        return tuple(
            each.name for each, known in zip(self.inputs, self.heard, strict=True) if known.idle
        )

    def hear(self, number: int, top: int | None, rows: int, *, idle: bool | None = None) -> None:
        """A chunk of an input: the greatest time among its rows, or its operator's watermark and
        whether that one is silent, if the chunk tells."""
        source, known = self.inputs[number], self.heard[number]
        self._spoke.add(number)
        if source.derived:
            if top is not None:
                if top < known.top:
                    raise _backwards(source.name, known.top, top)
                known.top = top
            if idle is not None:
                known.idle = idle
            return
        known.idle = False
        if top is not None:
            known.next = max(known.next, top)
            known.rows += rows

    def tick(self, now: int | None) -> None:
        if now is not None:
            self.now = max(self.now or now, now)

    def end(self) -> None:
        """No input will come any more, but from other operators, which tell so themselves."""
        for source, known in zip(self.inputs, self.heard, strict=True):
            if not source.derived:
                known.top = known.next = END_OF_TIME
                known.idle = False

    def advance(self) -> int:
        """The minimum rule: an operator is as far as the slowest input that is not silent."""
        for source, known in zip(self.inputs, self.heard, strict=True):
            # Only now, with the whole batch heard: packets come in any order.
            if not source.derived and known.rows >= source.every:
                known.top, known.rows = max(known.top, known.next), 0
        self._notice_silence()
        waited_for = [
            self._watermark_of(source, known)
            for source, known in zip(self.inputs, self.heard, strict=True)
            if source.wall_clock or not known.idle
        ]
        if waited_for:
            self.watermark = max(self.watermark, min(waited_for))
        return self.watermark

    def _watermark_of(self, source: HostInput, known: _Heard) -> int:
        if known.top >= END_OF_TIME:
            return known.top
        if source.wall_clock and self.now is not None:
            return self.now
        return known.top - source.delay

    def _notice_silence(self) -> None:
        if self.now is None:
            return
        for source, known in zip(self.inputs, self.heard, strict=True):
            if source.wall_clock and not source.derived:
                known.top = max(known.top, self.now)
        for number, (source, known) in enumerate(zip(self.inputs, self.heard, strict=True)):
            if known.at is None or number in self._spoke:
                known.at = self.now  # an input that never spoke is silent since the operator began
            if source.idle is not None and known.top < END_OF_TIME:
                known.idle = self.now - known.at >= source.idle

    def count(self, number: int, told: str | None) -> None:
        if told is None:
            return
        held = self.tally.setdefault(self.inputs[number].name, {})
        for what, count in json.loads(told).items():
            held[what] = held.get(what, 0) + count


def _backwards(name: str, before: int, after: int) -> RunError:
    return RunError(
        "MS-RUN-WATERMARK",
        f"the watermark of {name} went back, from {before} to {after} microseconds.",
        fix="This is a fault of Millstream: a watermark never goes back. Please report it.",
    )


def slowest(marks: Iterable[dict[str, Any]]) -> tuple[int | None, bool | None]:
    """The watermark that an operator's groups tell, and whether all its inputs are silent; None
    where they tell nothing."""
    told = list(marks)
    if not told:
        return None, None
    return min(mark["after"] for mark in told), all(mark["silent"] for mark in told)
