"""Defines the value that plan nodes hold for a piece of SQL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from sqlglot import exp

from millstream.plan.expressions.canonical import canonical_text
from millstream.plan.expressions.determinism import nondeterministic_parts
from millstream.sql.text import SourceText


@dataclass(frozen=True, slots=True)
class ColumnReference:
    """A resolved column: the alias of the stream it is read from, or None over an operator's own
    columns, and the column's declared name."""

    alias: str | None
    name: str


Part = str | ColumnReference


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the user has written an expression: offsets of its first and last character."""

    text: SourceText
    span: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Expression:
    """An expression of SQL over resolved columns.

    `parts` are the user's own characters, on one line and without comments, with a reference in
    place of every column: Spark must run what was written, and sqlglot's generator rewrites some
    functions. Two expressions are equal if their canonical texts are.
    """

    parts: tuple[Part, ...]
    build: Callable[[], exp.Expr] = field(repr=False)  # makes the resolved tree, when first needed
    type: str | None = field(default=None, repr=False)  # Spark SQL; None: only Spark can tell
    origin: Origin | None = field(default=None, repr=False)

    @cached_property
    def tree(self) -> exp.Expr:
        """The resolved sqlglot tree: every `Column` in it is one of `columns`. Do not change it."""
        return self.build()

    @property
    def columns(self) -> tuple[ColumnReference, ...]:
        """The columns that the expression names, each once, in the order of the text."""
        return tuple(dict.fromkeys(part for part in self.parts if not isinstance(part, str)))

    @property
    def has_star(self) -> bool:
        """Does it read all columns of a stream, as in `struct(*)`?"""
        stars = any("*" in part for part in self.parts if isinstance(part, str))
        return stars and self.tree.find(exp.Star) is not None

    @property
    def column(self) -> ColumnReference | None:
        """The column that the expression is, in parentheses or not; None if it is more."""
        found = None
        for part in self.parts:
            if isinstance(part, str):
                if part.strip("()"):
                    return None
            elif found is None:
                found = part
            else:
                return None
        return found

    @property
    def is_column(self) -> bool:
        return self.column is not None

    @property
    def is_deterministic(self) -> bool:
        """Does it give the same value whenever it is evaluated for the same row?"""
        return next(nondeterministic_parts(self.tree), None) is None

    def column_of(self, alias: str | None, *, qualified: bool = False) -> str | None:
        """The name of the column that the expression is, if it is read from `alias`. A reference
        without an alias counts, unless it must be `qualified`."""
        found = self.column
        if found is None:
            return None
        if found.alias is None:
            return None if qualified else found.name
        return found.name if found.alias == alias else None

    def canonical(self) -> str:
        """The normalised text for state identity. It is ours: releases of sqlglot do not change
        it, and neither do blanks, comments and the case of keywords and functions."""
        return self._canonical

    @cached_property
    def _canonical(self) -> str:
        found = self.column
        parts: tuple[Part, ...] = self.parts if found is None else (found,)
        return canonical_text(
            part if isinstance(part, str) else (part.alias, part.name) for part in parts
        )

    def __str__(self) -> str:
        """Its Spark SQL, for messages and `explain`."""
        from millstream.plan.expressions.spark_sql import to_spark_sql

        return to_spark_sql(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Expression):
            return NotImplemented
        return self._canonical == other._canonical

    def __hash__(self) -> int:
        return hash(self._canonical)
