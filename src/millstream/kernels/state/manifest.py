"""The manifest of a key group's state: small, and read and written as a whole in every step."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from millstream.state_format import STATE_FORMAT, reject_format
from millstream.temporal import BEGIN_OF_TIME


class Ref(NamedTuple):
    """The location of bytes: a page of the store, and offset and size in it."""

    page: int
    offset: int
    size: int


@dataclass(slots=True)
class Segment:
    """An immutable set of rows in time order. Rows before `skip` are no longer in state.

    `uid` is random: a retried batch writes other segments under other names, so nothing that a
    process has cached can be mistaken for them.
    """

    uid: int
    ref: Ref | None  # None until it is written
    rows: int
    first: int  # least and greatest time
    last: int
    size: int
    skip: int = 0
    removed: int = 0  # removed rows from `skip` on
    flags_version: int = 0  # which state of its match flags is current; 0: as in the segment
    bitmap: Ref | None = None  # match flags written since, up to the manifest's recent ones

    @property
    def live_rows(self) -> int:
        return self.rows - self.skip - self.removed

    @property
    def live_bytes(self) -> int:
        return self.size * self.live_rows // self.rows

    @property
    def tier(self) -> int:
        """Returns the tier of a size. Segments of one tier differ in size by less than four
        times."""
        return tier(self.live_rows)


def tier(rows: int) -> int:
    """Segments of one tier differ in size by less than four times."""
    return (rows.bit_length() + 1) // 2


def new_uid() -> int:
    """Returns a random id, never 0. Uses the system's generator, because forked workers share a
    seed."""
    return secrets.randbits(62) + 1


@dataclass(slots=True)
class Manifest:
    """The segments of all tables of a key group.

    `watermark` is the one after the last step that changed state; `owner` identifies the key
    group's state in the cache of a process.
    """

    tables: list[list[Segment]]
    watermark: int = BEGIN_OF_TIME
    counts: dict[str, int] = field(default_factory=dict)
    recent: tuple[int, Ref] | None = (
        None  # id and location of match flags that are not in a bitmap yet
    )
    owner: int = field(default_factory=new_uid)

    @classmethod
    def load(cls, text: bytes | None, tables: int) -> Manifest:
        """Reads the manifest of an operator with this number of tables, or creates one if `text` is
        None.

        The number of tables follows from the operator's identity, so state with another number was
        rejected before.
        """
        if text is None:
            return cls([[] for _ in range(tables)])
        data = json.loads(text)
        reject_format(data.get("format"), "the state")
        recent = data["recent"]
        found = [[_from_list(item) for item in table] for table in data["tables"]]
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
            "tables": [[_to_list(segment) for segment in table] for table in self.tables],
            "recent": self.recent,
            "owner": self.owner,
        }
        return json.dumps(data, separators=(",", ":")).encode()

    def segments(self) -> Iterator[Segment]:
        for table in self.tables:
            yield from table

    def uids(self) -> set[int]:
        """Returns the ids under which a process may have cached parts of this state."""
        uids = {segment.uid for segment in self.segments()}
        uids |= {index_uid(uid) for uid in uids}
        return uids | {self.recent[0]} if self.recent else uids

    def pages(self) -> set[int]:
        refs = [ref for segment in self.segments() for ref in (segment.ref, segment.bitmap)]
        if self.recent:
            refs.append(self.recent[1])
        return {ref.page for ref in refs if ref}


def index_uid(uid: int) -> int:
    """Returns the id of an index over a segment's content; ids of segments are never negative."""
    return -uid


def _to_list(segment: Segment) -> list[Any]:
    s = segment
    return [
        s.uid,
        s.ref,
        s.rows,
        s.first,
        s.last,
        s.size,
        s.skip,
        s.removed,
        s.flags_version,
        s.bitmap,
    ]


def _from_list(item: list[Any]) -> Segment:
    uid, ref, rows, first, last, size, skip, removed, flags_version, bitmap = item
    return Segment(
        uid,
        Ref(*ref),
        rows,
        first,
        last,
        size,
        skip,
        removed,
        flags_version,
        Ref(*bitmap) if bitmap else None,
    )
