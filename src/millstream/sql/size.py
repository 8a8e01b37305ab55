"""Rejects SQL that is too large or nested too deeply, before and after it is parsed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NoReturn

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from millstream.errors import SqlError
from millstream.sql.limits import MAX_DIGITS, MAX_NAME, MAX_NESTING, MAX_TERMS
from millstream.sql.spans import span_of
from millstream.sql.text import SourceText

_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}
_OPERATORS = (exp.Binary, exp.Unary, exp.Bracket, exp.Cast, exp.Predicate, exp.SetOperation)
_NESTED_TYPES = {TokenType.ARRAY, TokenType.MAP, TokenType.STRUCT}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}


def reject_large_tokens(tokens: Sequence[Token], source: SourceText) -> None:
    """Rejects numbers and names that are too long, and text that is nested too deeply."""
    _reject_nesting(tokens, source)
    for token in tokens:
        if token.token_type is TokenType.NUMBER and len(token.text) > MAX_DIGITS:
            _reject(
                f"this number has {len(token.text):,} characters, and the maximum is {MAX_DIGITS}.",
                source,
                token.start,
            )
        elif token.token_type is not TokenType.STRING and len(token.text) > MAX_NAME:
            _reject(
                f"this name has {len(token.text):,} characters, and the maximum is {MAX_NAME:,}.",
                source,
                token.start,
            )


def _reject_nesting(tokens: Sequence[Token], source: SourceText) -> None:
    depth = types = 0  # of brackets and CASE, of ARRAY<…>
    before = None
    for token in tokens:
        kind = token.token_type
        if kind in _OPENING:
            depth += 1
        elif kind in _CLOSING:
            depth = max(depth - 1, 0)
        elif kind is TokenType.LT and before in _NESTED_TYPES:
            types += 1
        elif kind is TokenType.GT:
            types = max(types - 1, 0)
        elif kind is TokenType.SEMICOLON:
            depth = types = 0
        if depth > MAX_NESTING or types > MAX_NESTING:
            raise nesting_error(source, token.start)
        before = kind


def reject_deep_tree(tree: exp.Expr, source: SourceText) -> None:
    """Rejects a tree with too many chained operators: a + b + c is two levels deep."""
    stack = [(tree, 0)]
    while stack:
        node, operators = stack.pop()
        if isinstance(node, _OPERATORS) and not isinstance(node, exp.Paren):
            operators += 1
        if operators > MAX_TERMS:
            spans = [span for each in _ancestors(node) if (span := span_of(each))]
            _reject(
                f"more than {MAX_TERMS} operators are chained here.",
                source,
                spans[0][0] if spans else 0,
                fix="Split it over several queries; for a list of values, write IN (…).",
            )
        stack += [(child, operators) for child in node.iter_expressions()]


def _ancestors(node: exp.Expr | None) -> Iterator[exp.Expr]:
    while node is not None:
        yield node
        node = node.parent


def nesting_error(source: SourceText, offset: int) -> SqlError:
    return SqlError(
        "MS-SQL-SIZE",
        f"the text is nested more than {MAX_NESTING} levels deep here.",
        fix="Move inner queries to CREATE STREAM or WITH.",
        place=source.place(offset),
    )


def _reject(cause: str, source: SourceText, offset: int, fix: str = "") -> NoReturn:
    raise SqlError("MS-SQL-SIZE", cause, fix=fix, place=source.place(offset))
