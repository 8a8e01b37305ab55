"""The names under which users know the columns of an operator's result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from millstream.plan.expressions.shapes import unqualified_sql
from millstream.plan.kinds import single_input_kind_of
from millstream.plan.nodes import Call, Node, SingleInput


def result_names(node: Node) -> Mapping[str, str]:
    """Returns the names of columns that an operator generates: of a key and of a call its SQL.

    Two columns with the same SQL keep their generated names.
    """
    if not isinstance(node, SingleInput):
        return {}
    kind = single_input_kind_of(node)
    found = dict(kind.generated_columns(node))
    found |= {call.name: _call_text(call) for call in kind.calls(node)}
    count = Counter(found.values())
    return {name: text for name, text in found.items() if count[text] == 1}


def _call_text(call: Call) -> str:
    return f"{call.function}({'*' if call.argument is None else unqualified_sql(call.argument)})"
