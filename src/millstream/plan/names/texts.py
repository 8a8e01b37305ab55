"""Characters of the user's text, on one line."""

from __future__ import annotations

from millstream.plan.names.scope import Reference
from millstream.sql.dialect import Millstream
from millstream.sql.text import SourceText


def flat_text(source: str, span: tuple[int, int], references: dict[int, Reference]) -> str:
    """The characters of a span with references put in place, on one line and without comments."""
    start, end = span
    pieces: list[str] = []
    last = start - 1
    for token in Millstream().tokenize(source[start : end + 1]):
        token_start, token_end = token.start + start, token.end + start
        if token_start <= last:  # part of a reference, or of a literal such as 1L that is three
            continue
        if pieces and token_start > last + 1:
            pieces.append(" ")
        reference = references.get(token_start)
        pieces.append(reference.text if reference else source[token_start : token_end + 1])
        last = reference.end if reference else token_end
    return "".join(pieces)


def was_filled(span: tuple[int, int], text: SourceText) -> bool:
    """Was a variable filled in there? Errors show no values of variables."""
    return any(start <= span[1] and span[0] < end for start, end, *_ in text.fillings)
