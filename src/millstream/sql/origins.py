"""Maps the expressions passed to Spark back to their positions in the user's SQL.

The text passed to Spark has qualified columns and no line breaks. When an expression fails for a
value, Spark reports a position in that text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple


class Piece(NamedTuple):
    """A token: its offset in the generated text, and the offsets of its first and last character in
    the user's text."""

    at: int
    first: int
    last: int


@dataclass(slots=True)
class Origins:
    """The generated texts of a job, each with the pieces of every position that it comes from.

    `is_written` is false for a text that no user has written, whose positions mean nothing.
    """

    texts: dict[str, list[tuple[Piece, ...]]] = field(default_factory=dict)
    is_written: bool = True

    def add(self, text: str, pieces: tuple[Piece, ...]) -> None:
        known = self.texts.setdefault(text, [])
        if pieces not in known:
            known.append(pieces)

    def spans(self, text: str, offset: int, length: int) -> list[tuple[int, int]]:
        """Returns the spans of the user's text that a part of a text passed to Spark comes from.

        The text may combine several generated texts. There are several spans if the user's text
        contains the same expression more than once.
        """
        containing = [
            (generated, offset - start)
            for generated in self.texts
            for start in _starts(text, generated)
            if start <= offset < start + len(generated)
        ]
        if not containing:
            return []
        generated, within = max(containing, key=lambda each: len(each[0]))
        return sorted(_span(pieces, within, length) for pieces in self.texts[generated])


def _span(pieces: tuple[Piece, ...], offset: int, length: int) -> tuple[int, int]:
    begin = [piece for piece in pieces if piece.at <= offset] or [pieces[0]]
    end = [piece for piece in pieces if piece.at < offset + length] or [pieces[0]]
    return begin[-1].first, end[-1].last


def _starts(text: str, part: str) -> Iterator[int]:
    start = text.find(part)
    while start >= 0:
        yield start
        start = text.find(part, start + 1)
