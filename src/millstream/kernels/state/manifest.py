"""What a key group's state holds, small enough to be read and written whole at every step."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from millstream.state_format import STATE_FORMAT, reject_format
from millstream.temporal import BEGIN_OF_TIME


class Ref(NamedTuple):
    """Where bytes lie: a page of the store and the place in it."""

    page: int
    offset: int
    size: int


@dataclass(slots=True)
class Segment:
    """An immutable set of rows in time order. Of its rows only those from `skip` on still count.

    `uid` is drawn at random when the segment is written: a batch that is tried again writes other
    segments under other names, so nothing kept in a process can be taken for them.
    """

    uid: int
    ref: Ref | None  # None until it is written
    rows: int
    first: int  # least and greatest time
    last: int
    size: int
    skip: int = 0
    gone: int = 0  # rows from `skip` on that a match has used up
    marks: int = 0  # which state of its marks is current; 0: as they are in the segment
    bitmap: Ref | None = None  # marks written since, up to those in the manifest's recent marks

    @property
    def held(self) -> int:
        return self.rows - self.skip - self.gone

    @property
    def held_bytes(self) -> int:
        return self.size * self.held // self.rows

    @property
    def tier(self) -> int:
        return tier(self.held)


def tier(rows: int) -> int:
    """Segments of one tier differ in size by less than four times."""
    return (rows.bit_length() + 1) // 2


def new_uid() -> int:
    """Never 0. From the system: forked workers would all draw the same from a seeded generator."""
    return secrets.randbits(62) + 1


@dataclass(slots=True)
class Manifest:
    """The segments of every table of a key group. `watermark` is that after the last step which
    changed state; `owner` identifies the key group's state in the cache of a process."""

    tables: list[list[Segment]]
    watermark: int = BEGIN_OF_TIME
    counts: dict[str, int] = field(default_factory=dict)
    recent: tuple[int, Ref] | None = None  # name and place of marks not yet in a bitmap
    owner: int = field(default_factory=new_uid)

    @classmethod
    def load(cls, text: bytes | None, tables: int) -> Manifest:
        """Reads the manifest of an operator with so many tables; without a text, makes a new one.

        How many there are follows from what the operator's identity covers, so state with another
        number of them was rejected before.
        """
        if text is None:
            return cls([[] for _ in range(tables)])
        data = json.loads(text)
        reject_format(data.get("format"), "the state")
        recent = data["recent"]
        found = [[_segment(item) for item in table] for table in data["tables"]]
        assert len(found) == tables, f"{len(found)} tables in state, {tables} expected"
        return cls(
            found,
            data["watermark"],
            data["counts"],
            (recent[0], Ref(*recent[1])) if recent else None,
            data["owner"],
        )

    def dump(self) -> bytes:
        data = {
            "format": STATE_FORMAT,
            "watermark": self.watermark,
            "counts": self.counts,
            "tables": [[_fields(segment) for segment in table] for table in self.tables],
            "recent": self.recent,
            "owner": self.owner,
        }
        return json.dumps(data, separators=(",", ":")).encode()

    def segments(self) -> Iterator[Segment]:
        for table in self.tables:
            yield from table

    def uids(self) -> set[int]:
        """The names under which a process may have cached parts of this state."""
        uids = {segment.uid for segment in self.segments()}
        uids |= {index_uid(uid) for uid in uids}
        return uids | {self.recent[0]} if self.recent else uids

    def pages(self) -> set[int]:
        refs = [ref for segment in self.segments() for ref in (segment.ref, segment.bitmap)]
        if self.recent:
            refs.append(self.recent[1])
        return {ref.page for ref in refs if ref}


def index_uid(uid: int) -> int:
    """The name of an index over a segment's content; a segment's own name is never negative."""
    return -uid


def _fields(segment: Segment) -> list[Any]:
    s = segment
    return [s.uid, s.ref, s.rows, s.first, s.last, s.size, s.skip, s.gone, s.marks, s.bitmap]


def _segment(item: list[Any]) -> Segment:
    uid, ref, rows, first, last, size, skip, gone, marks, bitmap = item
    return Segment(
        uid, Ref(*ref), rows, first, last, size, skip, gone, marks, Ref(*bitmap) if bitmap else None
    )
