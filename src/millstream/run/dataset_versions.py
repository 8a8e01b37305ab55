"""The versions of catalog datasets that a job has chosen, in `<checkpoint>/catalog.json`.

A job that is started again from its checkpoint reads the same versions, also if newer ones are
published by then.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from millstream.errors import StateError

_FILE = "catalog.json"


def recorded_versions(checkpoint: Path) -> dict[str, int]:
    """Returns the versions by lower-case names of datasets; none for a new checkpoint."""
    path = checkpoint / _FILE
    if not path.exists():
        return {}
    try:
        return {str(name): int(number) for name, number in json.loads(path.read_text()).items()}
    except (ValueError, AttributeError, TypeError):
        raise StateError(
            "MS-STATE-CATALOG",
            f"{path} does not contain the versions of datasets.",
            fix="Restore the file, or start anew with another checkpoint.",
        ) from None


def record_versions(checkpoint: Path, versions: Mapping[str, int]) -> None:
    """Stores the versions in one step, before the job starts."""
    if versions:
        hidden = checkpoint / f".{_FILE}"
        hidden.write_text(json.dumps(dict(sorted(versions.items()))), encoding="utf-8")
        hidden.rename(checkpoint / _FILE)
