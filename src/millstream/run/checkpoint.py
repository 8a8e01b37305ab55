"""What stands in a checkpoint folder, and whether a job may go on from it.

    <checkpoint>/<pipeline>/millstream.json   what the state depends on: plan, engine, key groups
                            spark/            Spark's own checkpoint
                            control/          the control stream
                            account.json      the account of rows after the last batch
    <checkpoint>/dead-letter/<source>/        malformed records of sources that name no sink for them
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millstream.errors import StateError
from millstream.plan.fingerprint import diff, fingerprint
from millstream.plan.nodes import Pipeline


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The folder of one pipeline."""

    folder: Path

    @property
    def spark(self) -> Path:
        return self.folder / "spark"

    @property
    def control(self) -> Path:
        return self.folder / "control"

    @property
    def account(self) -> Path:
        return self.folder / "account.json"

    def open(self, pipeline: Pipeline, groups: int) -> int:
        """Make the folder, or check that the job fits it; the number of key groups that holds."""
        self.control.mkdir(parents=True, exist_ok=True)
        described = self.folder / "millstream.json"
        print_now = fingerprint(pipeline)
        if not described.exists():
            write_json(described, {"key_groups": groups, "plan": print_now})
            return groups
        held = json.loads(described.read_text(encoding="utf-8"))
        if changes := diff(held["plan"], print_now):
            listed = "; ".join(changes)
            raise StateError(
                "MS-STATE-CHANGED",
                f"the checkpoint {self.folder} was made by another plan of {pipeline.name}: {listed}.",
                fix="Undo the change to go on, or start anew with another --checkpoint.",
            )
        return int(held["key_groups"])


def write_json(path: Path, data: Any) -> None:
    """In one step: a reader, or a restart after a crash, sees the old text or the new one."""
    hidden = path.with_name(f".{path.name}.{os.getpid()}")
    hidden.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    hidden.replace(path)
