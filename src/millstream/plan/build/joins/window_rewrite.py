"""Suggests a query with a window join, for the error of a query that joins and aggregates.

WINDOW of such a query applies to the aggregate. A window join must be in a subquery."""

from __future__ import annotations

from sqlglot import exp

from millstream.plan.nodes import WINDOW_END, WINDOW_START
from millstream.plan.resolve.names import quote
from millstream.plan.resolve.source_text import contains_variable, flat_text
from millstream.plan.resolve.window_time import find_time_column
from millstream.sql.spans import span_of
from millstream.sql.text import SourceText
from millstream.suggestions import same

_WINDOW = (WINDOW_START, WINDOW_END)
_OF_SIDES = ("within", "stream_window", "version", "match_condition")


def rewrite_with_windowed_join(tree: exp.Select, clause: exp.Expr, text: SourceText) -> str:
    """Returns the query with its join in a subquery, with … for parts that cannot be shown.

    Returns an empty string if no join supports the window."""
    if clause.args.get("wall_clock"):
        return ""
    from_, joins = tree.args["from_"].this, tree.args["joins"]
    first, last = span_of(from_), span_of(joins[-1])
    sides = [from_, *(join.this for join in joins)]
    sessions = clause.args["kind"] == "SESSION" and len(joins) > 1
    has_time = find_time_column(clause) is not None
    if first is None or last is None or sessions or has_time or any(map(_of_sides, sides)):
        return "SELECT … FROM (SELECT … JOIN … ON … WINDOW …) GROUP BY …"
    parts = [(first[0], last[1]), *_spans(tree.args.get("where"), clause)]
    if any(contains_variable(span, text) for span in parts):
        return "SELECT … FROM (SELECT … JOIN … ON … WINDOW …) GROUP BY …"
    written = " ".join(flat_text(text.parsed, span, {}) for span in parts)
    names = _names(tree)
    inner = ", ".join([*_listed(names), *_WINDOW])
    outer = ", ".join([*_keys(tree, names), *_WINDOW])
    return f"SELECT … FROM (SELECT {inner} FROM {written}) GROUP BY {outer}"


def _of_sides(item: exp.Expr) -> bool:
    """Tests whether a side of a join has a clause that excludes a WINDOW for both sides."""
    return any(item.args.get(name) for name in _OF_SIDES)


def _spans(*nodes: exp.Expr | None) -> list[tuple[int, int]]:
    return [span for node in nodes if node is not None and (span := span_of(node))]


def _names(tree: exp.Select) -> dict[str, str]:
    """Returns the columns that the query reads, by their text, with unique names."""
    aliases = {item.alias.lower() for item in tree.expressions if isinstance(item, exp.Alias)}
    names: dict[str, str] = {}
    for node in (*tree.expressions, tree.args.get("group"), tree.args.get("having")):
        for column in node.find_all(exp.Column) if node is not None else ():
            name = column.name
            own = not column.table and (name.lower() in aliases or name.lower() in _WINDOW)
            if own or isinstance(column.this, exp.Star) or _written(column) in names:
                continue
            taken = any(same(name, other) for other in names.values())
            names[_written(column)] = f"{column.table}_{name}" if taken and column.table else name
    return names


def _written(column: exp.Column) -> str:
    return ".".join(quote(part.name) for part in column.parts)


def _listed(names: dict[str, str]) -> list[str]:
    return [
        text if same(text.rsplit(".", 1)[-1], quote(name)) else f"{text} AS {quote(name)}"
        for text, name in names.items()
    ]


def _keys(tree: exp.Select, names: dict[str, str]) -> list[str]:
    group = tree.args.get("group")
    keys = []
    for key in group.expressions if group is not None else ():
        if isinstance(key, exp.Column) and key.name.lower() in _WINDOW:
            continue
        found = names.get(_written(key)) if isinstance(key, exp.Column) else None
        keys.append("…" if found is None else quote(found))
    return list(dict.fromkeys(keys))
