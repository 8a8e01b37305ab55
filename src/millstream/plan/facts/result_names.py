"""The names under which users know the columns of an operator's result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from millstream.plan.expressions.shapes import unqualified_sql
from millstream.plan.nodes import (
    WINDOW_END,
    WINDOW_START,
    WINDOW_TIME,
    Aggregate,
    Call,
    Node,
    RowsOver,
)

_WINDOW = {name: name.upper() for name in (WINDOW_START, WINDOW_END, WINDOW_TIME)}


def result_names(node: Node) -> Mapping[str, str]:
    """Returns the names of columns that an operator generates: of a key and of a call its SQL.

    Two columns with the same SQL keep their generated names.
    """
    if isinstance(node, Aggregate):
        found = {key.name: unqualified_sql(key.expression) for key in node.keys}
        found |= {call.name: _call_text(call) for call in node.calls}
        found |= _WINDOW if node.window else {}
    elif isinstance(node, RowsOver):
        found = {call.name: _call_text(call) for call in node.calls}
    else:
        return {}
    count = Counter(found.values())
    return {name: text for name, text in found.items() if count[text] == 1}


def _call_text(call: Call) -> str:
    return f"{call.function}({'*' if call.argument is None else unqualified_sql(call.argument)})"
