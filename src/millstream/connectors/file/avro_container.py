"""The container format of Avro: a header with the schema, and blocks of records.

    magic, map of metadata, sync marker of 16 bytes        header
    number of records, size, records, sync marker          block, any number of times

A block can be read without those before it, so the blocks of a file are its row groups.
"""

from __future__ import annotations

import bz2
import io
import json
import lzma
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import IO, Any

import pyarrow as pa

from millstream.connectors.file.text_file import UnreadableFileError

_MAGIC = b"Obj\x01"
_SYNC = 16
_LONGEST = 10  # bytes of a number


@dataclass(frozen=True, slots=True)
class AvroHeader:
    """The header of a file, which ends at the offset `end`."""

    schema: dict[str, Any]
    codec: str
    sync: bytes
    end: int

    def encoded(self) -> bytes:
        values = {
            "avro.schema": json.dumps(self.schema).encode(),
            "avro.codec": self.codec.encode(),
        }
        entries = b"".join(
            encode_long(len(name)) + name.encode() + encode_long(len(value)) + value
            for name, value in values.items()
        )
        return _MAGIC + encode_long(len(values)) + entries + encode_long(0) + self.sync


@dataclass(frozen=True, slots=True)
class AvroBlock:
    """A block at an offset, with its number of records and its size, all of it included."""

    offset: int
    rows: int
    size: int


def read_header(file: IO[bytes]) -> AvroHeader:
    """Reads the header; raises UnreadableFileError if the file does not begin with one."""
    try:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise UnreadableFileError("it is not an Avro file.")
        values: dict[str, bytes] = {}
        while count := read_long(file):
            if count < 0:  # the size of the entries follows
                read_long(file)
            for _ in range(abs(count)):
                name = _exactly(file, read_long(file)).decode()
                values[name] = _exactly(file, read_long(file))
        sync = _exactly(file, _SYNC)
        schema = json.loads(values["avro.schema"])
    except (EOFError, KeyError, ValueError):
        raise UnreadableFileError("it is not a whole Avro file: its header is damaged.") from None
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise UnreadableFileError("its schema is not a record, so it has no columns.")
    codec = values.get("avro.codec", b"null").decode()
    return AvroHeader(schema, codec, sync, file.tell())


def read_blocks(file: IO[bytes], header: AvroHeader, size: int) -> Iterator[AvroBlock]:
    """Finds the blocks of a file of `size` bytes, without decoding them; raises UnreadableFileError
    if one of them is not complete."""
    place = header.end
    while place < size:
        block = _block(file, header, place, size)
        if block is None:
            raise UnreadableFileError(
                f"it is not a whole Avro file: its block at byte {place} is damaged."
            )
        if block.rows:
            yield block
        place += block.size


def _block(file: IO[bytes], header: AvroHeader, place: int, size: int) -> AvroBlock | None:
    """Returns the block at an offset; None if it is not complete."""
    file.seek(place)
    try:
        rows, length = read_long(file), read_long(file)
        end = file.tell() + length
        if rows < 0 or length < 0 or end + _SYNC > size:
            return None
        file.seek(end)
        is_whole = _exactly(file, _SYNC) == header.sync
    except EOFError:
        return None
    return AvroBlock(place, rows, end + _SYNC - place) if is_whole else None


def decompress(header: AvroHeader, blocks: bytes) -> tuple[AvroHeader, bytes]:
    """Returns some blocks of a file, and its header, without compression."""
    if header.codec == "null":
        return header, blocks
    codec = _CODECS.get(header.codec)
    if codec is None:
        raise UnreadableFileError(f"its compression {header.codec} is not supported.")
    file, found = io.BytesIO(blocks), []
    for block in read_blocks(file, replace(header, end=0), len(blocks)):
        file.seek(block.offset)
        rows, size = read_long(file), read_long(file)
        data = codec(file.read(size))
        found.append(encode_long(rows) + encode_long(len(data)) + data + header.sync)
    return replace(header, codec="null"), b"".join(found)


def _snappy(data: bytes) -> bytes:
    """Decompresses a block, which ends with a checksum."""
    value = shift = place = 0
    while data[place] >= 0x80:
        value |= (data[place] & 0x7F) << shift
        place, shift = place + 1, shift + 7
    size = value | data[place] << shift
    found = bytes(pa.Codec("snappy").decompress(data[:-4], size))
    if zlib.crc32(found) != int.from_bytes(data[-4:], "big"):
        raise ValueError("the checksum of a block is wrong")
    return found


def _zstandard(data: bytes) -> bytes:
    return bytes(pa.CompressedInputStream(pa.BufferReader(data), "zstd").read())


_CODECS: dict[str, Callable[[bytes], bytes]] = {
    "deflate": lambda data: zlib.decompress(data, -zlib.MAX_WBITS),
    "snappy": _snappy,
    "zstandard": _zstandard,
    "bzip2": bz2.decompress,
    "xz": lzma.decompress,
}


def read_long(file: IO[bytes]) -> int:
    value = shift = 0
    for _ in range(_LONGEST):
        (byte,) = _exactly(file, 1)
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1)
        shift += 7
    raise EOFError


def encode_long(value: int) -> bytes:
    rest = (value << 1) ^ (value >> 63)
    found = bytearray()
    while rest > 0x7F:
        found.append(rest & 0x7F | 0x80)
        rest >>= 7
    found.append(rest)
    return bytes(found)


def _exactly(file: IO[bytes], size: int) -> bytes:
    data = file.read(size) if size >= 0 else b""
    if len(data) != size:
        raise EOFError
    return data


def container(header: AvroHeader, blocks: bytes) -> io.BytesIO:
    """Returns a file with some blocks of another one."""
    return io.BytesIO(header.encoded() + blocks)
