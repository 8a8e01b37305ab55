"""Compiles an update operation: resolves its names, without Spark, and collects all problems."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from millstream.catalog.execution.expressions import (
    ParsedExpression,
    Scope,
    find_nondeterministic,
    parse_text,
    reference_text,
    resolve_names,
    stored_name,
)
from millstream.catalog.model import Assignment, RuntimeJoin, UpdateOperation
from millstream.errors import MillstreamError, Place, ProjectError
from millstream.plan.expressions import ColumnReference, Expression
from millstream.suggestions import nearest, same
from millstream.values import JoinType

_ALIAS = re.compile(r"[A-Za-z0-9_]+")
_TYPES = (JoinType.LEFT, JoinType.INNER, JoinType.RIGHT, JoinType.FULL)

CONDITION = "join condition"
ASSIGNMENT = "assignment expression"
_COLUMN_CODES = {
    CONDITION: "MS-PROJECT-CONDITION-COLUMN",
    ASSIGNMENT: "MS-PROJECT-ASSIGNMENT-COLUMN",
}
_COMPILE_CODES = {CONDITION: "MS-PROJECT-CONDITION", ASSIGNMENT: "MS-PROJECT-ASSIGNMENT"}


@dataclass(frozen=True, slots=True)
class CompiledExpression:
    """An expression as written, and over the columns of the joined DataFrame."""

    parsed: ParsedExpression
    resolved: Expression


@dataclass(frozen=True, slots=True)
class CompiledJoin:
    """A join; `condition` is None if it has problems. `columns` of the dataset are read."""

    join: RuntimeJoin
    condition: CompiledExpression | None
    columns: tuple[str, ...]

    @property
    def stored(self) -> dict[str, str]:
        """Names of the dataset's columns, with the names under which they are stored."""
        return {name: stored_name(name, self.join.alias) for name in self.columns}


@dataclass(frozen=True, slots=True)
class CompiledAssignment:
    """An assignment; `expression` is None if it has problems."""

    assignment: Assignment
    expression: CompiledExpression | None


@dataclass(frozen=True, slots=True)
class CompiledOperation:
    """`columns` are those of the working dataset after the operation."""

    joins: tuple[CompiledJoin, ...]
    assignments: tuple[CompiledAssignment, ...]
    columns: tuple[str, ...]


def compile_operation(
    operation: UpdateOperation,
    table: str | None,
    working: Sequence[str] | None,
    schemas: Sequence[Sequence[str] | None],
    problems: list[MillstreamError],
) -> CompiledOperation:
    """Resolves the names of an operation.

    `working` are the columns of the working dataset, whose table is called `table`; `schemas` those
    of each join's dataset. They are None for a dataset that is not known: references to its columns
    are not checked. Problems are added to `problems`.
    """
    known = tuple(working or ())
    compiler = _Compiler(Scope(table, known), problems, input_is_known=working is not None)
    conditions = [
        compiler.join(join, schema) for join, schema in zip(operation.joins, schemas, strict=True)
    ]
    assignments = [compiler.assignment(each) for each in operation.assignments]
    joins = [
        CompiledJoin(join, condition, compiler.columns_read(join))
        for join, condition in zip(operation.joins, conditions, strict=True)
    ]
    targets = dict.fromkeys(each.column for each in operation.assignments)
    new = [each for each in targets if not any(same(each, name) for name in known)]
    return CompiledOperation(tuple(joins), tuple(assignments), (*known, *new))


@dataclass(slots=True)
class _Compiler:
    scope: Scope
    problems: list[MillstreamError]
    input_is_known: bool = True
    unknown: set[str] = field(default_factory=set)  # aliases of datasets that are not known
    read: set[tuple[str, str]] = field(default_factory=set)  # alias and column
    targets: list[str] = field(default_factory=list)
    repeated: list[RuntimeJoin] = field(default_factory=list)

    def join(self, join: RuntimeJoin, schema: Sequence[str] | None) -> CompiledExpression | None:
        self._check_alias(join)
        if join.join_type not in _TYPES:
            self._add(
                "MS-PROJECT-JOIN-TYPE",
                f"join_type cannot be {join.join_type}.",
                join.positions.of("join_type"),
                "Use left, inner, right or full.",
            )
        if schema is None:
            self.unknown.add(join.alias.lower())
        if any(same(join.alias, each) for each in self.scope.joined):
            self.repeated.append(join)  # the alias means the first join that has it
            return None
        self._check_stored(join, schema or ())
        self.scope = self.scope.with_join(join.alias, tuple(schema or ()))
        return self._expression(join.on, CONDITION, join.positions.of("on"))

    def assignment(self, assignment: Assignment) -> CompiledAssignment:
        if any(same(assignment.column, each) for each in self.targets):
            self._add(
                "MS-PROJECT-ASSIGNMENT",
                f"column {assignment.column} is assigned twice in this operation.",
                assignment.positions.of("column"),
                "Remove one assignment, or put it into an operation of its own.",
            )
        self.targets.append(assignment.column)
        place = assignment.positions.of("expression")
        found = self._expression(assignment.expression, ASSIGNMENT, place)
        return CompiledAssignment(assignment, found)

    def columns_read(self, join: RuntimeJoin) -> tuple[str, ...]:
        """Returns the columns of a join's dataset that an expression uses."""
        if any(join is each for each in self.repeated):
            return ()
        known = self.scope.joined[join.alias]
        return tuple(name for name in known if (join.alias, name) in self.read)

    def _check_alias(self, join: RuntimeJoin) -> None:
        place = join.positions.of("alias")
        if not _ALIAS.fullmatch(join.alias):
            self._add(
                "MS-PROJECT-ALIAS",
                f"the join alias {join.alias!r} is not a name of letters, digits and underscores.",
                place,
            )
        if any(same(join.alias, each) for each in self.scope.joined):
            self._add(
                "MS-PROJECT-ALIAS-REPEATED",
                f"Join alias '{join.alias}' is already used in this operation",
                place,
                "Use another alias.",
            )
        if self.scope.table is not None and same(join.alias, self.scope.table):
            self._add(
                "MS-PROJECT-ALIAS-TABLE",
                f"Join alias '{join.alias}' conflicts with working dataset table name",
                place,
                "Use another alias.",
            )

    def _check_stored(self, join: RuntimeJoin, columns: Sequence[str]) -> None:
        existing = [*self.scope.columns, *self.scope.stored()]
        for name in columns:
            stored = stored_name(name, join.alias)
            if any(same(stored, each) for each in existing):
                self._add(
                    "MS-PROJECT-COLUMN-EXISTS",
                    f"column {name} of the join '{join.alias}' is stored as {stored}, and a column "
                    "of this name already exists.",
                    join.positions.of("alias"),
                    "Use another alias.",
                )

    def _expression(self, text: str, what: str, place: Place | None) -> CompiledExpression | None:
        try:
            parsed = parse_text(text, place)
        except MillstreamError as error:
            self.problems.append(compile_problem(what, error.cause, error.place, error.fix))
            return None
        if (part := find_nondeterministic(parsed)) is not None:
            self.problems.append(nondeterministic_problem(part, what, place))
            return None
        if not self._check_columns(parsed, what):
            return None
        found = resolve_names(parsed, self.scope)
        self.read |= {
            source for each in found.columns if (source := self.scope.source(each)) is not None
        }
        return CompiledExpression(parsed, found)

    def _check_columns(self, parsed: ParsedExpression, what: str) -> bool:
        """Are all columns known? A column of a dataset that is not known is no second problem."""
        complete = True
        for reference, offset in dict(parsed.references).items():
            if self.scope.resolve(reference) is not None:
                continue
            complete = False
            if self._is_certain(reference):
                name = reference_text(reference)
                self._add(
                    _COLUMN_CODES[what],
                    f"Unknown column '{name}' in {what}",
                    parsed.at(offset),
                    nearest(name, self.scope.known(reference)),
                )
        return complete

    def _is_certain(self, reference: ColumnReference) -> bool:
        """Whether the dataset whose column is not found is known."""
        alias, table = reference.alias, self.scope.table
        if alias is not None and table is not None and same(alias, table):
            # An alias that is the name of the table is a problem of its own.
            return self.input_is_known and not any(same(alias, each) for each in self.scope.joined)
        if alias is not None and any(same(alias, each) for each in self.scope.joined):
            return alias.lower() not in self.unknown
        return self.input_is_known

    def _add(self, code: str, cause: str, place: Place | None, fix: str = "") -> None:
        self.problems.append(ProjectError(code, cause, fix=fix, place=place))


def compile_problem(what: str, cause: str, place: Place | None, fix: str = "") -> ProjectError:
    """Returns the problem of an expression that neither the parser nor Spark accepts."""
    return ProjectError(
        _COMPILE_CODES[what],
        f"{what.capitalize()} failed to compile: {cause}",
        fix=fix or "Correct the expression.",
        place=place,
    )


def nondeterministic_problem(part: str, what: str, place: Place | None) -> ProjectError:
    """Returns the problem of an expression whose result is not reproducible."""
    return ProjectError(
        "MS-PROJECT-NONDETERMINISTIC",
        f"{part} in the {what} can have another value in a replay.",
        fix="Use values of the datasets only.",
        place=place,
    )
