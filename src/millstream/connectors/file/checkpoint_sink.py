"""The sink of side outputs that have no sink of their own: JSON files in the checkpoint."""

from __future__ import annotations

from pathlib import Path

from millstream.plan.nodes import SinkDef


def checkpoint_sink(name: str, folder: Path) -> SinkDef:
    return SinkDef(name, "file", (("path", str(folder)), ("format", "json")))
