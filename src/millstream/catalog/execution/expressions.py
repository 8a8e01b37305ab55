"""Expressions of operations: parsed, located in YAML, and resolved against the joined columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from millstream.errors import MillstreamError, Place, SqlError
from millstream.plan.expressions import ColumnReference, Expression
from millstream.plan.expressions.determinism import nondeterministic_parts
from millstream.plan.expressions.parse import parse_expression
from millstream.sql.parse import parse
from millstream.sql.spans import span_of
from millstream.sql.statements import SelectStatement
from millstream.suggestions import same

_BEFORE = "SELECT "


@dataclass(frozen=True, slots=True)
class ParsedExpression:
    """An expression of YAML. `references` are its columns, with their offsets in the text."""

    expression: Expression
    references: tuple[tuple[ColumnReference, int], ...]
    text: str
    place: Place | None = None  # of the first character of the text

    def at(self, offset: int) -> Place | None:
        """Returns the place in YAML of an offset in the text."""
        return _shift_place(self.place, self.text, offset)


def parse_text(text: str, place: Place | None) -> ParsedExpression:
    """Parses one expression. Raises SqlError, with a place in YAML, if the text is not one."""
    try:
        (statement,) = parse(_BEFORE + text)
    except ValueError:
        raise _not_one(place) from None
    except SqlError as error:
        raise _in_yaml(error, text, place) from None
    tree = statement.query.tree if isinstance(statement, SelectStatement) else None
    if not isinstance(tree, exp.Select) or len(tree.expressions) != 1 or _has_more(tree):
        raise _not_one(place)
    (found,) = tree.expressions
    if isinstance(found, exp.Alias | exp.Star) or found.find(exp.Query, exp.Star):
        raise _not_one(place)
    columns = sorted((span_of(node) or (0, 0))[0] for node in found.find_all(exp.Column))
    expression = parse_expression(text)
    references = [part for part in expression.parts if isinstance(part, ColumnReference)]
    offsets = (offset - len(_BEFORE) for offset in columns)
    return ParsedExpression(expression, tuple(zip(references, offsets, strict=True)), text, place)


def find_nondeterministic(parsed: ParsedExpression) -> str | None:
    """Returns the part of an expression that can have another value in a replay; None if none."""
    tree = parsed.expression.tree
    part = next(nondeterministic_parts(tree), None)
    if part is None and (window := tree.find(exp.Window)) is not None:
        part = window  # the order of rows with equal values is not defined
    return part.sql("spark") if part is not None else None


@dataclass(frozen=True, slots=True)
class Scope:
    """The names that an expression can use: columns of the working dataset, with its table name or
    without, and columns of the datasets that are joined so far, as `alias.column`."""

    table: str | None  # None if the working dataset is not known
    columns: Sequence[str]
    joined: Mapping[str, Sequence[str]] = field(default_factory=dict)  # by alias

    def with_join(self, alias: str, columns: Sequence[str]) -> Scope:
        """Returns the scope after one more join."""
        return replace(self, joined={**self.joined, alias: columns})

    def resolve(self, reference: ColumnReference) -> ColumnReference | None:
        """Returns the column of the joined DataFrame that a reference means; None if unknown."""
        if reference.alias is None:
            names = [*self.columns, *self.stored()]
            name = _find(reference.name, names)
            return None if name is None else ColumnReference(None, name)
        if self.table is not None and same(reference.alias, self.table):
            name = _find(reference.name, self.columns)
            return None if name is None else ColumnReference(None, name)
        alias = _find(reference.alias, self.joined)
        if alias is not None:
            name = _find(reference.name, self.joined[alias])
            return None if name is None else ColumnReference(None, stored_name(name, alias))
        # A field of a struct: Spark's analyzer knows whether it exists.
        struct = _find(reference.alias, [*self.columns, *self.stored()])
        return None if struct is None else ColumnReference(struct, reference.name)

    def stored(self) -> list[str]:
        """Returns the names under which joined columns are stored."""
        return [stored_name(name, alias) for alias in self.joined for name in self.joined[alias]]

    def source(self, column: ColumnReference) -> tuple[str, str] | None:
        """Returns alias and column of a resolved reference; None for a working column."""
        stored = column.name if column.alias is None else column.alias  # of a struct
        for alias, names in self.joined.items():
            for name in names:
                if same(stored_name(name, alias), stored):
                    return alias, name
        return None

    def known(self, reference: ColumnReference) -> list[str]:
        """Returns the columns that a misspelt reference can mean, written as references."""
        alias = None if reference.alias is None else _find(reference.alias, self.joined)
        if alias is not None:
            return [f"{alias}.{name}" for name in self.joined[alias]]
        if reference.alias and self.table and same(reference.alias, self.table):
            return [f"{self.table}.{name}" for name in self.columns]
        joined = [f"{each}.{name}" for each in self.joined for name in self.joined[each]]
        return [*self.columns, *joined]


def resolve_names(parsed: ParsedExpression, scope: Scope) -> Expression:
    """Returns an expression over the columns of the joined DataFrame. All names must be known."""
    parts = []
    for part in parsed.expression.parts:
        found = scope.resolve(part) if isinstance(part, ColumnReference) else part
        assert found is not None, f"{part} is not known"
        parts.append(found)
    return Expression(tuple(parts), lambda: parsed.expression.tree)


def stored_name(column: str, alias: str) -> str:
    """Returns the name under which a joined column is stored while an operation runs."""
    return f"{column}_{alias}"


def reference_text(reference: ColumnReference) -> str:
    """Returns a reference as the user writes it."""
    return reference.name if reference.alias is None else f"{reference.alias}.{reference.name}"


def _find(name: str, known: Sequence[str] | Mapping[str, object]) -> str | None:
    return next((each for each in known if same(each, name)), None)


def _has_more(select: exp.Select) -> bool:
    return any(value for key, value in select.args.items() if key not in ("expressions", "kind"))


def _not_one(place: Place | None) -> SqlError:
    return SqlError(
        "MS-SQL-PARSE",
        "the text is not one expression.",
        fix="Write a single expression of Spark SQL, without SELECT, *, AS and subqueries.",
        place=place,
    )


def _in_yaml(error: SqlError, text: str, place: Place | None) -> MillstreamError:
    inner = error.place
    if inner is None:
        return error.at(place)
    lines = (_BEFORE + text).split("\n")
    offset = sum(len(line) + 1 for line in lines[: inner.line - 1]) + inner.column - 1
    at = _shift_place(place, text, max(offset - len(_BEFORE), 0))
    return SqlError(error.code, error.cause, fix=error.fix, place=at)


def _shift_place(place: Place | None, text: str, offset: int) -> Place | None:
    if place is None:
        return None
    before = text[:offset]
    line = before.count("\n")
    column = place.column + len(before) - (before.rfind("\n") + 1)
    return Place(place.line + line, column, place.text if line == 0 else "", place.file)
