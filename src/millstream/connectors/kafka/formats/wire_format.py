"""The prefix of values by which Confluent's clients name the schema of a value.

    0, id in 4 bytes                      Avro
    0, id in 4 bytes, message indexes     Protobuf: which message of the file it is

Indexes are zigzag varints: their number, and the place of each message in the one around it. The
first message of the file is one byte 0.
"""

from __future__ import annotations

from typing import NamedTuple

MAGIC = b"\x00"
PREFIX = 5


class WireValue(NamedTuple):
    """The schema of a value, and where its record starts."""

    schema: int
    message: tuple[int, ...]
    start: int


def read_prefix(value: bytes, *, has_message: bool) -> WireValue | None:
    """Returns what the prefix of a value says; None if it has none."""
    if len(value) < PREFIX or value[:1] != MAGIC:
        return None
    schema = int.from_bytes(value[1:PREFIX], "big")
    if not has_message:
        return WireValue(schema, (), PREFIX)
    found = _message_path(value, PREFIX)
    return None if found is None else WireValue(schema, *found)


def prefix_of(schema: int, message: tuple[int, ...] | None = None) -> bytes:
    """Returns the prefix of a value; of Protobuf with `message`."""
    prefix = MAGIC + schema.to_bytes(4, "big")
    if message is None:
        return prefix
    if message == (0,):
        return prefix + b"\x00"
    return prefix + b"".join(map(_varint, (len(message), *message)))


def _message_path(value: bytes, place: int) -> tuple[tuple[int, ...], int] | None:
    count = _read_varint(value, place)
    if count is None:
        return None
    number, place = count
    if number == 0:
        return (0,), place
    if not 0 < number <= len(value):
        return None
    path = []
    for _ in range(number):
        index = _read_varint(value, place)
        if index is None or index[0] < 0:
            return None
        path.append(index[0])
        place = index[1]
    return tuple(path), place


def _read_varint(value: bytes, place: int) -> tuple[int, int] | None:
    found = shift = 0
    while place < len(value) and shift < 35:
        byte = value[place]
        found |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return (found >> 1) ^ -(found & 1), place
    return None


def _varint(number: int) -> bytes:
    left = number << 1
    made = bytearray()
    while left > 0x7F:
        made.append((left & 0x7F) | 0x80)
        left >>= 7
    made.append(left)
    return bytes(made)
