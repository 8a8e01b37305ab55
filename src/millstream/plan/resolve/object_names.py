"""Checks names of sources, tables, streams and sinks, which become folder names in a checkpoint."""

from __future__ import annotations

import re

from millstream.errors import Place, PlanError

_NAME = re.compile(r"\w(?:[\w .-]*[\w-])?")
_MAX_BYTES = 200  # file systems allow 255, and some names get a suffix
# Other files and folders of a checkpoint, besides one folder per pipeline.
_RESERVED = ("reference-tables", "catalog.json", "lock", "spark.log")


def check_object_name(kind: str, name: str, place: Place | None) -> None:
    """Rejects a name that is not a safe folder name: its path could leave the checkpoint."""
    if len(name.encode()) > _MAX_BYTES:
        cause = f"has {len(name.encode()):,} bytes; {_MAX_BYTES} are allowed"
    elif not _NAME.fullmatch(name):
        cause = "contains characters that are not allowed in a folder name"
    elif kind == "sink" and name.lower() in _RESERVED:
        cause = "is reserved: a checkpoint contains a file or folder of this name"
    else:
        return
    shown = name if len(name) <= 40 else f"{name[:39]}…"
    raise PlanError(
        "MS-PLAN-NAME",
        f"the name {shown!r} of a {kind} {cause}.",
        fix="Use letters, digits, _, -, and inside the name also . and blanks.",
        place=place,
    )
