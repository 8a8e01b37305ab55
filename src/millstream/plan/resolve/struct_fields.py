"""Rejects names of struct fields that a column's declared type does not have."""

from __future__ import annotations

from contextlib import suppress

from sqlglot import exp
from sqlglot.errors import ParseError

from millstream.errors import PlanError
from millstream.plan.reject import place_of
from millstream.plan.resolve.scope import ResolvedName
from millstream.sql.dialect import Millstream
from millstream.sql.text import SourceText
from millstream.suggestions import nearest, same

_OTHER = (exp.DataType.Type.USERDEFINED, exp.DataType.Type.VARIANT, exp.DataType.Type.UNKNOWN)


def reject_unknown_field(reference: exp.Column, found: ResolvedName, text: SourceText) -> None:
    """Rejects `column.field` if the column's type is known and has no such field."""
    kind: exp.Expr | None = None
    with suppress(ParseError, ValueError):
        kind = exp.DataType.build(found.column.type or "", dialect=Millstream)
    name = found.column.name
    for part in reference.parts:
        if part.meta.get("start", -1) <= found.end:
            continue
        while isinstance(kind, exp.DataType) and kind.this == exp.DataType.Type.ARRAY:
            kind = next(iter(kind.expressions), None)  # the field of every element
        if not isinstance(kind, exp.DataType) or kind.this in _OTHER:
            return
        if kind.this == exp.DataType.Type.MAP:
            kind = kind.expressions[1] if len(kind.expressions) == 2 else None
        else:
            kind = _field(kind, name, part, text)
        name = f"{name}.{part.name}"


def _field(kind: exp.DataType, name: str, part: exp.Expr, text: SourceText) -> exp.Expr:
    """Returns the type of a field of a struct."""
    fields = [each for each in kind.expressions if isinstance(each, exp.ColumnDef)]
    for each in fields:
        if same(each.name, part.name):
            return each.args["kind"]  # type: ignore[no-any-return]
    what = "has no fields"
    if kind.this == exp.DataType.Type.STRUCT:
        what = f"has no field {part.name}"
    raise PlanError(
        "MS-PLAN-UNKNOWN-COLUMN",
        f"{name} is {kind.sql('spark')}, which {what}.",
        fix=nearest(part.name, [each.name for each in fields]) if fields else "",
        place=place_of(part, text),
    )
