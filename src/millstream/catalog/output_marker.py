"""The file that marks a folder as the output of a run, and names the run."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

MARKER = "_MILLSTREAM"  # Spark's readers ignore names that begin with an underscore


def write_marker(folder: Path, run: UUID) -> None:
    """Marks a folder as the output of a run."""
    (folder / MARKER).write_text(f"{run}\n", encoding="utf-8")


def run_of_output(folder: Path) -> UUID | None:
    """Returns the run that has written a folder; None if no run has, or it cannot be read."""
    try:
        return UUID((folder / MARKER).read_text(encoding="utf-8").strip())
    except (OSError, ValueError):
        return None


def is_output_of(folder: Path, run: UUID) -> bool:
    """Whether a folder is the output of a run. A folder that cannot be read is not."""
    return run_of_output(folder) == run
