"""Verifies that the files of a snapshot are those that were recorded."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from millstream.catalog.model import DatasetSnapshot, ResolverSnapshot, VersionFile
from millstream.connectors.paths import filesystem
from millstream.errors import ProjectRunError

_CHUNK = 1 << 20


def datasets_of(snapshot: ResolverSnapshot) -> Iterator[DatasetSnapshot]:
    """Returns the input and the dataset of each join."""
    yield snapshot.input
    yield from snapshot.join_datasets


def verify(snapshot: ResolverSnapshot, *, content: bool = False) -> None:
    """Raises MS-PROJECT-FILE-MISSING or MS-PROJECT-FILE-CHANGED.

    Sizes and modification times are compared; with `content`, also the hash of each file.
    """
    for dataset in {each.location: each for each in datasets_of(snapshot)}.values():
        for file in dataset.files:
            _verify(dataset, file, content=content)


def _verify(dataset: DatasetSnapshot, file: VersionFile, *, content: bool) -> None:
    from pyarrow import fs

    path = f"{dataset.location}/{file.path}" if file.path else dataset.location
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
        digest = hashlib.sha256()
        with system.open_input_stream(at) as stream:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
        if digest.hexdigest() != file.sha256:
            raise _changed(dataset, path, "its content has another hash")
    elif found.mtime_ns != file.modified_ns:
        raise _changed(dataset, path, "it was modified later than recorded")


def _changed(dataset: DatasetSnapshot, path: str, how: str) -> ProjectRunError:
    return ProjectRunError(
        "MS-PROJECT-FILE-CHANGED",
        f"{path} of {_name(dataset)} has changed since it was recorded: {how}.",
        fix="Restore the file, or publish it as a new version. If only its modification time "
        "differs, --verify compares the content instead.",
    )


def _name(dataset: DatasetSnapshot) -> str:
    return f"{dataset.dataset_name} v{dataset.dataset_version}"
