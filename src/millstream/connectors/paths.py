"""Paths of connectors: local ones relative to the SQL file, others (s3://, hdfs://) as they are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyarrow import fs


def resolve(path: str, base: Path) -> str:
    if "://" in path or path.startswith("file:"):
        return path
    return str((base / path).resolve())


def filesystem(path: str) -> tuple[fs.FileSystem, str]:
    """The file system that a path lies on, and the path there."""
    from pyarrow import fs  # not by those who only want to know where a path leads

    if "://" in path or path.startswith("file:"):
        return fs.FileSystem.from_uri(path)  # type: ignore[no-any-return]
    return fs.LocalFileSystem(), path
