"""Templates of paths and names, such as `out/{period}`."""

from __future__ import annotations

import string
from collections.abc import Collection


def placeholders(template: str, known: Collection[str]) -> set[str]:
    """Returns the names of the placeholders of a template.

    Raises ValueError if the template cannot be read, or has a placeholder that is not one of
    `known`, or one with a format or conversion.
    """
    try:
        parts = list(string.Formatter().parse(template))
    except ValueError as error:
        raise ValueError(f"cannot be read: {error}") from None
    names = set()
    for _, name, format_spec, conversion in parts:
        if name is None:
            continue
        if name not in known:
            raise ValueError(f"has the placeholder {{{name}}}, which is not known")
        if format_spec or conversion:
            raise ValueError(f"has the placeholder {{{name}}} with a format or conversion")
        names.add(name)
    return names
