"""EMIT and 'output.mode': when results come out, and how those that change are told."""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from millstream.errors import PlanError
from millstream.plan.kinds import kind_of
from millstream.plan.nodes import Select, SinkDef, Source
from millstream.plan.nodes.traversal import Stateless, can_retract, operators_of, upstream_of
from millstream.plan.reject import place_of
from millstream.sql.statements import Property
from millstream.sql.text import SourceText
from millstream.temporal import Emit, OutputMode


def resolve_emit(clause: exp.Expr | None, *, windowed: bool, text: SourceText) -> Emit:
    """What a query's EMIT says; without one, a window is told once and anything else as it
    changes."""
    if clause is None:
        return Emit.FINAL if windowed else Emit.CHANGES
    emit = Emit(clause.name.lower())
    if emit is Emit.FINAL and not windowed:
        raise final_without_window_error(clause, text)
    return emit


def final_without_window_error(clause: exp.Expr, text: SourceText) -> PlanError:
    return PlanError(
        "MS-PLAN-EMIT-FINAL",
        "EMIT FINAL waits for a window to close, and this query has no window.",
        fix="Write EMIT CHANGES, or leave EMIT out.",
        place=place_of(clause, text),
    )


def resolve_emit_of_stateless_query(
    clause: exp.Expr | None, node: Select, text: SourceText
) -> Emit | None:
    """EMIT of a query without an operator of its own: FINAL holds if those below say so."""
    if clause is None:
        return None
    emit = Emit(clause.name.lower())
    said = {kind_of(each).emit(each) for each in operators_of(node)} - {None}
    if emit is Emit.FINAL and said != {Emit.FINAL}:
        raise final_without_window_error(clause, text)
    return emit


_KEYED_MODES, _KEYLESS_MODES = "'retract' or 'upsert'", "'retract'"


def _has_keyless_retractions(root: Select) -> bool:
    """Are rows retracted that no key tells apart?"""
    below = upstream_of(root)
    return not isinstance(below, Source) and not kind_of(below).has_change_key


def _append_only_fix(root: Select) -> str:
    """What to write instead, so that no row is taken back."""
    if _has_keyless_retractions(root):
        return "a join with a time bound or a WINDOW"
    return "EMIT FINAL with a WINDOW and no 'window.lateness'"


def _unselected_key(root: Select) -> str | None:
    """What tells one group from another, and is not in the result."""
    below = root.input
    if isinstance(below, Stateless):
        return None
    columns = (output.expression.column_of(None) for output in root.outputs)
    shown = {name.lower() for name in columns if name is not None}
    return kind_of(below).unselected_key(below, shown)


def resolve_output_mode(
    requested: Property | None,
    root: Select,
    sink: SinkDef,
    accepted_modes: Collection[OutputMode],
    override: OutputMode | None = None,
) -> OutputMode:
    """How the pipeline's rows are written: as `given` in Python or options in the query, else by
    whether they can be taken back. `takes` are the modes that the sink's connector accepts."""
    changes = can_retract(root)
    keyless = changes and _has_keyless_retractions(root)
    mode = override or (OutputMode(requested.value.lower()) if requested else None)
    place = requested.place if requested else root.place
    if changes and mode is OutputMode.APPEND:
        raise PlanError(
            "MS-PLAN-RETRACT",
            "the query takes rows back, and 'output.mode' = 'append' cannot say so.",
            fix=f"Write {_KEYLESS_MODES if keyless else _KEYED_MODES}, or {_append_only_fix(root)}.",
            place=place,
        )
    if keyless and mode is OutputMode.UPSERT:
        raise PlanError(
            "MS-PLAN-RETRACT",
            "the rows of a join without a time bound have no key by which a sink could replace "
            "them, so 'output.mode' = 'upsert' would lose rows that come back.",
            fix=f"Write 'retract', or {_append_only_fix(root)}.",
            place=place,
        )
    if mode is OutputMode.UPSERT and (unshown := _unselected_key(root)):
        raise PlanError(
            "MS-PLAN-RETRACT",
            f"the result does not show {unshown}, by which a sink would know which row "
            "an upsert replaces.",
            fix=f"Select {unshown} too, or write 'retract'.",
            place=place,
        )
    if mode is None:
        mode = OutputMode.RETRACT if changes else OutputMode.APPEND
    if mode not in accepted_modes:
        why = f"the sink {sink.name} ({sink.connector}) takes rows that stay, not '{mode}'"
        raise PlanError(
            "MS-PLAN-RETRACT",
            f"{why}." if not changes else f"the query takes rows back, and {why}.",
            fix=f"Write {_append_only_fix(root)}, or use another sink.",
            place=place,
        )
    return mode
