"""Decodes messages of PostgreSQL's output plugin `pgoutput`, protocol version 1, a block at once.

    B begin   R relation   I insert   U update   D delete   T truncate   C commit

A block is the concatenation of many messages. The position of each value is computed for all rows
of a block with NumPy, a column at a time, and the values are copied to Arrow arrays of text.
https://www.postgresql.org/docs/current/protocol-logicalrep-message-formats.html
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Ops = npt.NDArray[np.int8]
INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE = range(4)  # as in `kernels.core.kernel`
_NULL, _UNCHANGED, _TEXT = ord("n"), ord("u"), ord("t")
_FULL = ord("O")  # before an old row with all columns
_B, _C, _R, _T = (ord(kind) for kind in "BCRT")
_I, _U, _D = (ord(kind) for kind in "IUD")
_MICROS_2000 = 946_684_800_000_000  # microseconds from 1970 to 2000


class MissingOldRowError(Exception):
    """A change has no old row: the table's replica identity is not FULL."""


class TruncatedError(Exception):
    """The table was truncated. `lsn` is the commit of the transaction."""

    def __init__(self, lsn: int) -> None:
        super().__init__(lsn)
        self.lsn = lsn


@dataclass(frozen=True, slots=True)
class Relation:
    """A table as a transaction has written it: names of columns, and their type OIDs."""

    oid: int
    schema: str
    name: str
    columns: tuple[str, ...]
    types: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Transaction:
    """The transaction of a change: position and time (in microseconds) of its commit."""

    lsn: int
    time: int
    xid: int


@dataclass(frozen=True, slots=True)
class Values:
    """The values of a column: positions in the block. A NULL has the length -1."""

    starts: Ints
    lengths: Ints

    def to_arrow(self, block: Bytes) -> pa.Array:
        """Copies the values to an array of text, which may be invalid UTF-8."""
        nulls = self.lengths < 0
        lengths = np.maximum(self.lengths, 0)
        offsets = np.zeros(lengths.size + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        places = np.arange(offsets[-1]) + np.repeat(self.starts - offsets[:-1], lengths)
        valid = pa.py_buffer(np.packbits(~nulls, bitorder="little")) if nulls.any() else None
        buffers = [valid, pa.py_buffer(offsets), pa.py_buffer(block[places])]
        return pa.Array.from_buffers(pa.large_string(), lengths.size, buffers)


@dataclass(frozen=True, slots=True)
class Changes:
    """Changed rows of a relation, in their order: an update is its old and its new row."""

    relation: Relation
    ops: Ops
    lsns: Ints
    times: Ints
    xids: Ints
    values: tuple[Values, ...]  # by column of the relation
    block: Bytes = field(repr=False)

    def column(self, number: int) -> pa.Array:
        return self.values[number].to_arrow(self.block)


@dataclass(slots=True)
class ChangeDecoder:
    """Decodes the changes of one table in transactions whose commit is in [start, end).

    Attributes:
        oid: Identifies the table, also if it is renamed.
        key: The columns of the primary key. An update that changes one is a delete and an insert.
        ignores_truncate: Whether TRUNCATE is ignored; otherwise it raises `TruncatedError`.
    """

    oid: int
    key: tuple[str, ...]
    start: int
    end: int
    ignores_truncate: bool = False
    _transaction: Transaction = field(default_factory=lambda: Transaction(-1, 0, 0))
    _relation: Relation | None = None

    def decode(self, messages: Sequence[bytes]) -> Iterator[Changes]:
        """Yields the changes in the next messages. The state is that after the last message."""
        if not messages:
            return
        block = np.frombuffer(b"".join(messages) + b"\0" * 8, np.uint8)
        lengths = np.fromiter(map(len, messages), np.int64, len(messages))
        starts = np.cumsum(lengths) - lengths
        kinds = block[starts]
        begins = np.flatnonzero(kinds == _B)
        lsns, times, xids = self._transactions(block, starts[begins], kinds, len(messages))
        stops = [*np.flatnonzero((kinds == _R) | (kinds == _T)).tolist(), len(messages)]
        first = 0
        for stop in stops:
            rows = np.arange(first, stop)
            inside = (lsns[rows] >= self.start) & (lsns[rows] < self.end)
            rows = rows[inside & np.isin(kinds[rows], (_I, _U, _D))]
            if self._relation is not None and rows.size:
                rows = rows[_int32(block, starts[rows] + 1) == self._relation.oid]
                if rows.size:
                    yield self._changes(
                        block, starts[rows], kinds[rows], lsns[rows], times[rows], xids[rows]
                    )
            if stop < len(messages):
                self._handle(messages[stop], int(lsns[stop]))
            first = stop + 1

    def _transactions(
        self, block: Bytes, begins: Ints, kinds: Bytes, count: int
    ) -> tuple[Ints, Ints, Ints]:
        """Returns position, time and xid of the transaction of each message."""
        found = self._transaction
        lsns = np.concatenate([[found.lsn], _int64(block, begins + 1)])
        times = np.concatenate([[found.time], _int64(block, begins + 9) + _MICROS_2000])
        xids = np.concatenate([[found.xid], _int32(block, begins + 17)])
        self._transaction = Transaction(int(lsns[-1]), int(times[-1]), int(xids[-1]))
        number = np.cumsum(kinds == _B)
        assert number.size == count
        return lsns[number], times[number], xids[number]

    def _handle(self, message: bytes, lsn: int) -> None:
        if message[0] == _R:
            found = read_relation(message)
            if found.oid == self.oid:
                self._relation = found
        elif self.start <= lsn < self.end and not self.ignores_truncate:
            (count,) = struct.unpack_from(">i", message, 1)
            if self._relation and self._relation.oid in struct.unpack_from(
                f">{count}I", message, 6
            ):
                raise TruncatedError(lsn)

    def _changes(
        self, block: Bytes, starts: Ints, kinds: Bytes, lsns: Ints, times: Ints, xids: Ints
    ) -> Changes:
        assert self._relation is not None
        inserts = kinds == _I
        if not (block[starts[~inserts] + 5] == _FULL).all():
            raise MissingOldRowError
        relation, has_new = self._relation, kinds != _D
        tuples = starts + 6  # the first row of a message
        old, ends = _read_rows(block, tuples[~inserts], relation)
        new_starts = tuples.copy()
        new_starts[~inserts] = ends + 1  # after the byte N
        new, _ = _read_rows(block, new_starts[has_new], relation)
        updates = kinds == _U
        in_old, in_new = np.cumsum(~inserts) - 1, np.cumsum(has_new) - 1
        new = tuple(
            _with_unchanged(one, other, in_new[updates], in_old[updates])
            for one, other in zip(new, old, strict=True)
        )
        ops = np.where(kinds == _D, DELETE, np.where(inserts, INSERT, UPDATE_AFTER)).astype(np.int8)
        before = np.full(int(updates.sum()), UPDATE_BEFORE, np.int8)
        moved = self._key_changes(block, relation, old, new, in_old[updates], in_new[updates])
        before[moved] = DELETE
        ops[np.flatnonzero(updates)[moved]] = INSERT
        # An update becomes two rows.
        rows = np.where(updates, 2, 1)
        last = np.cumsum(rows) - 1
        total = int(rows.sum())
        result_ops = np.empty(total, np.int8)
        result_ops[last], result_ops[last[updates] - 1] = ops, before
        values = tuple(
            _interleaved(one, other, last[has_new], last[~inserts] - updates[~inserts], total)
            for one, other in zip(new, old, strict=True)
        )
        lsns, times, xids = (np.repeat(each, rows) for each in (lsns, times, xids))
        return Changes(relation, result_ops, lsns, times, xids, values, block)

    def _key_changes(
        self,
        block: Bytes,
        relation: Relation,
        old: Sequence[Values],
        new: Sequence[Values],
        in_old: Ints,
        in_new: Ints,
    ) -> npt.NDArray[np.bool_]:
        """Returns which updates change the key."""
        changed = np.zeros(in_old.size, np.bool_)
        for number, name in enumerate(relation.columns):
            if name in self.key:
                one = _taken(old[number], in_old).to_arrow(block)
                other = _taken(new[number], in_new).to_arrow(block)
                equal = pc.fill_null(pc.equal(one, other), True)  # a key has no NULL
                changed |= ~equal.to_numpy(zero_copy_only=False)
        return changed


def read_relation(message: bytes) -> Relation:
    (oid,) = struct.unpack_from(">I", message, 1)
    schema, place = _text(message, 5)
    name, place = _text(message, place)
    (count,) = struct.unpack_from(">h", message, place + 1)
    place += 3
    names, types = [], []
    for _ in range(count):
        column, place = _text(message, place + 1)
        names.append(column)
        types.append(struct.unpack_from(">I", message, place)[0])
        place += 8
    return Relation(oid, schema, name, tuple(names), tuple(types))


def _text(message: bytes, place: int) -> tuple[str, int]:
    end = message.index(b"\0", place)
    return message[place:end].decode(), end + 1


def _read_rows(block: Bytes, starts: Ints, relation: Relation) -> tuple[tuple[Values, ...], Ints]:
    """Returns the columns of rows that begin at `starts`, and where the rows end."""
    place = starts + 2  # after the number of columns
    columns = []
    for _ in relation.columns:
        kinds = block[place]
        is_text = kinds == _TEXT
        lengths = np.where(is_text, _int32(block, place + 1), 0)
        marks = np.where(is_text, lengths, np.where(kinds == _UNCHANGED, -2, -1))
        columns.append(Values(place + 5, marks))
        place = place + 1 + np.where(is_text, 4 + lengths, 0)
    return tuple(columns), place


def _with_unchanged(new: Values, old: Values, in_new: Ints, in_old: Ints) -> Values:
    """Returns new values; one that was not changed and is not sent (TOAST) is the old one."""
    unchanged = new.lengths[in_new] == -2
    if not unchanged.any():
        return new
    starts, lengths = new.starts.copy(), new.lengths.copy()
    starts[in_new[unchanged]] = old.starts[in_old[unchanged]]
    lengths[in_new[unchanged]] = old.lengths[in_old[unchanged]]
    return Values(starts, lengths)


def _taken(values: Values, rows: Ints) -> Values:
    return Values(values.starts[rows], values.lengths[rows])


def _interleaved(new: Values, old: Values, new_rows: Ints, old_rows: Ints, total: int) -> Values:
    starts, lengths = np.empty(total, np.int64), np.empty(total, np.int64)
    starts[new_rows], lengths[new_rows] = new.starts, new.lengths
    starts[old_rows], lengths[old_rows] = old.starts, old.lengths
    return Values(starts, lengths)


def _int32(block: Bytes, places: Ints) -> Ints:
    """Unsigned big-endian integers. A place may be near the end of the block, which is padded."""
    parts = (block[places + number].astype(np.int64) << 8 * (3 - number) for number in range(4))
    return sum(parts, np.zeros(places.shape, np.int64))


def _int64(block: Bytes, places: Ints) -> Ints:
    high = _int32(block, places)
    signed = np.where(high >= 1 << 31, high - (1 << 32), high)
    return (signed << 32) | _int32(block, places + 4)
