"""Paths of connectors: local ones relative to the SQL file, others (s3://, hdfs://) as they are."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath
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
        if path.startswith("s3a://"):  # as Hadoop calls it
            path = f"s3://{path.removeprefix('s3a://')}"
        return fs.FileSystem.from_uri(path)  # type: ignore[no-any-return]
    return fs.LocalFileSystem(), path


def local(path: str) -> str:
    """`file:/a` or `file:///a`, as Spark names files, as a path."""
    return "/" + path.removeprefix("file:").lstrip("/")


def value_folder(path: str, base: str, columns: Iterable[str]) -> str | None:
    """The folder `column=value` below `base` from which Spark would read the value of a column."""
    names = {name.lower() for name in columns}
    for folder in PurePosixPath(path.removeprefix(base)).parent.parts:
        name, equals, _ = folder.partition("=")
        if equals and name.lower() in names:
            return folder
    return None
