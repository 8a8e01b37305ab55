"""Copies parts of the user's text to one line."""

from __future__ import annotations

from millstream.plan.expressions.compose import merge_parts
from millstream.plan.expressions.expression import Part
from millstream.plan.expressions.spark_sql import reference_sql, to_spark_sql
from millstream.plan.resolve.scope import ResolvedName
from millstream.sql.dialect import Millstream
from millstream.sql.origins import Piece
from millstream.sql.text import SourceText


def flat_text(source: str, span: tuple[int, int], references: dict[int, ResolvedName]) -> str:
    """Returns the text of a span with references resolved, on one line and without comments."""
    parts, _ = flat_parts(source, span, references)
    return "".join(part if isinstance(part, str) else reference_sql(part) for part in parts)


def flat_parts(
    source: str, span: tuple[int, int], references: dict[int, ResolvedName]
) -> tuple[tuple[Part, ...], tuple[Piece, ...]]:
    """Returns the parts of the expression in a span, and the origins of its text."""
    start, end = span
    parts: list[Part] = []
    origins: list[Piece] = []
    last, length = start - 1, 0
    for token in Millstream().tokenize(source[start : end + 1]):
        token_start, token_end = token.start + start, token.end + start
        if token_start <= last:  # part of a reference, or of a literal such as 1L that is three
            continue
        if parts and token_start > last + 1:
            parts.append(" ")
            length += 1
        reference = references.get(token_start)
        last = reference.end if reference else token_end
        origins.append(Piece(length, token_start, last))
        if reference:
            parts += reference.expression.parts
            length += len(to_spark_sql(reference.expression))
        else:
            parts.append(source[token_start : token_end + 1])
            length += token_end + 1 - token_start
    return merge_parts(parts), tuple(origins)


def contains_variable(span: tuple[int, int], text: SourceText) -> bool:
    """Returns whether a variable was substituted in a span; errors do not show its value."""
    return any(start <= span[1] and span[0] < end for start, end, *_ in text.substitutions)
