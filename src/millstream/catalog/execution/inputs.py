"""Verifies that the files of a snapshot are those that were recorded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from millstream.catalog.model import DatasetSnapshot, ResolverSnapshot, VersionFile
from millstream.catalog.publishing.files import describe_files, file_path
from millstream.connectors.paths import filesystem
from millstream.errors import ProjectRunError

FileTimes = dict[str, int | None]
"""Modification times of files by path, in nanoseconds."""


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
        times |= verify_files(_name(dataset), dataset.location, dataset.files, content=content)
    return times


def verify_files(
    name: str, location: str, files: Iterable[VersionFile], *, content: bool = False
) -> FileTimes:
    """Verifies the files of one version, which is called `name` in errors."""
    paths = {file_path(location, file): file for file in files}
    return {path: _verify(name, file, path, content=content) for path, file in paths.items()}


def require_unchanged(snapshot: ResolverSnapshot, times: FileTimes) -> None:
    """Raises MS-PROJECT-FILE-CHANGED if a file was modified after it was verified."""
    for path, modified in times.items():
        system, at = filesystem(path)
        if system.get_file_info(at).mtime_ns != modified:
            dataset = next(each for each in datasets_of(snapshot) if path.startswith(each.location))
            raise _changed(_name(dataset), path, "it was modified while the run was reading it")


def _verify(name: str, file: VersionFile, path: str, *, content: bool) -> int | None:
    """Returns the modification time of a file that is the recorded one."""
    from pyarrow import fs

    system, at = filesystem(path)
    found = system.get_file_info(at)
    if found.type != fs.FileType.File:
        raise ProjectRunError(
            "MS-PROJECT-FILE-MISSING",
            f"{path} of {name} does not exist.",
            fix="Restore the file, or publish a new version and run again.",
        )
    if found.size != file.size:
        raise _changed(name, path, f"it has {found.size:,} bytes, recorded are {file.size:,}")
    if content:
        (described,) = describe_files(path)
        if described.sha256 != file.sha256:
            raise _changed(name, path, "its content has another hash")
    elif found.mtime_ns != file.modified_ns:
        raise _changed(name, path, "its modification time differs")
    modified: int | None = found.mtime_ns
    return modified


def _changed(name: str, path: str, how: str) -> ProjectRunError:
    return ProjectRunError(
        "MS-PROJECT-FILE-CHANGED",
        f"{path} of {name} has changed since it was recorded: {how}.",
        fix="Restore the file, or publish it as a new version. If only its modification time "
        "differs, --verify compares the content instead.",
    )


def _name(dataset: DatasetSnapshot) -> str:
    return f"{dataset.dataset_name} v{dataset.dataset_version}"
