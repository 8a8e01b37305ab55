"""Opens local and remote text files, compressed or not, in any encoding, as seekable UTF-8."""

from __future__ import annotations

import codecs
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import IO, Any

import pyarrow as pa

from millstream.connectors.dead_letters import DELETED
from millstream.connectors.file.file_patterns import split_query
from millstream.connectors.paths import filesystem, to_local_path
from millstream.errors import RunError

BOM = b"\xef\xbb\xbf"
BLOCK = 4 << 20  # bytes that are parsed at a time
_IN_MEMORY = 64 << 20  # of decompressed text; more goes to a temporary file
_CODECS = {
    ".gz": "gzip",
    ".bz2": "bz2",
    ".zst": "zstd",
    ".zstd": "zstd",
    ".lz4": "lz4",
    ".br": "brotli",
}
_NOT_READ = (".deflate", ".snappy", ".xz", ".zip", ".7z")
UTF8 = "utf-8"


class UnreadableFileError(Exception):
    """A file cannot be read; the message says why."""


@dataclass(slots=True)
class Text:
    """The text of a file. `split`: several tasks can read parts of it."""

    file: IO[bytes]
    size: int
    split: bool
    _counted: tuple[int, int] = (0, 1)  # an offset, and the line that it is in

    def line(self, offset: int) -> int:
        """Returns the number, from 1, of the line at an offset; offsets must not decrease."""
        place, line = self._counted
        self.file.seek(place)
        while place < offset:
            data = self.file.read(min(BLOCK, offset - place))
            if not data:
                break
            place, line = place + len(data), line + line_ends(data)
        self._counted = place, line
        return line

    def line_start(self, first: int, offset: int) -> int:
        """Returns where the first line at or after both `first` and `offset` begins."""
        place = max(first, offset)
        if place == first:
            return first
        self.file.seek(place - 1)
        while data := self.file.read(BLOCK):
            end = data.find(b"\n")
            if end >= 0:
                return min(place + end, self.size)
            place += len(data)
        return self.size

    def blocks(
        self, first: int, stop: int, end_of: Callable[[bytes, bool], int], limit: int | None = None
    ) -> Iterator[tuple[int, bytes]]:
        """Yields blocks of whole records that begin between `first` and `stop`, with their offsets.

        `end_of(data, is_last)` returns where the last complete record of `data` ends, or 0. The
        last record ends at `limit`, by default the end of the file."""
        limit = self.size if limit is None else limit
        place = first
        while place < stop:
            self.file.seek(place)
            data = self.file.read(min(BLOCK, limit - place))
            while (end := end_of(data, place + len(data) >= limit)) == 0 and data:
                data += self.file.read(min(BLOCK, limit - place - len(data)))
            if end == 0:
                return
            yield place, data[:end]
            place += end


def line_ends(data: bytes) -> int:
    """Counts line ends: line feeds or, if there are none, carriage returns."""
    return max(data.count(b"\n"), data.count(b"\r"))


@contextmanager
def open_text(path: str, encoding: str = UTF8) -> Iterator[Text]:
    """Opens a file; raises UnreadableFileError if it is missing or its compression is damaged."""
    with ExitStack() as stack:
        source = stack.enter_context(_raw(path))
        codec = _codec(path)
        if codec is None and encoding == UTF8:
            size = source.seek(0, os.SEEK_END)
            yield Text(source, size, split=True)
            return
        spool = stack.enter_context(tempfile.SpooledTemporaryFile(_IN_MEMORY))
        stream = source if codec is None else _decompressed(source, codec)
        try:
            _copy(stream, spool, encoding)
        except OSError as error:
            if error.errno is not None:  # an error of the disk or the network
                raise
            raise UnreadableFileError(f"its compression is damaged: {error}.") from None
        # Decompressed completely first, so that a damaged file yields none of its rows.
        yield Text(spool, spool.tell(), split=False)


def _raw(path: str) -> Any:
    try:
        if path.startswith(("/", "file:")):
            return open(to_local_path(path), "rb")  # noqa: PTH123 -- closed by the caller
        system, name = filesystem(path)
        return system.open_input_file(name)
    except FileNotFoundError:
        raise UnreadableFileError(DELETED) from None
    except IsADirectoryError:
        raise UnreadableFileError("it is a folder.") from None
    except OSError as error:
        raise not_opened(path, error) from None


def not_opened(path: str, error: OSError) -> RunError:
    return RunError(
        "MS-RUN-FILE",
        f"{path} cannot be opened: {error}.",
        fix="Make the file readable, or remove it, and run the job again. No row of it was read.",
    )


def is_compressed(path: str) -> bool:
    return split_query(path)[0].lower().endswith((*_CODECS, *_NOT_READ))


def _codec(path: str) -> str | None:
    lowered = split_query(path)[0].lower()
    if lowered.endswith(_NOT_READ):
        raise UnreadableFileError(
            f"its compression is not supported. Supported are {', '.join(_CODECS)}."
        )
    return next((codec for ending, codec in _CODECS.items() if lowered.endswith(ending)), None)


def _decompressed(source: Any, codec: str) -> Any:
    native = source if isinstance(source, pa.NativeFile) else pa.PythonFile(source, "r")
    return pa.CompressedInputStream(native, codec)


def _copy(stream: Any, spool: Any, encoding: str) -> None:
    if encoding == UTF8:
        while data := stream.read(BLOCK):
            spool.write(data)
        return
    # Invalid bytes become bytes that are invalid in UTF-8, so that their record is malformed.
    decoder = codecs.getincrementaldecoder(encoding)("surrogateescape")
    while True:
        data = stream.read(BLOCK)
        spool.write(decoder.decode(data, final=not data).encode(UTF8, "surrogateescape"))
        if not data:
            return
