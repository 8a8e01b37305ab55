"""Encodes messages of pgoutput, protocol version 1, as the server's documentation defines them."""

from __future__ import annotations

import struct
from collections.abc import Sequence

UNCHANGED = object()  # a value of an update that the server does not send
MICROS_2000 = 946_684_800_000_000
Row = Sequence[object]


def begin(lsn: int, time: int, xid: int) -> bytes:
    return b"B" + struct.pack(">QqI", lsn, time - MICROS_2000, xid)


def commit(lsn: int, end: int, time: int) -> bytes:
    return b"C\0" + struct.pack(">QQq", lsn, end, time - MICROS_2000)


def relation(oid: int, schema: str, name: str, columns: Sequence[str], kind: int = 25) -> bytes:
    found = b"R" + struct.pack(">I", oid) + schema.encode() + b"\0" + name.encode() + b"\0f"
    found += struct.pack(">h", len(columns))
    for each in columns:
        found += b"\1" + each.encode() + b"\0" + struct.pack(">Ii", kind, -1)
    return found


def insert(oid: int, new: Row) -> bytes:
    return b"I" + struct.pack(">I", oid) + b"N" + _row(new)


def update(oid: int, old: Row, new: Row) -> bytes:
    return b"U" + struct.pack(">I", oid) + b"O" + _row(old) + b"N" + _row(new)


def update_without_old_row(oid: int, new: Row) -> bytes:
    return b"U" + struct.pack(">I", oid) + b"N" + _row(new)


def delete(oid: int, old: Row) -> bytes:
    return b"D" + struct.pack(">I", oid) + b"O" + _row(old)


def truncate(*oids: int) -> bytes:
    return b"T" + struct.pack(">iB", len(oids), 0) + struct.pack(f">{len(oids)}I", *oids)


def _row(values: Row) -> bytes:
    found = struct.pack(">h", len(values))
    for each in values:
        if each is None:
            found += b"n"
        elif each is UNCHANGED:
            found += b"u"
        else:
            text = str(each).encode()
            found += b"t" + struct.pack(">i", len(text)) + text
    return found
