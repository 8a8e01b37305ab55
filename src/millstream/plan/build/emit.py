"""Resolves EMIT and 'output.mode': when results are emitted, and how changes are written."""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from millstream.errors import PlanError
from millstream.plan.kinds import kind_of
from millstream.plan.nodes import Select, SinkDef, Source, UnionAll
from millstream.plan.nodes.traversal import Stateless, can_retract, operators_of, upstream_of
from millstream.plan.reject import place_of
from millstream.sql.statements import Property
from millstream.sql.text import SourceText
from millstream.temporal import Emit, OutputMode


def resolve_emit(clause: exp.Expr | None, *, windowed: bool, text: SourceText) -> Emit:
    """Returns when an operator emits: by default FINAL with a window, else CHANGES."""
    if clause is None:
        return Emit.FINAL if windowed else Emit.CHANGES
    emit = Emit(clause.name.lower())
    if emit is Emit.FINAL and not windowed:
        raise final_without_window_error(clause, text)
    return emit


def final_without_window_error(clause: exp.Expr, text: SourceText) -> PlanError:
    return PlanError(
        "MS-PLAN-EMIT-FINAL",
        "EMIT FINAL emits results when their window closes, and this query has no window.",
        fix="Write EMIT CHANGES, or remove EMIT.",
        place=place_of(clause, text),
    )


def resolve_emit_of_stateless_query(
    clause: exp.Expr | None, node: Select, text: SourceText
) -> Emit | None:
    """Returns EMIT of a query without an operator; FINAL needs final operators below."""
    if clause is None:
        return None
    emit = Emit(clause.name.lower())
    said = {kind_of(each).emit(each) for each in operators_of(node)} - {None}
    if emit is Emit.FINAL and said != {Emit.FINAL}:
        raise final_without_window_error(clause, text)
    return emit


_KEYED_MODES, _KEYLESS_MODES = "'retract' or 'upsert'", "'retract'"


def _has_keyless_retractions(root: Select) -> bool:
    """Tests whether a result retracts rows that have no key."""
    below = upstream_of(root)
    if isinstance(below, Source | UnionAll):
        return False
    return not kind_of(below).has_change_key


def _append_only_fix(root: Select) -> str:
    """Describes a query that never retracts rows."""
    if _has_keyless_retractions(root):
        return "a join with a time bound or a WINDOW"
    return "EMIT FINAL with a WINDOW and no 'window.lateness'"


def _unselected_key(root: Select) -> str | None:
    """Returns a column of the result's key that the query does not select."""
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
    """Returns how a pipeline writes its rows.

    `override` (from Python) has precedence over `requested` (the query's property); the default is
    RETRACT if the result retracts rows, else APPEND. `accepted_modes` are those of the sink's
    connector."""
    changes = can_retract(root)
    keyless = changes and _has_keyless_retractions(root)
    mode = override or (OutputMode(requested.value.lower()) if requested else None)
    place = requested.place if requested else root.place
    if changes and mode is OutputMode.APPEND:
        raise PlanError(
            "MS-PLAN-RETRACT",
            "the query retracts rows, and 'output.mode' = 'append' cannot represent retractions.",
            fix=f"Set {_KEYLESS_MODES if keyless else _KEYED_MODES}, or use "
            f"{_append_only_fix(root)}.",
            place=place,
        )
    if keyless and mode is OutputMode.UPSERT:
        raise PlanError(
            "MS-PLAN-RETRACT",
            "the rows of a join without a time bound have no key, so a sink with 'output.mode' = "
            "'upsert' could not replace them and would lose rows.",
            fix=f"Set 'retract', or use {_append_only_fix(root)}.",
            place=place,
        )
    if mode is OutputMode.UPSERT and (unshown := _unselected_key(root)):
        raise PlanError(
            "MS-PLAN-RETRACT",
            f"the result does not contain {unshown}, which a sink needs to find the row that an "
            "upsert replaces.",
            fix=f"Select {unshown}, or set 'retract'.",
            place=place,
        )
    if mode is None:
        mode = OutputMode.RETRACT if changes else OutputMode.APPEND
    if mode not in accepted_modes:
        why = f"the sink {sink.name} ({sink.connector}) accepts only appended rows, not '{mode}'"
        raise PlanError(
            "MS-PLAN-RETRACT",
            f"{why}." if not changes else f"the query retracts rows, and {why}.",
            fix=f"Use {_append_only_fix(root)}, or another sink.",
            place=place,
        )
    return mode
