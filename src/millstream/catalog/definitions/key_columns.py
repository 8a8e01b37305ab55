"""Checks the columns that a table's key names."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from millstream.suggestions import nearest

_NESTED = ("array", "map", "struct")


def check_key(
    key: Sequence[str], columns: Mapping[str, str], reserved: Collection[str]
) -> tuple[str, ...]:
    """Returns a key in the letter case of the declared columns, which have types by their names.

    Raises ValueError for a name that is not a column, is one of the temporal mode (`reserved`), is
    named twice, or has a nested type.
    """
    declared = {name.lower(): name for name in columns}
    found: list[str] = []
    for name in key:
        column = declared.get(name.lower())
        if name.lower() in reserved:
            raise ValueError(f"{name} is added to the key by the temporal mode; leave it out")
        if column is None:
            raise ValueError(f"{name} is not a column. {nearest(name, columns)}".rstrip())
        if column in found:
            raise ValueError(f"{name} is named twice")
        if columns[column].startswith(_NESTED):
            raise ValueError(f"{name} is {columns[column]}, which cannot be part of a key")
        found.append(column)
    return tuple(found)
