"""Reads the versions of a table: which data files each has added.

A version is a file of JSON actions, `_delta_log/<version>.json`. Files that only move rows, as
compaction writes them (`dataChange`: false), are no new rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable
from pyarrow import fs

from millstream.connectors.delta.failures import described, feature_error, lost_error, table_name
from millstream.connectors.lake.data_file import DataFile
from millstream.connectors.paths import filesystem
from millstream.errors import RunError

_CACHED = 64  # versions
_RECREATED_FIX = "Start with a new checkpoint."


class TableLog:
    """The log of a table. `ignore_changes`: versions that update or delete rows have no files."""

    pause = 0.1  # seconds between two looks for new versions

    def __init__(self, owner: str, path: str, *, ignore_changes: bool = False) -> None:
        self.owner = owner
        self.path = path
        self._ignore_changes = ignore_changes
        self._latest = -1
        self.files_of = lru_cache(_CACHED)(self._files_of)
        self.snapshot = lru_cache(1)(self._snapshot)

    def describe(self) -> tuple[str, int]:
        """Returns the id of the table, and its latest version."""
        with described(self.owner, self.path):
            table = DeltaTable(self.path)
            reject_unreadable(self.owner, self.path, table.metadata().configuration)
            self._latest = table.version()
            return str(table.metadata().id), self._latest

    def latest(self, known_id: str) -> int:
        """Returns the latest version. Fails if the table was removed and created again."""
        system, root = filesystem(self.path)
        if self._latest >= 0:
            while self._exists(system, root, self._latest + 1):
                self._latest += 1
            if self._exists(system, root, self._latest):
                return self._latest
        found, latest = self.describe()
        if found != known_id:
            raise table_name(self.owner, self.path).error(
                f"{self.path} was removed and created again", _RECREATED_FIX
            )
        return latest

    def version_at(self, millis: int) -> int:
        """Returns the first version at or after a time; the next version if there is none."""
        with described(self.owner, self.path):
            table = DeltaTable(self.path)
            times = {each["version"]: each.get("timestamp", 0) for each in table.history()}
        later = [version for version, time in times.items() if time >= millis]
        return min(later, default=table.version() + 1)

    def _exists(self, system: fs.FileSystem, root: str, version: int) -> bool:
        found = system.get_file_info(f"{root}/{_name(version)}")
        return bool(found.type is fs.FileType.File)

    def _snapshot(self, version: int) -> tuple[DataFile, ...]:
        """Returns the data files of a version, the oldest first."""
        with described(self.owner, self.path):
            table = DeltaTable(self.path, version=version)
            rows = pa.table(table.get_add_actions()).to_pylist()
            self._reject_deletion_vectors(table)
        rows.sort(key=lambda row: (row["modification_time"], row["path"]))
        return tuple(
            self._file(row["path"], row["size_bytes"], _as_texts(row.get("partition") or {}))
            for row in rows
        )

    def _reject_deletion_vectors(self, table: DeltaTable) -> None:
        features = table.protocol().reader_features or []
        if "deletionVectors" in features and pa.table(table.deletion_vectors().read_all()).num_rows:
            raise _deletion_vectors(self.owner, self.path)

    def _files_of(self, version: int) -> tuple[DataFile, ...]:
        """Returns the data files with the rows that a version adds."""
        system, root = filesystem(self.path)
        try:
            with system.open_input_stream(f"{root}/{_name(version)}") as stream:
                text = stream.read().decode()
        except FileNotFoundError:
            raise lost_error(self.owner, self.path, version) from None
        actions = [json.loads(line) for line in text.splitlines() if line.strip()]
        for each in _of_kind(actions, "metaData"):
            reject_unreadable(self.owner, self.path, each.get("configuration") or {})
        added = [each for each in _of_kind(actions, "add") if each.get("dataChange", True)]
        if any(each.get("dataChange", True) for each in _of_kind(actions, "remove")):
            if self._ignore_changes:
                return ()
            raise self._change(version)
        if any(each.get("deletionVector") for each in added):
            raise _deletion_vectors(self.owner, self.path)
        return tuple(
            self._file(each["path"], each.get("size", 0), each.get("partitionValues") or {})
            for each in added
        )

    def _file(self, path: str, size: int, values: Mapping[str, str | None]) -> DataFile:
        name = unquote(path)
        absolute = name.startswith("/") or "://" in name
        # An empty text is NULL, in the log of any table.
        texts = tuple((column, value or None) for column, value in values.items())
        return DataFile(name if absolute else f"{self.path}/{name}", texts, size)

    def _change(self, version: int) -> RunError:
        return RunError(
            "MS-RUN-DELTA-CHANGES",
            f"{self.owner}: version {version} of {self.path} updates or deletes rows, which a "
            "stream of new rows cannot show.",
            fix="Set 'ignore.changes' = 'true' to skip such versions, with the rows that they "
            "add, or read a table to which rows are only appended.",
        )


def reject_unreadable(owner: str, path: str, settings: Mapping[str, str]) -> None:
    if settings.get("delta.columnMapping.mode", "none") != "none":
        fix = "Copy the table to one whose columns have their own names in its files."
        raise feature_error(owner, path, "maps column names", fix)


def _deletion_vectors(owner: str, path: str) -> RunError:
    fix = "Rewrite its files with REORG TABLE … APPLY (PURGE), and disable deletion vectors."
    return feature_error(owner, path, "has deletion vectors", fix)


def _of_kind(actions: Iterable[Mapping[str, Any]], kind: str) -> list[Any]:
    return [each[kind] for each in actions if kind in each]


def _as_texts(values: Mapping[str, Any]) -> dict[str, str | None]:
    return {name: _as_text(value) for name, value in values.items()}


def _as_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, datetime):
        return (
            (value.astimezone(UTC) if value.tzinfo else value).replace(tzinfo=None).isoformat(" ")
        )
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def _name(version: int) -> str:
    return f"_delta_log/{version:020d}.json"
