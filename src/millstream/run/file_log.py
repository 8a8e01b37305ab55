"""Reads Spark's log of the files that a query reads.

<spark>/offsets/<batch>            after two lines of its own, a line for each source: for a file
                                   source {"logOffset": 3}, or "-" before its first file
        sources/<number>/<offset>  files that were found together, as a line of JSON each; every
                                   tenth is <offset>.compact and lists all earlier ones, too
source-folders.json                beside <spark>, ours: the folder of each line (a source that is
                                   read in several places of the plan has several lines)
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millstream.run.checkpoint import write_json

_HEADER_LINES = 2  # version and settings
_NONE = -1


@dataclass(frozen=True, slots=True)
class FileLog:
    """The log in Spark's checkpoint of one query."""

    spark: Path

    def files(self, batch: int) -> list[list[str]]:
        """The files of a micro-batch, as URLs, for each folder of `sources/`."""
        ends, starts = self._offsets(batch), self._offsets(batch - 1)
        found = []
        for number, end in ends.items():
            offsets = range(starts.get(number, _NONE) + 1, end + 1)
            found.append([url for offset in offsets for url in self._listed(number, offset)])
        return found

    def write_folders(self, folders: Sequence[int]) -> None:
        """Stores the folder of each line of the offset log (`runtime.jvm.source_folders`)."""
        if folders != self._folders():
            write_json(self._folders_file, list(folders))

    def time(self, batch: int) -> int:
        """The processing time of a micro-batch, in microseconds."""
        lines = (self.spark / "offsets" / str(batch)).read_text(encoding="utf-8").splitlines()
        return int(json.loads(lines[1])["batchTimestampMs"]) * 1000

    def remove_unplanned(self) -> None:
        """Removes log entries of files for a micro-batch that was never planned.

        Spark logs the files that it finds, then the batch. If a process is killed in between, the
        next run would read these files and those of the next batch in one batch: more than
        'max.files.per.batch'. Without the entry, Spark finds the files again.
        """
        batches = [int(path.name) for path in self._numbered(self.spark / "offsets")]
        planned = self._offsets(max(batches, default=_NONE))
        # A query that was killed in its first batch has not stored its folders. Then an entry is
        # removed only if it is beyond every source's offset: entries of planned batches remain.
        greatest = max(self._lines(max(batches, default=_NONE)), default=_NONE)
        for folder in self._numbered(self.spark / "sources"):
            last = planned.get(int(folder.name), greatest)
            for path in list(folder.iterdir()):
                offset = path.name.removesuffix(".compact")
                if offset.isdecimal() and int(offset) > last and _lists_files(path):
                    path.unlink()
                    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)

    def _offsets(self, batch: int) -> dict[int, int]:
        """Returns the last offset of a batch by folder; empty if the folders are not known."""
        lines, folders = self._lines(batch), self._folders()
        if folders is None and len(lines) == len(self._numbered(self.spark / "sources")):
            folders = list(range(len(lines)))
        if folders is None or len(folders) != len(lines):
            return {}
        return dict(zip(folders, lines, strict=True))

    def _lines(self, batch: int) -> list[int]:
        path = self.spark / "offsets" / str(batch)
        if not path.exists():
            return []
        lines = path.read_text(encoding="utf-8").splitlines()[_HEADER_LINES:]
        return [_log_offset(line) for line in lines]

    def _folders(self) -> list[int] | None:
        path = self._folders_file
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None

    @property
    def _folders_file(self) -> Path:
        return self.spark.parent / "source-folders.json"

    def _listed(self, number: int, offset: int) -> Iterator[str]:
        folder = self.spark / "sources" / str(number)
        for name in (str(offset), f"{offset}.compact"):
            if (folder / name).exists():
                for entry in _entries(folder / name):
                    if entry.get("batchId") == offset:
                        yield str(entry["path"])
                return

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
