"""Compaction and vacuum of a Delta table: readers and commits slow down as files and log grow."""

from __future__ import annotations

from dataclasses import dataclass

from deltalake import DeltaTable

from millstream.connectors.delta.failures import described
from millstream.temporal import MICROS

OWNER = "millstream table"


@dataclass(frozen=True, slots=True)
class Compaction:
    """How many files a compaction has removed and added, and the table's version after it."""

    removed: int
    added: int
    version: int


def compact(path: str, target_bytes: int | None = None) -> Compaction:
    """Writes the rows of small files to larger ones, and a checkpoint of the log."""
    with described(OWNER, path):
        table = DeltaTable(path)
        done = table.optimize.compact(target_size=target_bytes)
        table.create_checkpoint()
        table.cleanup_metadata()
        return Compaction(done["numFilesRemoved"], done["numFilesAdded"], table.version())


def vacuum(path: str, retention: int | None = None, *, dry_run: bool = False) -> list[str]:
    """Removes files that belong to no version of the last `retention` microseconds, and returns
    their names. Files that a running job has not committed yet are younger."""
    hours = None if retention is None else retention // MICROS["h"]
    with described(OWNER, path):
        table = DeltaTable(path)
        return sorted(table.vacuum(hours, dry_run, full=True))
