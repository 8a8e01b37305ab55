"""How two versions of a dataset differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from millstream.catalog.definitions.differences import column_differences, key_difference
from millstream.catalog.model import DatasetVersion, VersionFile


@dataclass(frozen=True, slots=True)
class VersionDifference:
    """How the version `new` differs from the version `old` of a dataset.

    `properties` are lines on format, options, location and key. Files are compared by their hashes;
    their paths are relative to the location of their version.
    """

    dataset: str
    old: DatasetVersion
    new: DatasetVersion
    properties: tuple[str, ...]
    columns: tuple[str, ...]
    added_files: tuple[str, ...]
    removed_files: tuple[str, ...]
    changed_files: tuple[str, ...]

    @property
    def row_counts(self) -> tuple[int | None, int | None]:
        """The number of rows of both versions, where it is recorded."""
        return self.old.row_count, self.new.row_count

    def lines(self) -> Iterator[str]:
        """Describes the differences, one in a line."""
        yield from self.properties
        yield from self.columns
        before, after = self.row_counts
        if before is not None and after is not None:
            yield f"rows: {before:,} -> {after:,} ({after - before:+,})"
        if self.old.file_count and self.new.file_count:
            yield f"bytes: {self.old.total_bytes:,} -> {self.new.total_bytes:,}"
        for mark, paths in (
            ("-", self.removed_files),
            ("+", self.added_files),
            ("~", self.changed_files),
        ):
            for path in paths:
                yield f"{mark} file {path or '(the only file)'}"


def compare_versions(
    dataset: str,
    old: DatasetVersion,
    new: DatasetVersion,
    old_files: Sequence[VersionFile],
    new_files: Sequence[VersionFile],
) -> VersionDifference:
    """Returns how two versions differ."""
    before = {file.path: file.sha256 for file in old_files}
    after = {file.path: file.sha256 for file in new_files}
    return VersionDifference(
        dataset,
        old,
        new,
        tuple(_properties(old, new)),
        tuple(column_differences(old.schema, new.schema)),
        tuple(sorted(after.keys() - before.keys())),
        tuple(sorted(before.keys() - after.keys())),
        tuple(sorted(path for path in before if after.get(path, before[path]) != before[path])),
    )


def _properties(old: DatasetVersion, new: DatasetVersion) -> Iterator[str]:
    for name in ("format", "location", "status"):
        before, after = getattr(old, name), getattr(new, name)
        if before != after:
            yield f"{name}: {before} -> {after}"
    for name in sorted({*old.options, *new.options}):
        before, after = old.options.get(name), new.options.get(name)
        if before != after:
            yield f"option {name}: {before!r} -> {after!r}"
    yield from key_difference("key", old.key, new.key)
    for line in column_differences(old.database_columns, new.database_columns):
        yield f"database: {line}"
    if old.reproducible != new.reproducible:
        yield f"reproducible: {old.reproducible} -> {new.reproducible}"
