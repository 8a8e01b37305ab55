"""Resolves paths of connectors; local paths are relative to the folder of the SQL file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyarrow import fs


def resolve(path: str, base: Path) -> str:
    """Returns an absolute local path; URLs such as s3:// and hdfs:// are returned unchanged."""
    if "://" in path or path.startswith("file:"):
        return path
    return str((base / path).resolve())


def filesystem(path: str) -> tuple[fs.FileSystem, str]:
    """Returns the file system of a path, and the path on it."""
    from pyarrow import fs  # slow to import, and not needed to resolve a path

    if "://" in path or path.startswith("file:"):
        if path.startswith("s3a://"):  # Hadoop's name for s3
            path = f"s3://{path.removeprefix('s3a://')}"
        return fs.FileSystem.from_uri(path)  # type: ignore[no-any-return]
    return fs.LocalFileSystem(), path


def to_local_path(path: str) -> str:
    """Converts `file:/a` or `file:///a`, as Spark names files, to a path."""
    return "/" + path.removeprefix("file:").lstrip("/")


def value_folder(path: str, base: str, columns: Iterable[str]) -> str | None:
    """Returns the folder `column=value` below `base` that Spark would read a column's value from;
    None if there is none."""
    names = {name.lower() for name in columns}
    for folder in PurePosixPath(path.removeprefix(base)).parent.parts:
        name, equals, _ = folder.partition("=")
        if equals and name.lower() in names:
            return folder
    return None
