"""Resolves column names in a query: the relations of its FROM clause and their columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from millstream.errors import Place, PlanError
from millstream.plan.expressions import Expression, column, to_spark_sql
from millstream.plan.nodes import Column, Select, Source
from millstream.plan.reject import place_of
from millstream.plan.resolve.names import quote
from millstream.plan.resolve.system_columns import (
    EVENT_TIME,
    missing_system_column_error,
    system_column,
    time_of,
)
from millstream.sql.text import SourceText
from millstream.suggestions import nearest, same

# System columns without their underscore, as other systems name them.
_SYSTEM_NAMES = ("window_start", "window_end", "window_time", "event_time", "processing_time")


@dataclass(frozen=True, slots=True)
class Relation:
    """One item of FROM: a stream with its alias."""

    alias: str
    name: str  # the name of the source or view
    node: Source | Select
    place: Place | None = None
    is_unqualified: bool = False  # over an operator: columns have no alias
    star_columns: tuple[Column, ...] | None = None  # the columns of `*`, if not all
    own_window_columns: Mapping[str, str] = field(
        default_factory=dict
    )  # window columns that the stream has
    is_unnamed: bool = (
        False  # a query in FROM without an alias; `alias` is generated, `name` is for errors
    )

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.node.columns

    @property
    def time(self) -> str | None:
        return time_of(self.node)

    def column(self, name: str) -> Column | None:
        """Returns the column or system column of that name."""
        found = next((column for column in self.columns if same(column.name, name)), None)
        return found or system_column(self.node, name)

    def own_column(self, name: str) -> Column | None:
        """Returns the stream's own column where the query adds a window column of that name."""
        return self.column(self.own_window_columns.get(name.lower(), name))

    def refer(self, name: str, kind: str | None = None) -> Expression:
        """Returns a reference to one of its columns."""
        return column(None if self.is_unqualified else self.alias, name, kind)

    @property
    def display_name(self) -> str:
        """The name for errors, which never show generated aliases."""
        return self.name if self.is_unnamed else self.alias

    def display_sql(self, column: str) -> str:
        """Returns a column as the user can write it."""
        return quote(column) if self.is_unnamed else to_spark_sql(self.refer(column))


@dataclass(frozen=True, slots=True)
class ResolvedName:
    """The column that a name in the text resolves to."""

    expression: Expression  # replaces the characters start…end
    start: int
    end: int
    reads: tuple[tuple[int, str], ...]  # (number of the operator's input, column)
    column: Column
    has_fields: bool  # do fields of a struct follow?
    origin: tuple[int, str] | None = None  # the relation's number in FROM and its column


@dataclass(frozen=True, slots=True)
class SharedColumn:
    """A column that both sides of a join share, by USING or as their window."""

    expression: Expression
    reads: tuple[tuple[int, str], ...]
    column: Column
    origin: tuple[int, str] | None = None
    last: bool | None = False  # is it last in `*`? None: it is not in `*`
    unreadable_reason: str = ""  # why it cannot be read; empty if it can


@dataclass(frozen=True, slots=True)
class Scope:
    relations: tuple[Relation, ...]
    text: SourceText
    shared_columns: Mapping[str, SharedColumn] = field(
        default_factory=dict
    )  # by name in lower case

    @property
    def star_scope(self) -> Scope:
        """The scope whose columns `*` expands to."""
        return self

    def output_reference(self, reference: ResolvedName) -> ResolvedName:
        """Returns a reference of `star_scope` as a reference of this scope."""
        return reference

    @property
    def stream_aliases(self) -> tuple[str, ...]:
        """The aliases of the streams in expressions."""
        return tuple(relation.alias for relation in self.relations)

    @property
    def is_unqualified(self) -> bool:
        return any(relation.is_unqualified for relation in self.relations)

    def refer(self, number: int, column: Column) -> ResolvedName:
        """Returns a reference to a column of a relation."""
        origin = (number, column.name)
        expression = self.relations[number].refer(column.name, column.type)
        return ResolvedName(expression, 0, 0, (origin,), column, False, origin)

    def shared_column(self, name: str) -> ResolvedName | None:
        """Returns the column of that name that both sides of a join share."""
        found = self.shared_columns.get(name.lower())
        if found is None or found.unreadable_reason:
            return None
        return ResolvedName(found.expression, 0, 0, found.reads, found.column, False, found.origin)

    def unreadable_reason(self, name: str) -> str:
        """Returns why a shared column cannot be read; empty if it can."""
        found = self.shared_columns.get(name.lower())
        return found.unreadable_reason if found else ""

    def shared_names(self, *, last: bool) -> tuple[str, ...]:
        """Returns the names of shared columns in lower case: those first in `*`, or those last."""
        return tuple(name for name, found in self.shared_columns.items() if found.last is last)

    def resolve(self, column: exp.Column) -> ResolvedName:
        """Resolves a column reference by Spark's rules: an alias has precedence over a struct."""
        parts = [part for part in column.parts if isinstance(part, exp.Identifier)]
        names = [part.name for part in parts]
        start, end = parts[0].meta["start"], parts[0].meta["end"]
        if len(names) > 1:
            for number, relation in enumerate(self.relations):
                found = relation.own_column(names[1]) if same(relation.alias, names[0]) else None
                if found:
                    known = self.refer(number, found)
                    end = parts[1].meta["end"]
                    return replace(known, start=start, end=end, has_fields=len(names) > 2)
        if shared := self.shared_column(names[0]):
            return replace(shared, start=start, end=end, has_fields=len(names) > 1)
        owners = [
            (number, found)
            for number, relation in enumerate(self.relations)
            if (found := relation.column(names[0]))
        ]
        # The system columns of other sources do not make a declared column ambiguous.
        declared = [(number, each) for number, each in owners if each in self._declared(number)]
        owners = declared or owners
        if len(owners) == 1:
            number, found = owners[0]
            known = self.refer(number, found)
            return replace(known, start=start, end=end, has_fields=len(names) > 1)
        place = place_of(column, self.text)
        if not owners and (why := self.unreadable_reason(names[0])):
            raise PlanError(
                "MS-PLAN-WINDOW-COLUMN",
                f"{names[0]} is unknown: {why}.",
                fix="Write EMIT FINAL.",
                place=place,
            )
        if owners:
            raise _ambiguous_error(
                names[0], [self.relations[number] for number, _ in owners], place
            )
        raise self._unknown(names, place)

    def _declared(self, number: int) -> tuple[Column, ...]:
        return self.relations[number].columns

    def relation(self, alias: str, place: Place | None) -> tuple[int, Relation]:
        for number, relation in enumerate(self.relations):
            if same(relation.alias, alias):
                return number, relation
        raise PlanError(
            "MS-PLAN-UNKNOWN-TABLE",
            f"{alias} is not a table or alias of this query.",
            fix=nearest(alias, self._aliases),
            place=place,
        )

    @property
    def _aliases(self) -> list[str]:
        """The aliases that the user has written."""
        return [relation.alias for relation in self.relations if not relation.is_unnamed]

    def _unknown(self, names: list[str], place: Place | None) -> PlanError:
        named = [each for each in self.relations if len(names) > 1 and same(each.alias, names[0])]
        for name in names[:2]:
            node = (named or self.relations)[0].node
            if missing := missing_system_column_error(name, node, place):
                return missing
        if len(names) > 1:
            for relation in self.relations:
                if same(relation.alias, names[0]):
                    return _unknown_column_error(names[1], (relation,), place)
            return PlanError(
                "MS-PLAN-UNKNOWN-TABLE",
                f"{names[0]} is neither a table nor a column of this query.",
                fix=nearest(names[0], self._aliases),
                place=place,
            )
        return _unknown_column_error(names[0], self.relations, place)


def _unknown_column_error(
    name: str, relations: tuple[Relation, ...], place: Place | None
) -> PlanError:
    owners = " and ".join(relation.display_name for relation in relations)
    verb = "has" if len(relations) == 1 else "have"
    if name.lower() == EVENT_TIME:
        return PlanError(
            "MS-PLAN-NO-WATERMARK",
            f"{owners} {verb} no watermark, so there is no event time.",
            fix="Declare WATERMARK FOR column AS column - INTERVAL 5 SECONDS.",
            place=place,
        )
    known = [column.name for relation in relations for column in relation.columns]
    fix = nearest(name, known)
    if name.lower() in _SYSTEM_NAMES:
        fix = f"Did you mean _{name.upper()}?"
    return PlanError(
        "MS-PLAN-UNKNOWN-COLUMN", f"{owners} {verb} no column {name}.", fix=fix, place=place
    )


def _ambiguous_error(name: str, owners: list[Relation], place: Place | None) -> PlanError:
    named = [relation.alias for relation in owners if not relation.is_unnamed]
    ways = [f"write {' or '.join(f'{alias}.{name}' for alias in named)}"] if named else []
    ways += [f"give {each.name} an alias" for each in owners if each.is_unnamed]
    fix = ", or ".join(ways)
    return PlanError(
        "MS-PLAN-AMBIGUOUS",
        f"{name} is a column of {' and of '.join(relation.display_name for relation in owners)}.",
        fix=f"{fix[0].upper()}{fix[1:]}.",
        place=place,
    )
