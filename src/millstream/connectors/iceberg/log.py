"""Reads the snapshots of a table: which data files each has added.

The version of a snapshot is its sequence number, which increases with every commit.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any

from pyiceberg.manifest import DataFile as IcebergFile
from pyiceberg.manifest import DataFileContent, FileFormat, ManifestEntry, ManifestEntryStatus
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot, ancestors_of
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    BooleanType,
    DateType,
    DecimalType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
)

from millstream.connectors.iceberg.catalog import CatalogTable
from millstream.connectors.iceberg.failures import described, feature_error, table_name
from millstream.connectors.lake.data_file import DataFile
from millstream.connectors.paths import to_local_path
from millstream.errors import RunError

_CACHED = 64  # versions
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PLAIN = (IntegerType, LongType, StringType, DecimalType)


class SnapshotLog:
    """The snapshots of a table. `ignore_changes`: those that update or delete rows have no
    files."""

    pause = 1.0  # seconds between two looks for new snapshots: each reads the catalog

    def __init__(self, target: CatalogTable, *, ignore_changes: bool = False) -> None:
        self.target = target
        self._ignore_changes = ignore_changes
        self._table: Table | None = None
        self.files_of = lru_cache(_CACHED)(self._files_of)
        self.snapshot = lru_cache(1)(self._snapshot)

    def describe(self) -> tuple[str, int]:
        """Returns the id of the table, and its latest version; 0 if it has no rows yet."""
        table = self.table()
        current = table.current_snapshot()
        return str(table.metadata.table_uuid), _version(current) if current else 0

    def latest(self, known_id: str) -> int:
        """Returns the latest version. Fails if the table was removed and created again."""
        found, latest = self.describe()
        if found != known_id:
            raise table_name(self.target.owner, self.target.table).error(
                f"{self.target.table} was removed and created again",
                "Start with a new checkpoint.",
            )
        return latest

    def version_at(self, millis: int) -> int:
        """Returns the first version at or after a time; the next version if there is none."""
        later = [_version(each) for each in self._history() if each.timestamp_ms >= millis]
        return min(later, default=self.describe()[1] + 1)

    def table(self) -> Table:
        self._table = self.target.load()
        if self._table.format_version < 2:
            raise self._feature("has format version 1", "Upgrade it to format version 2.")
        return self._table

    def _history(self) -> list[Snapshot]:
        """Returns the snapshots of the table, the latest first."""
        table = self._table or self.table()
        return list(ancestors_of(table.current_snapshot(), table.metadata))

    def _find(self, version: int) -> Snapshot | None:
        """Returns the snapshot of a version; None if it is not in the history of the table, such as
        one that was rolled back."""
        for _ in range(2):
            history = self._history()
            found = next((each for each in history if _version(each) == version), None)
            if found is not None:
                return found
            self._table = None  # it may be newer than what is known
        if history and 0 < version < _version(history[-1]):
            raise RunError(
                "MS-RUN-ICEBERG-LOST",
                f"{self.target.owner}: the snapshot with sequence number {version} of "
                f"{self.target.table} has expired, so the rows that it added cannot be found.",
                fix="Start with a new checkpoint: it begins with all rows of the table. Expire "
                "snapshots later.",
            )
        return None

    def _snapshot(self, version: int) -> tuple[DataFile, ...]:
        snapshot = self._find(version)
        if snapshot is None:
            return ()
        entries = list(self._entries(snapshot))
        if any(each.data_file.content is not DataFileContent.DATA for each in entries):
            fix = "Rewrite its files, so that deleted rows are removed from them."
            raise self._feature("has rows that are deleted by other files", fix)
        entries.sort(key=lambda each: (each.sequence_number or 0, each.data_file.file_path))
        return tuple(self._file(each.data_file) for each in entries)

    def _files_of(self, version: int) -> tuple[DataFile, ...]:
        snapshot = self._find(version)
        if snapshot is None or snapshot.summary is None:
            return ()
        operation = snapshot.summary.operation
        if operation is Operation.REPLACE:  # the same rows in other files
            return ()
        if operation is not Operation.APPEND:
            if self._ignore_changes:
                return ()
            raise self._change(version)
        added = [each for each in self._entries(snapshot) if _is_added_by(each, snapshot)]
        return tuple(self._file(each.data_file) for each in added)

    def _entries(self, snapshot: Snapshot) -> Iterator[ManifestEntry]:
        """Yields the files of a snapshot."""
        assert self._table is not None
        with described(self.target.owner, self.target.table):
            for manifest in snapshot.manifests(self._table.io):
                yield from manifest.fetch_manifest_entry(self._table.io, discard_deleted=True)

    def _file(self, file: IcebergFile) -> DataFile:
        if file.file_format is not FileFormat.PARQUET:
            raise self._feature(
                f"has data files in {file.file_format.value}", "Rewrite them as Parquet files."
            )
        assert self._table is not None
        path = file.file_path
        path = to_local_path(path) if path.startswith("file:") else path
        return DataFile(path, self._values(file), file.file_size_in_bytes)

    def _values(self, file: IcebergFile) -> tuple[tuple[str, str | None], ...]:
        """Returns the values of partition columns, which imported files need not contain."""
        assert self._table is not None
        schema, found = self._table.schema(), []
        for place, field in enumerate(self._table.specs()[file.spec_id].fields):
            name = schema.find_column_name(field.source_id)
            if name is None or not isinstance(field.transform, IdentityTransform):
                continue
            kind = schema.find_field(field.source_id).field_type
            value = file.partition[place]
            if value is None or isinstance(kind, (*_PLAIN, *_TIMES, BooleanType)):
                found.append((name, None if value is None else _text(value, kind)))
        return tuple(found)

    def _feature(self, feature: str, fix: str) -> RunError:
        return feature_error(self.target.owner, self.target.table, feature, fix)

    def _change(self, version: int) -> RunError:
        return RunError(
            "MS-RUN-ICEBERG-CHANGES",
            f"{self.target.owner}: the snapshot with sequence number {version} of "
            f"{self.target.table} updates or deletes rows, which a stream of new rows cannot show.",
            fix="Set 'ignore.changes' = 'true' to skip such snapshots, with the rows that they "
            "add, or read a table to which rows are only appended.",
        )


_TIMES = (DateType, TimestampType, TimestamptzType)


def _text(value: Any, kind: IcebergType) -> str:
    if isinstance(kind, DateType) and isinstance(value, int):
        return (date(1970, 1, 1) + timedelta(days=value)).isoformat()
    if isinstance(kind, _TIMES) and isinstance(value, int):
        return (_EPOCH + timedelta(microseconds=value)).replace(tzinfo=None).isoformat(" ")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _version(snapshot: Snapshot) -> int:
    return snapshot.sequence_number or 0


def _is_added_by(entry: ManifestEntry, snapshot: Snapshot) -> bool:
    is_added = entry.status == ManifestEntryStatus.ADDED
    return is_added and entry.snapshot_id == snapshot.snapshot_id
