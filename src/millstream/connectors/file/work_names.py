"""Names of the work items of a file source: a path, or a part of a file."""

from __future__ import annotations

import json

_PART = "\0"  # begins the name of a work item that is not a path; no path contains it


def encode_item(path: str, begin: int = 0, end: int | None = None) -> str:
    """Returns the name of a file, or of its part from `begin` to before `end`."""
    if begin == 0 and end is None and path.isprintable():
        return path
    return _PART + json.dumps([path, begin, end])


def decode_item(item: str) -> tuple[str, int, int | None]:
    if not item.startswith(_PART):
        return item, 0, None
    path, begin, end = json.loads(item[len(_PART) :])
    return path, begin, end
