"""Reads values of one Avro schema at once, as the records of an Avro container.

A value has no length in a container: after one that is malformed, the reader would take the next
for a part of it, and find records that nobody wrote. So each record has one more field, a number
of 8 bytes that is its place in the block. Where a record ends elsewhere, that number is wrong.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
from polars.exceptions import PanicException, PolarsError

AvroSchema = Mapping[str, Any]
_END = "_ms_end"
_SYNC = b"millstream-block"
_FIRST_END = 0x4D53_6D73_0000_0000  # as DOUBLE, an ordinary number
_PRIMITIVE = ("boolean", "int", "long", "float", "double", "bytes", "string")


def can_read(schema: Any) -> bool:
    """Tests whether Polars reads all types of a schema; others are read record by record."""
    if isinstance(schema, str):
        return schema in _PRIMITIVE
    if isinstance(schema, list):
        others = [each for each in schema if each != "null"]
        return len(schema) == 2 and len(others) == 1 and can_read(others[0])
    kind = schema["type"]
    if kind == "record":
        return bool(schema["fields"]) and all(can_read(each["type"]) for each in schema["fields"])
    if kind == "array":
        return can_read(schema["items"])
    if kind in ("enum", "fixed"):
        return schema.get("logicalType") in (None, "decimal")
    return kind in _PRIMITIVE or (isinstance(kind, dict | list) and can_read(kind))


@dataclass(frozen=True, slots=True)
class AvroBlocks:
    """Reads values of a schema whose types Polars reads."""

    header: bytes

    @classmethod
    def of(cls, schema: AvroSchema) -> AvroBlocks:
        fields = [*schema["fields"], {"name": _END, "type": "double"}]
        text = json.dumps({**schema, "fields": fields}).encode()
        codec = _pair(b"avro.codec", b"null")
        return cls(b"Obj\x01" + _long(2) + _pair(b"avro.schema", text) + codec + _long(0) + _SYNC)

    def read(self, values: Sequence[bytes]) -> pa.Table | None:
        """Returns the columns of the values; None if one is not exactly one record."""
        count = len(values)
        ends = np.arange(_FIRST_END, _FIRST_END + count, dtype=np.int64)
        raw = ends.tobytes()
        marks = [raw[place : place + 8] for place in range(0, len(raw), 8)]
        data = b"".join(chain.from_iterable(zip(values, marks, strict=True)))
        block = [self.header, _long(count), _long(len(data)), data, _SYNC]
        try:
            with _without_panic_messages():
                frame = pl.read_avro(io.BytesIO(b"".join(block)))
        except (PolarsError, OSError, ValueError, OverflowError, PanicException):
            return None
        if frame.height != count or not _are_equal(frame[_END], ends):
            return None
        return frame.drop(_END).to_arrow(compat_level=pl.CompatLevel.oldest())


def _are_equal(found: pl.Series, ends: npt.NDArray[np.int64]) -> bool:
    return bool(np.array_equal(found.to_numpy().view(np.int64), ends))


def _long(number: int) -> bytes:
    """Encodes a number as Avro does."""
    left = (number << 1) ^ (number >> 63)
    made = bytearray()
    while left & ~0x7F:
        made.append((left & 0x7F) | 0x80)
        left >>= 7
    made.append(left)
    return bytes(made)


def _pair(name: bytes, value: bytes) -> bytes:
    return _long(len(name)) + name + _long(len(value)) + value


@contextmanager
def _without_panic_messages() -> Iterator[None]:
    """Polars panics at some malformed values, and writes so to stderr before Python can know."""
    stderr = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(nowhere)
