"""Finds files that were deleted before they were read.

Spark logs the names of a micro-batch's files and skips those that no longer exist or are empty when
the batch runs. Executors report the names that they receive, and the driver compares them with the
log before the batch is committed. An empty text file has no rows; an empty file of another format
is rejected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

import pyarrow as pa
from pyarrow.fs import FileType
from pyspark.sql import SparkSession

from millstream.connectors.dead_letters import UNREADABLE_FILE, Rejection, dead_letters
from millstream.connectors.paths import filesystem, to_local_path
from millstream.connectors.work_items import ItemCheck
from millstream.engine.runtime.jvm import source_folders
from millstream.errors import RunError
from millstream.plan.nodes import Source
from millstream.run.file_log import FileLog
from millstream.temporal import MalformedAction

_DELETED = "the file was deleted before it was read."
_EMPTY = "the file is empty."


def is_empty(path: str) -> bool:
    """False also if the file cannot be examined."""
    try:
        system, name = filesystem(path)
        info = system.get_file_info(name)
    except (OSError, pa.ArrowException):
        return False
    return bool(info.type == FileType.File and info.size == 0)


@dataclass(frozen=True, slots=True)
class ReadSource:
    """A source of files, and how those are found that no executor received."""

    source: Source
    check: ItemCheck


@dataclass(frozen=True, slots=True)
class MissingFiles:
    log: FileLog
    sources: tuple[ReadSource, ...]
    is_empty: Callable[[str], bool] = is_empty

    def begin(self, spark: SparkSession, query: str) -> None:
        """Discards reports of an earlier batch, or of an earlier attempt of this one."""
        self.log.write_folders(source_folders(spark, query))
        for each in self.sources:
            each.check.reported.take()

    def dead_letters(self, batch: int) -> list[pa.Table]:
        """Returns dead letters for the files of a batch that no executor received, by source.

        Raises RunError if the source has 'malformed' = 'fail'.
        """
        reported = {
            each.source.name: {_path(name) for name in each.check.reported.take()}
            for each in self.sources
        }
        found: dict[str, list[Rejection]] = {}
        for path, read in self._missing(batch, reported):
            source, empty = read.source, self.is_empty(path)
            if empty and read.check.empty_is_valid:
                continue
            why = _EMPTY if empty else _DELETED
            if source.malformed is MalformedAction.FAIL:
                raise RunError(
                    "MS-RUN-MALFORMED",
                    f"source {source.name}: {path}: {why}",
                    fix="Write the file again under the same name, or set 'malformed' = "
                    "'dead_letter' to continue without it.",
                )
            found.setdefault(source.name, []).append(Rejection(UNREADABLE_FILE, why, file=path))
        now = self.log.time(batch) if found else None
        return [dead_letters(name, rejections, now) for name, rejections in found.items()]

    def _missing(
        self, batch: int, reported: Mapping[str, set[str]]
    ) -> Iterator[tuple[str, ReadSource]]:
        """A folder that several sources read is listed for each of them."""
        listed = Counter(
            # The log has URLs, such as file:///a%20b.
            path
            for files in self.log.files(batch)
            for path in {_path(unquote(url)) for url in files}
        )
        for path, times in listed.items():
            readers = [each for each in self.sources if _is_in(path, each.check.folder)]
            without = [each for each in readers if path not in reported[each.source.name]]
            lost = times - (len(readers) - len(without))
            for each in without[: max(lost, 0)]:
                yield path, each


def _path(name: str) -> str:
    """Returns the path of a local file, which Spark names `file:/a b`; other names unchanged."""
    return to_local_path(name) if name.startswith("file:") else name


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
