"""Checks the time column of WINDOW TUMBLING(event_time, …): it must be the stream's event time."""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from millstream.errors import Place, PlanError
from millstream.plan.reject import place_of
from millstream.plan.resolve.event_time import require_event_time
from millstream.plan.resolve.scope import Relation, Scope
from millstream.sql.text import SourceText
from millstream.suggestions import same


def find_time_column(clause: exp.Expr | None) -> exp.Column | None:
    """Returns the time column of a WINDOW clause, which is its first argument."""
    first = clause.expressions[0] if clause is not None and clause.expressions else None
    if first is None or first.name:
        return None
    column = first.expression
    return column if isinstance(column, exp.Column) else None


def check_window_time(clause: exp.Expr | None, relation: Relation, text: SourceText) -> None:
    """Rejects a time column that is not the event time of the stream."""
    column = find_time_column(clause)
    if clause is None or column is None:
        return
    place = place_of(column, text)
    reject_processing_time(clause, column, text)
    found = Scope((relation,), text).resolve(column)
    time = require_event_time(relation.name, relation.node, relation.time, relation.place or place)
    if found.has_fields or not same(found.column.name, time):
        written = ".".join(part.name for part in column.parts)
        raise other_time_error(written, relation.display_name, [time], clause, place)


def check_join_window_time(
    clause: exp.Expr | None, relations: Collection[Relation], text: SourceText
) -> None:
    """Rejects a time column of a window for both sides that is not the event time of both."""
    column = find_time_column(clause)
    if clause is None or column is None:
        return
    for relation in relations:
        if len(column.parts) > 1 or relation.column(column.name) is None:
            raise PlanError(
                "MS-PLAN-WINDOW",
                f"{'.'.join(part.name for part in column.parts)} is not the event time of both "
                "sides of the join, and each side has its own.",
                fix=f"Leave the column out: {_written(clause, '…')}.",
                place=place_of(column, text),
            )
        check_window_time(clause, relation, text)


def reject_processing_time(clause: exp.Expr, column: exp.Column, text: SourceText) -> None:
    if clause.args.get("wall_clock"):
        raise PlanError(
            "MS-PLAN-WINDOW",
            f"the window has both the time column {column.name} and ON PROCTIME().",
            fix="Remove one of them.",
            place=place_of(column, text),
        )


def other_time_error(
    written: str, name: str, times: list[str], clause: exp.Expr, place: Place | None
) -> PlanError:
    known = " or ".join(times)
    return PlanError(
        "MS-PLAN-WINDOW",
        f"{written} is not the event time of {name}: windows use {known}.",
        fix=f"Write {_written(clause, f'{times[0]}, …')}, or declare WATERMARK FOR another column.",
        place=place,
    )


def _written(clause: exp.Expr, arguments: str) -> str:
    return f"WINDOW {clause.args['kind'].upper()}({arguments})"
