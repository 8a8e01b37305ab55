"""Verifies that the files of a snapshot are those that were recorded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from millstream.catalog.model import DatasetSnapshot, ResolverSnapshot, VersionFile
from millstream.catalog.publishing.files import describe_files, file_path, list_files
from millstream.errors import CatalogError, ProjectRunError

_FIX = "Restore the file, or publish a new version and run again."
_TIME_FIX = " --verify compares the content instead of the time."


@dataclass(frozen=True, slots=True)
class VerifiedFiles:
    """The files of a version as they were when they were verified, by their recorded paths.

    `name` is the name of the version in errors.
    """

    name: str
    location: str
    files: Mapping[str, VersionFile]


def datasets_of(snapshot: ResolverSnapshot) -> Iterator[DatasetSnapshot]:
    """Returns the input and the dataset of each join."""
    yield snapshot.input
    yield from snapshot.join_datasets


def verify(snapshot: ResolverSnapshot, *, content: bool = False) -> list[VerifiedFiles]:
    """Raises MS-PROJECT-FILE-MISSING or MS-PROJECT-FILE-CHANGED.

    Sizes and modification times are compared with those recorded, or, with `content`, the hash of
    each file. A file that is not recorded is an error, too: it would be read. Returns what
    `require_unchanged` compares with.
    """
    # Two versions can be published from one location, with other files each.
    datasets = {(each.location, each.files): each for each in datasets_of(snapshot)}
    return [
        verify_files(_name(each), each.location, each.files, content=content)
        for each in datasets.values()
    ]


def verify_files(
    name: str, location: str, files: Iterable[VersionFile], *, content: bool = False
) -> VerifiedFiles:
    """Verifies the files of one version, which is called `name` in errors. A database table has
    none."""
    recorded = {each.path: each for each in files}
    if not recorded:
        return VerifiedFiles(name, location, {})
    found = _read_files(name, location, content=content)
    _compare_paths(name, location, recorded, found, "is not recorded")
    for path, file in recorded.items():
        if (how := _difference(file, found[path], content=content)) is not None:
            hint = "" if content or file.size != found[path].size else _TIME_FIX
            raise _changed_error(name, file_path(location, file), how, hint)
    return VerifiedFiles(name, location, found)


def require_unchanged(verified: Iterable[VerifiedFiles]) -> None:
    """Raises MS-PROJECT-FILE-MISSING or MS-PROJECT-FILE-CHANGED if files were deleted, added or
    modified after they were verified."""
    for each in verified:
        if not each.files:
            continue
        found = _read_files(each.name, each.location, content=False)
        added = "was added while the run was reading"
        _compare_paths(each.name, each.location, each.files, found, added)
        for path, before in each.files.items():
            now = found[path]
            if (now.size, now.modified_ns) != (before.size, before.modified_ns):
                how = "it was modified while the run was reading it"
                raise _changed_error(each.name, file_path(each.location, before), how)


def _read_files(name: str, location: str, *, content: bool) -> dict[str, VersionFile]:
    try:
        found = describe_files(location) if content else list_files(location)
    except CatalogError as error:
        raise ProjectRunError(
            "MS-PROJECT-FILE-MISSING", f"{name}: {error.cause}", fix=_FIX
        ) from None
    return {each.path: each for each in found}


def _compare_paths(
    name: str,
    location: str,
    recorded: Mapping[str, VersionFile],
    found: Mapping[str, VersionFile],
    added: str,
) -> None:
    for path, file in recorded.items():
        if path not in found:
            cause = f"{file_path(location, file)} of {name} does not exist."
            raise ProjectRunError("MS-PROJECT-FILE-MISSING", cause, fix=_FIX)
    for path in found:
        if path not in recorded:
            raise _changed_error(name, location, f"its file {path} {added}")


def _difference(recorded: VersionFile, found: VersionFile, *, content: bool) -> str | None:
    if found.size != recorded.size:
        return f"it has {found.size:,} instead of {recorded.size:,} bytes"
    if content:
        return None if found.sha256 == recorded.sha256 else "its content has another hash"
    if found.modified_ns != recorded.modified_ns:
        return "its modification time differs"
    return None


def _changed_error(name: str, path: str, how: str, hint: str = "") -> ProjectRunError:
    return ProjectRunError(
        "MS-PROJECT-FILE-CHANGED",
        f"{path} of {name} has changed since it was recorded: {how}.",
        fix=f"Restore the files, or publish them as a new version.{hint}",
    )


def _name(dataset: DatasetSnapshot) -> str:
    return f"{dataset.dataset_name} v{dataset.dataset_version}"
