"""Renames the window columns of a stream before a query adds its own window.

`l._WINDOW_START` is the column of the stream `l`; `_WINDOW_START` is that of the query's window.
"""

from __future__ import annotations

from dataclasses import replace

from millstream.plan.nodes import (
    WINDOW_END,
    WINDOW_START,
    WINDOW_TIME,
    WINDOW_UNTIL,
    Output,
    Select,
)
from millstream.plan.resolve.names import unused_name
from millstream.plan.resolve.scope import Relation
from millstream.plan.resolve.system_columns import with_system_columns
from millstream.suggestions import same

_ADDED = (WINDOW_START, WINDOW_END, WINDOW_TIME, WINDOW_UNTIL)


def rename_own_window_columns(relation: Relation) -> Relation:
    """Returns the stream with its window columns under unused names. `*` does not include them: it
    includes the columns of the query's window."""
    found = {name: column for name in _ADDED if (column := relation.column(name)) is not None}
    if not found:
        return relation
    node = with_system_columns(relation.node, {column.name for column in found.values()})
    known = [column.name for column in node.columns]
    renamed = {
        name: unused_name(f"{name.lower()}_", known) for name in known if name.lower() in _ADDED
    }
    if not renamed:
        return replace(
            relation, own_window_columns={name: column.name for name, column in found.items()}
        )
    outputs = tuple(
        Output(relation.refer(column.name, column.type), renamed.get(column.name, column.name))
        for column in node.columns
    )
    window = node.window if isinstance(node, Select) else None
    select = Select(
        node,
        outputs,
        alias=relation.alias,
        time=None if node.time is None else renamed.get(node.time, node.time),
        window=None
        if window is None
        else (_renamed(renamed, window[0]), _renamed(renamed, window[1])),
        place=relation.place,
    )
    return replace(
        relation,
        node=select,
        own_window_columns={name: _renamed(renamed, column.name) for name, column in found.items()},
        star_columns=tuple(
            column for column in select.columns if column.name not in renamed.values()
        ),
    )


def _renamed(renamed: dict[str, str], name: str) -> str:
    return next((new for old, new in renamed.items() if same(old, name)), name)


def original_name(name: str) -> str:
    """Returns the original name of a stream's column, for late rows."""
    plain = name.rstrip("_")
    return plain if plain in _ADDED else name
