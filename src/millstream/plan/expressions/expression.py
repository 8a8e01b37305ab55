"""The values of expressions in plan nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from sqlglot import exp

from millstream.plan.expressions.canonical import canonical_text
from millstream.plan.expressions.determinism import nondeterministic_parts
from millstream.plan.expressions.sql_types import SqlType, sql_type
from millstream.sql.text import SourceText


@dataclass(frozen=True, slots=True)
class ColumnReference:
    """A resolved column: the alias of its stream and its declared name.

    The alias is None for an operator's own columns.
    """

    alias: str | None
    name: str


Part = str | ColumnReference


@dataclass(frozen=True, slots=True)
class Origin:
    """The position of an expression in the user's text: offsets of first and last character."""

    text: SourceText
    span: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Expression:
    """An SQL expression over resolved columns.

    `parts` are the user's own characters, on one line and without comments, with a reference in
    place of every column. Spark must run exactly this text, and sqlglot's generator rewrites some
    functions. Two expressions are equal if their canonical texts are.
    """

    parts: tuple[Part, ...]
    build: Callable[[], exp.Expr] = field(repr=False)  # builds the resolved tree on first use
    type: str | None = field(default=None, repr=False)  # Spark SQL; None: only Spark knows it
    origin: Origin | None = field(default=None, repr=False)
    value_type: SqlType | None = field(default=None, repr=False)  # if its family is known

    @cached_property
    def tree(self) -> exp.Expr:
        """The resolved sqlglot tree: every `Column` in it is one of `columns`. Do not change it."""
        return self.build()

    @property
    def columns(self) -> tuple[ColumnReference, ...]:
        """The distinct columns of the expression, in the order of the text."""
        return tuple(dict.fromkeys(part for part in self.parts if not isinstance(part, str)))

    @property
    def known_type(self) -> SqlType | None:
        """The declared or inferred type, or None if only Spark knows its family."""
        return self.value_type or sql_type(self.type)

    @property
    def has_star(self) -> bool:
        """Whether the expression reads all columns of a stream, as in `struct(*)`."""
        stars = any("*" in part for part in self.parts if isinstance(part, str))
        return stars and self.tree.find(exp.Star) is not None

    @property
    def column(self) -> ColumnReference | None:
        """The column reference that the expression consists of, or None."""
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
        """Whether the expression always gives the same value for the same row."""
        return next(nondeterministic_parts(self.tree), None) is None

    def column_of(self, alias: str | None, *, qualified: bool = False) -> str | None:
        """Returns the column's name if the expression is a column reference to `alias`.

        A reference without an alias counts, unless it must be `qualified`.
        """
        found = self.column
        if found is None:
            return None
        if found.alias is None:
            return None if qualified else found.name
        return found.name if found.alias == alias else None

    def canonical(self) -> str:
        """Returns the normalised text for state identity.

        It does not depend on the version of sqlglot, on blanks and comments, or on the case of
        keywords and functions.
        """
        return self._canonical

    @cached_property
    def _canonical(self) -> str:
        found = self.column
        parts: tuple[Part, ...] = self.parts if found is None else (found,)
        return canonical_text(
            part if isinstance(part, str) else (part.alias, part.name) for part in parts
        )

    def __str__(self) -> str:
        """Returns the Spark SQL, for messages and `explain`."""
        from millstream.plan.expressions.spark_sql import to_spark_sql

        return to_spark_sql(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Expression):
            return NotImplemented
        return self._canonical == other._canonical

    def __hash__(self) -> int:
        return hash(self._canonical)
