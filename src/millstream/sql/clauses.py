"""sqlglot nodes for Millstream's own statements and clauses. `plan/` removes them before Spark.

A query stores them in its args `emit`, `options` and `stream_window`; a table in the FROM clause
in `within`, `stream_window` and `match_condition`.
"""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp


class CreateStatement(exp.Expression):
    """CREATE SOURCE | TABLE | STREAM | SINK."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "kind": True,
        "columns": False,
        "options": False,
        "expression": False,
        "watermark": False,
    }


class InsertInto(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expression": True}


class SetStatement(exp.Expression):
    """SET 'name' = 'value'."""

    arg_types: ClassVar[dict[str, bool]] = {"options": True}


class SourceColumn(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "kind": True, "primary": False}


class ComputedColumn(exp.Expression):
    """A column of a source with its expression: this AS expression."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expression": True}


class WatermarkClause(exp.Expression):
    """WATERMARK FOR this AS expression."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expression": True}


class PrimaryKeyClause(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"expressions": True}


class Option(exp.Expression):
    """'this' = 'expression'; both are strings."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expression": True}


class EmitClause(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class StreamWindow(exp.Expression):
    """WINDOW kind(arguments) [ON PROCTIME()]."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "expressions": True, "wall_clock": False}


class WindowArgument(exp.Expression):
    """An interval, named SIZE, SLIDE, GAP or OFFSET, or unnamed."""

    arg_types: ClassVar[dict[str, bool]] = {"this": False, "expression": True}


class Within(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"this": True}
