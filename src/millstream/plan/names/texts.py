"""Characters of the user's text, on one line."""

from __future__ import annotations

from millstream.plan.names.scope import Reference
from millstream.sql.dialect import Millstream
from millstream.sql.origins import Piece
from millstream.sql.text import SourceText


def flat_text(source: str, span: tuple[int, int], references: dict[int, Reference]) -> str:
    """The characters of a span with references put in place, on one line and without comments."""
    return flat_pieces(source, span, references)[0]


def flat_pieces(
    source: str, span: tuple[int, int], references: dict[int, Reference]
) -> tuple[str, tuple[Piece, ...]]:
    """The flat text of a span, and the pieces that it is made of."""
    start, end = span
    pieces: list[str] = []
    origins: list[Piece] = []
    last, length = start - 1, 0
    for token in Millstream().tokenize(source[start : end + 1]):
        token_start, token_end = token.start + start, token.end + start
        if token_start <= last:  # part of a reference, or of a literal such as 1L that is three
            continue
        if pieces and token_start > last + 1:
            pieces.append(" ")
            length += 1
        reference = references.get(token_start)
        last = reference.end if reference else token_end
        origins.append(Piece(length, token_start, last))
        pieces.append(reference.text if reference else source[token_start : token_end + 1])
        length += len(pieces[-1])
    return "".join(pieces), tuple(origins)


def was_filled(span: tuple[int, int], text: SourceText) -> bool:
    """Was a variable filled in there? Errors show no values of variables."""
    return any(start <= span[1] and span[0] < end for start, end, *_ in text.fillings)
