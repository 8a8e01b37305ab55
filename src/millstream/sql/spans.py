"""A Spark SQL parser that records the span of every expression and the positions of errors.

A plan passes the user's own text to Spark, so each node must know the characters it was parsed
from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token

Parsed = TypeVar("Parsed", bound="exp.Expr | None")


class PositionedParseError(ParseError):
    """A parse error with the offset where the parser stopped and the token there."""

    def __init__(self, code: str, message: str, offset: int, found: str, fix: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.offset = offset
        self.found = found
        self.fix = fix


def span_of(node: exp.Expr) -> tuple[int, int] | None:
    """Returns the offsets of the first and last character of a node's text."""
    span: tuple[int, int] | None = node.meta.get("span")
    if span is None and isinstance(node, exp.Column):
        parts = [part.meta for part in node.parts if "start" in part.meta]
        return (parts[0]["start"], parts[-1]["end"]) if parts else None
    return span


def set_span(node: exp.Expr, first: Token, last: Token) -> None:
    node.meta["span"] = (first.start, last.end)


class SpannedParser(SparkParser):
    def raise_error(self, message: str, token: Any = None) -> NoReturn:
        token = token or self._curr
        if token:
            raise PositionedParseError("MS-SQL-PARSE", message, token.start, token.text)
        raise PositionedParseError(
            "MS-SQL-PARSE", message, self._prev.end + 1 if self._prev else 0, ""
        )

    def reject(self, message: str, token: Token, fix: str) -> NoReturn:
        raise PositionedParseError("MS-SQL-STATEMENT", message, token.start, token.text, fix)

    def _spanned(self, parse: Callable[[], Parsed]) -> Parsed:
        first = self._curr
        node = parse()
        if node is not None and first and self._prev and self._prev.end >= first.start:
            set_span(node, first, self._prev)
        return node

    def _parse_expression(self) -> exp.Expr | None:
        return self._spanned(super()._parse_expression)

    def _parse_disjunction(self) -> exp.Expr | None:
        return self._spanned(super()._parse_disjunction)

    def _parse_conjunction(self) -> exp.Expr | None:
        return self._spanned(super()._parse_conjunction)

    def _parse_equality(self, parse_is: bool = True) -> exp.Expr | None:
        parse = super()._parse_equality
        return self._spanned(lambda: parse(parse_is))

    # With `this`, the text starts before the current token, and the caller sets the span.

    def _parse_comparison(self, this: exp.Expr | None = None) -> exp.Expr | None:
        parse = super()._parse_comparison
        return parse(this) if this is not None else self._spanned(parse)

    def _parse_range(self, this: exp.Expr | None = None, parse_is: bool = False) -> exp.Expr | None:
        parse = super()._parse_range
        if this is not None:
            return parse(this, parse_is)
        return self._spanned(lambda: parse(None, parse_is))

    def _parse_bitwise(self) -> exp.Expr | None:
        return self._spanned(super()._parse_bitwise)

    def _parse_unary(self) -> exp.Expr | None:
        return self._spanned(super()._parse_unary)

    def _parse_function(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        parse = super()._parse_function
        return self._spanned(lambda: parse(*args, **kwargs))

    def _parse_table(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        parse = super()._parse_table
        return self._spanned(lambda: parse(*args, **kwargs))

    def _parse_join(self, *args: Any, **kwargs: Any) -> exp.Join | None:
        parse = super()._parse_join
        return self._spanned(lambda: parse(*args, **kwargs))
