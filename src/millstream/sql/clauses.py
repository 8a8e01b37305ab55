"""Nodes that the dialect adds to sqlglot's tree. They never reach Spark: `plan/` takes them out.

A query keeps them in its args: `emit`, `options` and `stream_window`; a table in the FROM clause
keeps `within` and `stream_window`.
"""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp


class Created(exp.Expression):
    """CREATE SOURCE | TABLE | STREAM | SINK."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "kind": True,
        "columns": False,
        "options": False,
        "expression": False,
    }


class InsertInto(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expression": True}


class Setting(exp.Expression):
    """SET 'name' = 'value'."""

    arg_types: ClassVar[dict[str, bool]] = {"options": True}


class SourceColumn(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "kind": True, "primary": False}


class WatermarkClause(exp.Expression):
    """WATERMARK FOR this AS expression."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expression": True}


class PrimaryKeyClause(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"expressions": True}


class Option(exp.Expression):
    """'this' = 'expression'; both plain texts."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expression": True}


class EmitClause(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class StreamWindow(exp.Expression):
    """WINDOW kind(arguments) [ON PROCTIME()]."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "expressions": True, "wall_clock": False}


class WindowArgument(exp.Expression):
    """A span, named SIZE, SLIDE, GAP or OFFSET, or with no name."""

    arg_types: ClassVar[dict[str, bool]] = {"this": False, "expression": True}


class Within(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"this": True}
