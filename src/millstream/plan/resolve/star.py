"""Expands `*` and `alias.*` of a select list, with EXCEPT and REPLACE.

In a join, a repeated name gets the suffix `_<alias>`; the first column keeps its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from millstream.errors import Place, PlanError
from millstream.plan.reject import not_supported, place_of
from millstream.plan.resolve.scope import ResolvedName, Scope
from millstream.suggestions import nearest, same

_CODE = "MS-PLAN-UNKNOWN-COLUMN"


@dataclass(frozen=True, slots=True)
class StarColumn:
    """A column of `*`: its name, its reference, and the expression that replaces it if any."""

    name: str
    reference: ResolvedName
    suffix: str = ""  # appended to a repeated name; empty if the stream has no alias
    value: exp.Expr | None = None

    @property
    def relation(self) -> int | None:
        return self.reference.origin[0] if self.reference.origin else None


def replaced_values(item: exp.Expr) -> list[exp.Expr]:
    """Returns the items of REPLACE of a `*`."""
    star = item.this if isinstance(item, exp.Column) else item
    return star.args.get("replace") or []


def is_star(item: exp.Expr) -> bool:
    """Returns whether an item of the select list is `*` or `alias.*`."""
    return isinstance(item, exp.Star) or (
        isinstance(item, exp.Column) and isinstance(item.this, exp.Star)
    )


def expand_star(item: exp.Expr, scope: Scope, place: Place | None) -> tuple[StarColumn, ...]:
    """Returns the columns of `*` or `alias.*` with references of `scope`."""
    within = scope.star_scope
    star = item.this if isinstance(item, exp.Column) else item
    for name in ("rename", "ilike"):
        if star.args.get(name):
            raise not_supported(
                f"* {name.upper()}", place, fix="Write * EXCEPT (…), and list the columns."
            )
    columns = list(_star_columns(item, within, place))
    for name in star.args.get("except_") or []:
        columns = _without(columns, name, item, within)
    for value in replaced_values(item):
        columns = _with_replacement(columns, value, item, within)
    if not columns:
        raise PlanError(
            "MS-PLAN-STAR",
            "EXCEPT removes every column of *.",
            fix="Keep at least one column.",
            place=place,
        )
    return tuple(
        column
        if column.value is not None
        else replace(column, reference=scope.output_reference(column.reference))
        for column in columns
    )


def _star_columns(item: exp.Expr, scope: Scope, place: Place | None) -> Iterator[StarColumn]:
    """Yields the columns of a scope; with USING, `*` begins with the shared columns."""
    numbers = list(range(len(scope.relations)))
    hidden: set[str] = set()
    if isinstance(item, exp.Column):
        if item.args.get("db"):
            raise not_supported("the * of a struct", place)
        number, _ = scope.relation(item.table, place)
        numbers = [number]
    else:
        yield from _shared_columns(scope, last=False)
        hidden = set(scope.shared_names(last=False))
    for number in numbers:
        relation = scope.relations[number]
        suffix = "" if relation.is_unnamed else f"_{relation.alias}"
        for column in relation.columns if relation.star_columns is None else relation.star_columns:
            if column.name.lower() not in hidden:
                yield StarColumn(column.name, scope.refer(number, column), suffix)
    if not isinstance(item, exp.Column):
        yield from _shared_columns(scope, last=True)


def _shared_columns(scope: Scope, *, last: bool) -> Iterator[StarColumn]:
    for name in scope.shared_names(last=last):
        reference = scope.shared_column(name)
        assert reference is not None
        yield StarColumn(reference.column.name, reference)


def _without(
    columns: list[StarColumn], name: exp.Expr, item: exp.Expr, scope: Scope
) -> list[StarColumn]:
    """Returns the columns without those that an item of EXCEPT names: of every stream if the name
    has no alias."""
    if not isinstance(name, exp.Column) or len(name.parts) > 2:
        raise PlanError(
            _CODE,
            "EXCEPT needs names of columns.",
            fix="Write * EXCEPT (column, alias.column).",
            place=place_of(name, scope.text),
        )
    removed = _named(columns, name, scope)
    if not removed:
        raise _unknown_error("EXCEPT", name, columns, item, scope)
    return [column for column in columns if column not in removed]


def _with_replacement(
    columns: list[StarColumn], value: exp.Expr, item: exp.Expr, scope: Scope
) -> list[StarColumn]:
    """Returns the columns with the expression of an item of REPLACE at the column's position."""
    place = place_of(value, scope.text)
    if not isinstance(value, exp.Alias):
        raise PlanError(
            "MS-PLAN-STAR",
            "REPLACE needs an expression with the name of the column that it replaces.",
            fix="Write * REPLACE (expression AS column).",
            place=place,
        )
    replaced = [column for column in columns if same(column.name, value.alias)]
    if not replaced:
        named = exp.column(value.args["alias"].copy())
        raise _unknown_error("REPLACE", named, columns, item, scope, place)
    if len(replaced) > 1:
        owners = [scope.relations[each.relation] for each in replaced if each.relation is not None]
        stars = " or ".join(f"{each.alias}.*" for each in owners if not each.is_unnamed)
        raise PlanError(
            "MS-PLAN-AMBIGUOUS",
            f"{value.alias} in REPLACE is a column of "
            f"{' and of '.join(each.display_name for each in owners)}.",
            fix=f"Write REPLACE after {stars}." if stars else "Give the streams aliases.",
            place=place,
        )
    return [
        replace(column, value=value.this) if column is replaced[0] else column for column in columns
    ]


def _named(columns: Iterable[StarColumn], name: exp.Column, scope: Scope) -> list[StarColumn]:
    """Returns the columns of `*` that a name refers to."""
    found = [column for column in columns if same(column.name, name.name)]
    if not name.table:
        return found
    return [
        column
        for column in found
        if column.relation is not None
        and 0 <= column.relation < len(scope.relations)
        and same(scope.relations[column.relation].alias, name.table)
    ]


def _unknown_error(
    clause: str,
    name: exp.Column,
    columns: list[StarColumn],
    item: exp.Expr,
    scope: Scope,
    place: Place | None = None,
) -> PlanError:
    written = ".".join(part.name for part in name.parts)
    star = f"{item.table}.*" if isinstance(item, exp.Column) else "*"
    suffixed = next(
        (c for c in columns if c.suffix and same(f"{c.name}{c.suffix}", name.name)), None
    )
    fix = nearest(written, [column.name for column in columns])
    if suffixed is not None and suffixed.relation is not None:
        alias = scope.relations[suffixed.relation].alias
        fix = f"Write {alias}.{suffixed.name}, the column's name in the stream."
        fix = f"Write REPLACE after {alias}.*." if clause == "REPLACE" else fix
    return PlanError(
        _CODE,
        f"{star} has no column {written}, which is in {clause}.",
        fix=fix,
        place=place or place_of(name, scope.text),
    )
