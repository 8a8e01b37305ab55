"""Reads Spark's log of the files that a query reads: messages of the control stream, and files of
DataFrames. The files of declared sources are in `connectors/file/admission_log.py`.

<spark>/offsets/<batch>            after two lines of its own, a line for each source: for a file
                                   source {"logOffset": 3}, or "-" before its first file
        sources/<number>/<offset>  files that were found together, as a line of JSON each; every
                                   tenth is <offset>.compact and lists all earlier ones, too

A source that is read in several places of the plan has several lines and one folder.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_HEADER_LINES = 2  # version and settings
_NONE = -1


@dataclass(frozen=True, slots=True)
class FileLog:
    """The log in Spark's checkpoint of one query."""

    spark: Path

    def remove_unplanned(self) -> None:
        """Removes log entries of files for a micro-batch that was never planned.

        Spark logs the files that it finds, then the batch. If a process is killed in between, the
        next run would read these files and those of the next batch in one batch: more than
        'max.files.per.batch'. Without the entry, Spark finds the files again.
        """
        batches = [int(path.name) for path in self._numbered(self.spark / "offsets")]
        planned = self._offsets(max(batches, default=_NONE))
        # If a source has several lines, an entry is removed only if it is beyond every source's
        # offset: entries of planned batches remain.
        greatest = max(self._lines(max(batches, default=_NONE)), default=_NONE)
        for folder in self._numbered(self.spark / "sources"):
            last = planned.get(int(folder.name), greatest)
            for path in list(folder.iterdir()):
                offset = path.name.removesuffix(".compact")
                if offset.isdecimal() and int(offset) > last and _lists_files(path):
                    path.unlink()
                    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)

    def _offsets(self, batch: int) -> dict[int, int]:
        """Returns the last offset of a batch by folder; empty if a source has several lines."""
        lines, folders = self._lines(batch), len(self._numbered(self.spark / "sources"))
        return dict(enumerate(lines)) if len(lines) == folders else {}

    def _lines(self, batch: int) -> list[int]:
        path = self.spark / "offsets" / str(batch)
        if not path.exists():
            return []
        lines = path.read_text(encoding="utf-8").splitlines()[_HEADER_LINES:]
        return [_log_offset(line) for line in lines]

    @staticmethod
    def _numbered(folder: Path) -> list[Path]:
        found = folder.iterdir() if folder.is_dir() else []
        return [path for path in found if path.name.isdecimal()]


def _log_offset(line: str) -> int:
    try:
        return int(json.loads(line)["logOffset"])
    except (ValueError, TypeError, KeyError):  # "-", or the offset of another kind of source
        return _NONE


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        yield json.loads(line)


def _lists_files(path: Path) -> bool:
    """Whether this is a list of files, not an entry of another kind of source."""
    try:
        return all("path" in entry and "batchId" in entry for entry in _entries(path))
    except (ValueError, TypeError):
        return False
