"""Verifies that the files of a snapshot are those that were recorded."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from millstream.catalog.model import DatasetSnapshot, ResolverSnapshot, VersionFile
from millstream.connectors.paths import filesystem
from millstream.errors import ProjectRunError

if TYPE_CHECKING:
    from pyarrow import fs

FileTimes = dict[str, int | None]
"""Modification times of files by path, in nanoseconds."""

_CHUNK = 1 << 20


def datasets_of(snapshot: ResolverSnapshot) -> Iterator[DatasetSnapshot]:
    """Returns the input and the dataset of each join."""
    yield snapshot.input
    yield from snapshot.join_datasets


def verify(snapshot: ResolverSnapshot, *, content: bool = False) -> FileTimes:
    """Raises MS-PROJECT-FILE-MISSING or MS-PROJECT-FILE-CHANGED.

    Sizes and modification times are compared with those recorded, or, with `content`, the hash of
    each file. Returns what `require_unchanged` compares with.
    """
    times: FileTimes = {}
    for dataset in {each.location: each for each in datasets_of(snapshot)}.values():
        for file in dataset.files:
            path = f"{dataset.location}/{file.path}" if file.path else dataset.location
            times[path] = _verify(dataset, file, path, content=content)
    return times


def require_unchanged(snapshot: ResolverSnapshot, times: FileTimes) -> None:
    """Raises MS-PROJECT-FILE-CHANGED if a file was modified after it was verified."""
    for path, modified in times.items():
        system, at = filesystem(path)
        if system.get_file_info(at).mtime_ns != modified:
            dataset = next(each for each in datasets_of(snapshot) if path.startswith(each.location))
            raise _changed(dataset, path, "it was modified while the run was reading it")


def read_files(location: str) -> tuple[VersionFile, ...]:
    """Returns the files of a location with their hashes. Raises MS-PROJECT-FILE-MISSING."""
    from pyarrow import fs

    system, at = filesystem(location)
    info = system.get_file_info(at)
    if info.type == fs.FileType.File:
        return (VersionFile("", info.size, info.mtime_ns, _sha256(system, at)),)
    found = []
    if info.type == fs.FileType.Directory:
        for each in system.get_file_info(fs.FileSelector(at, recursive=True)):
            path = each.path.removeprefix(at).lstrip("/")
            hidden = any(
                part.startswith(("_", ".")) and "=" not in part for part in path.split("/")
            )
            if each.type == fs.FileType.File and not hidden:
                digest = _sha256(system, each.path)
                found.append(VersionFile(path, each.size, each.mtime_ns, digest))
    if not found:
        raise ProjectRunError(
            "MS-PROJECT-FILE-MISSING",
            f"{location} does not exist, or has no files.",
            fix="Check the template of the resolver, and whether the period's data is there.",
        )
    return tuple(sorted(found, key=lambda file: file.path))


def _is_hidden(path: str) -> bool:
    """Does Spark ignore a file? Folders of partitions, such as `_period=2026-01`, are read."""
    return any(part.startswith(("_", ".")) and "=" not in part for part in path.split("/"))


def _verify(dataset: DatasetSnapshot, file: VersionFile, path: str, *, content: bool) -> int | None:
    """Returns the modification time of a file that is the recorded one."""
    from pyarrow import fs

    system, at = filesystem(path)
    found = system.get_file_info(at)
    if found.type != fs.FileType.File:
        raise ProjectRunError(
            "MS-PROJECT-FILE-MISSING",
            f"{path} of {_name(dataset)} does not exist.",
            fix="Restore the file, or publish a new version and run again.",
        )
    if found.size != file.size:
        raise _changed(dataset, path, f"it has {found.size:,} bytes, recorded are {file.size:,}")
    if content:
        if _sha256(system, at) != file.sha256:
            raise _changed(dataset, path, "its content has another hash")
    elif found.mtime_ns != file.modified_ns:
        raise _changed(dataset, path, "its modification time differs")
    modified: int | None = found.mtime_ns
    return modified


def _sha256(system: fs.FileSystem, path: str) -> str:
    digest = hashlib.sha256()
    with system.open_input_stream(path) as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _changed(dataset: DatasetSnapshot, path: str, how: str) -> ProjectRunError:
    return ProjectRunError(
        "MS-PROJECT-FILE-CHANGED",
        f"{path} of {_name(dataset)} has changed since it was recorded: {how}.",
        fix="Restore the file, or publish it as a new version. If only its modification time "
        "differs, --verify compares the content instead.",
    )


def _name(dataset: DatasetSnapshot) -> str:
    return f"{dataset.dataset_name} v{dataset.dataset_version}"
