"""Which folders the queries of a checkpoint write to, as far as the checkpoint records it.

A checkpoint records the paths of sinks as the job has them: a relative one starts at the folder of
the job's SQL file, which is not recorded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from millstream.connectors.paths import to_local_path
from millstream.errors import StateError


def require_sink(checkpoint: Path, folder: Path) -> None:
    """Rejects a folder that is not a checkpoint, and one whose queries do not write to `folder`."""
    described = sorted(checkpoint.glob("*/millstream.json"))
    if not described:
        what = "is not the checkpoint of a job" if checkpoint.is_dir() else "does not exist"
        raise StateError(
            "MS-STATE-CHECKPOINT",
            f"the checkpoint {checkpoint} {what}.",
            fix="Name the folder that `millstream run` prints, by default .millstream/ and the "
            "name of the job, next to its SQL file.",
        )
    if checkpoint.resolve() in folder.resolve().parents:
        return  # late rows and dead letters without a sink
    paths: set[str] = set()
    for file in described:
        identity = json.loads(file.read_text(encoding="utf-8")).get("identity")
        if identity is None:
            return  # of an earlier version, which did not record paths
        paths |= set(_paths(identity))
    if not any(_may_be(path, folder.resolve()) for path in paths):
        listed = ", ".join(sorted(paths)) or "no folder"
        raise StateError(
            "MS-STATE-CHECKPOINT",
            f"the job of the checkpoint {checkpoint} does not write to {folder}: it writes to "
            f"{listed}.",
            fix="Name the checkpoint of the job that writes there, or leave --checkpoint out.",
        )


def _paths(recorded: Any) -> Iterator[str]:
    """Yields the paths of sinks in the identity of a query."""
    for role in ("state", "output"):
        part = recorded.get(role, {})
        sinks = [each.get("sink", {}) for each in part.get("outputs", {}).values()]
        for of_kind in part.get("side_sinks", {}).values():
            sinks += of_kind.values()
        yield from (sink["path"] for sink in sinks if sink.get("path"))


def _may_be(recorded: str, folder: Path) -> bool:
    """Whether a recorded path can be a folder; of a relative one, the end is compared."""
    if recorded.startswith("file:"):
        recorded = to_local_path(recorded)
    path = Path(recorded)
    if path.is_absolute():
        return path.resolve() == folder
    parts = [part for part in path.parts if part not in ("..", ".")]
    return not parts or folder.parts[-len(parts) :] == tuple(parts)
