"""Finds where CSV records begin and end.

A record ends at a line end outside quoted values. A quote opens a value if it is the value's first
character; the closing quote is followed by a delimiter or a line end. If it is not, the line is
malformed and reading continues with the next line, so that an unclosed quote does not affect the
rest of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

LONGEST = 16 << 20  # bytes of a quoted value; a longer value counts as not closed
_LINE_ENDS = (10, 13)
Positions = npt.NDArray[np.int64]


@dataclass(slots=True)
class CsvForm:
    """The CSV dialect. `escape` differs from the quote, or is empty."""

    delimiter: str = ","
    quote: str = '"'
    escape: str = ""
    multiline: bool = True
    trim: bool = False
    _record: re.Pattern[bytes] = field(init=False)
    _value: re.Pattern[bytes] = field(init=False)
    _open: re.Pattern[bytes] = field(init=False)

    def __post_init__(self) -> None:
        delimiter = re.escape(self.delimiter.encode())
        escape = re.escape(self.escape.encode())
        blank = rb"[ \t]*+" if self.trim else b""
        escaped = rb"|%b(?s:.)" % escape if escape else b""
        plain = rb"(?:[^%b%b\r\n]++%b)*+" % (delimiter, escape, escaped)
        either, opening = plain, rb"(?!)"
        if self.quote:
            quote = re.escape(self.quote.encode())
            inside = rb"[^%b%b%b]" % (quote, escape, b"" if self.multiline else rb"\r\n")
            opening = rb"%b(?:%b++|%b%b%b)*+" % (quote, inside, quote, quote, escaped)
            quoted = rb"%b%b%b(?=[%b\r\n]|\Z)" % (opening, quote, blank, delimiter)
            either = rb"%b|(?!%b)%b" % (quoted, quote, plain)
        value = rb"%b(?:%b)" % (blank, either)
        self._record = re.compile(rb"%b(?:%b%b)*+(?=[\r\n]|\Z)" % (value, delimiter, value))
        self._open = re.compile(rb"(?:%b%b)*+%b%b\Z" % (value, delimiter, blank, opening))
        self._value = re.compile(rb"%b(%b)(%b|\Z)" % (blank, either, delimiter))

    def is_plain(self, data: bytes) -> bool:
        """Whether every CSV parser splits these bytes into the same records."""
        if self.trim or (self.escape and self.escape.encode() in data):
            return False
        if b"\r" in data and data.count(b"\r") != data.count(b"\r\n"):
            return False
        if not self.has_quotes(data):
            return True
        quotes = self._pairs(data)
        return quotes is not None and len(quotes) % 2 == 0

    def end_of(self, data: bytes, last: bool) -> int:
        """Returns where the last complete record ends. `last`: no more bytes follow."""
        if last:
            return len(data)
        if not self.multiline or not self.has_quotes(data):
            return (data.rfind(b"\n") if b"\n" in data else data.rfind(b"\r", 0, -1)) + 1
        if not self.trim and not (self.escape and self.escape.encode() in data):
            quotes = self._pairs(data)
            if quotes is not None and (end := _outside(data, quotes)):
                return end
        end = 0
        for begin, stop, closed in self._records(data):
            if stop == len(data) or (not closed and self._open.match(data, begin)):
                break
            end = stop
        # A value that is not closed within this size is treated as never closed.
        return _line_end(data, 0) + 1 if end == 0 and len(data) > LONGEST else end

    def records(self, block: bytes) -> Iterator[tuple[int, bytes, bool]]:
        """Yields offset and bytes of each record that is not empty, and false if a quote is not
        closed."""
        for begin, stop, closed in self._records(block):
            if text := block[begin:stop].rstrip(b"\r\n"):
                yield begin, text, closed

    def _records(self, data: bytes) -> Iterator[tuple[int, int, bool]]:
        place, size = 0, len(data)
        while place < size:
            found = self._record.match(data, place)
            end = found.end() if found else _line_end(data, place)
            stop = min(end + (2 if data[end : end + 2] == b"\r\n" else 1), size)
            yield place, stop, found is not None
            place = stop

    def values(self, record: bytes) -> Iterator[bytes]:
        """Yields the values of a record as written, trimmed if `trim` is set."""
        place, more = 0, True
        while more:
            value = self._value.match(record, place)
            assert value is not None, record
            yield value[1].rstrip(b" \t") if self.trim else value[1]
            place, more = value.end(), bool(value[2])

    def fields(self, record: bytes) -> int:
        """Returns the number of values of a record."""
        if not self.has_quotes(record) and not self.escape:
            return record.count(self.delimiter.encode()) + 1
        return sum(1 for _ in self.values(record))

    def has_quotes(self, data: bytes) -> bool:
        return bool(self.quote) and self.quote.encode() in data

    def _pairs(self, data: bytes) -> Positions | None:
        """Returns the positions of quotes if each begins or ends its value or is doubled."""
        characters = np.frombuffer(data, np.uint8)
        quotes = np.flatnonzero(characters == ord(self.quote))
        begins, ends = quotes[0::2], quotes[1::2]
        around = (ord(self.delimiter), *_LINE_ENDS)
        first = np.isin(characters[begins - 1], around) | (begins == 0)
        first[1:] |= begins[1:] == ends[: len(begins) - 1] + 1
        follow = ends[ends + 1 < len(data)] + 1
        last = np.isin(characters[follow], (*around, ord(self.quote)))
        if not first.all() or not last.all():
            return None
        if not self.multiline and not _on_one_line(characters, begins, ends):
            return None
        return quotes


def _on_one_line(characters: npt.NDArray[np.uint8], begins: Positions, ends: Positions) -> bool:
    if len(begins) > len(ends):
        return False
    lines = np.flatnonzero((characters == _LINE_ENDS[0]) | (characters == _LINE_ENDS[1]))
    return bool((np.searchsorted(lines, begins) == np.searchsorted(lines, ends)).all())


def _outside(data: bytes, quotes: Positions) -> int:
    """Returns the offset after the last line feed outside quoted values."""
    place = int(quotes[-1]) if len(quotes) % 2 else len(data)
    while (line := data.rfind(b"\n", 0, place)) >= 0:
        before = int(np.searchsorted(quotes, line))
        if before % 2 == 0:
            return line + 1
        place = int(quotes[before - 1])
    return 0


def _line_end(data: bytes, place: int) -> int:
    ends = [end for end in (data.find(b"\n", place), data.find(b"\r", place)) if end >= 0]
    return min(ends, default=len(data))
