"""Lists the files of a source: those of a folder, of its partition folders, or of a pattern."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from pyarrow import fs

from millstream.connectors.file.file_patterns import (
    ANY_FOLDERS,
    matches_path,
    name_pattern,
    split_pattern,
    split_query,
)
from millstream.connectors.paths import filesystem, to_local_path

_UNQUOTED = "/=:@+,~"  # in URLs of files


@dataclass(frozen=True, slots=True)
class FileStatus:
    """Size in bytes, and modification time in microseconds."""

    size: int
    modified: int


class Listing(Protocol):
    """The files of a source."""

    def paths(self) -> list[str]:
        """Returns the paths of all files, in any order; none if the folder does not exist."""
        ...

    def statuses(self, paths: Collection[str]) -> Mapping[str, FileStatus]:
        """Returns the statuses of those files that exist."""
        ...


def listing_of(path: str, *, recursive: bool) -> Listing:
    """Returns the files of a path. `recursive`: in all folders below, not only in those whose names
    are `column=value`."""
    if "://" in path and not path.startswith("file:"):
        return RemoteListing(path, recursive)
    return LocalListing(to_local_path(path) if path.startswith("file:") else path, recursive)


def is_hidden(name: str) -> bool:
    return name.startswith(("_", "."))


def is_read_folder(name: str, *, recursive: bool) -> bool:
    """Whether files of a folder below that of the source are read."""
    if name.startswith(".") or (name.startswith("_") and "=" not in name):
        return False
    return recursive or "=" in name


@dataclass(frozen=True, slots=True)
class LocalListing:
    path: str
    recursive: bool

    def paths(self) -> list[str]:
        return [file for root in _roots(self.path) for file in self._below(root)]

    def _below(self, root: str) -> Iterator[str]:
        if not Path(root).is_dir():
            if Path(root).is_file():
                yield root
            return
        folders, linked = [root], {os.path.realpath(root)}
        while folders:
            folder = folders.pop()
            for entry in _entries(folder):
                if entry.is_dir():
                    if not is_read_folder(entry.name, recursive=self.recursive):
                        continue
                    if entry.is_symlink():  # of a link to a folder above, only once
                        real = os.path.realpath(entry.path)
                        if real in linked:
                            continue
                        linked.add(real)
                    folders.append(entry.path)
                elif not is_hidden(entry.name):
                    yield entry.path

    def statuses(self, paths: Collection[str]) -> Mapping[str, FileStatus]:
        found = {}
        for path in paths:
            try:
                known = Path(path).stat()
            except OSError:
                continue
            if stat.S_ISREG(known.st_mode):
                found[path] = FileStatus(known.st_size, known.st_mtime_ns // 1000)
        return found


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except (FileNotFoundError, NotADirectoryError):  # removed in the meantime
        return []


def _roots(path: str) -> list[str]:
    """Returns the files and folders that a path or pattern names."""
    if Path(path).exists():  # also if its name has characters of a pattern
        return [path]
    base, components = split_pattern(path)
    found = [base or "/"] if components else []
    for number, component in enumerate(components):
        is_last = number == len(components) - 1
        if component == ANY_FOLDERS:
            found = [each for root in found for each in _tree(root)]
            continue
        matches = name_pattern(component).fullmatch
        found = [
            entry.path
            for folder in found
            for entry in sorted(_entries(folder), key=lambda each: each.name)
            if matches(entry.name)
            and (not is_hidden(entry.name) or is_hidden(component))
            and (is_last or entry.is_dir())
        ]
    return list(dict.fromkeys(found))


def _tree(root: str) -> Iterator[str]:
    """Yields a folder and all folders below it that are not hidden."""
    yield root
    for entry in sorted(_entries(root), key=lambda each: each.name):
        if entry.is_dir(follow_symlinks=False) and not is_hidden(entry.name):
            yield from _tree(entry.path)


@dataclass(slots=True)
class RemoteListing:
    """Files of an object store or HDFS, by the file systems of Arrow."""

    url: str
    recursive: bool
    _known: dict[str, FileStatus] = field(default_factory=dict)  # of the last listing

    def paths(self) -> list[str]:
        url, query = split_query(self.url)
        base, components = split_pattern(url)
        system, root = filesystem(base + query)
        is_deep = self.recursive or bool(components)
        found: dict[str, FileStatus] = {}
        folders = [root]
        (info,) = system.get_file_info([root])
        if info.type is fs.FileType.File:
            folders, found[info.path] = [], _status(info)
        while folders:
            folder = folders.pop()
            selector = fs.FileSelector(folder, allow_not_found=True, recursive=is_deep)
            for each in system.get_file_info(selector):
                if each.type is fs.FileType.File:
                    found[each.path] = _status(each)
                elif not is_deep and is_read_folder(each.base_name, recursive=False):
                    folders.append(each.path)
        self._known = {
            f"{base}{quote(path.removeprefix(root), safe=_UNQUOTED)}{query}": status
            for path, status in found.items()
            if self._is_read(path.removeprefix(root).strip("/").split("/"), components)
        }
        return list(self._known)

    def _is_read(self, names: list[str], components: tuple[str, ...]) -> bool:
        if is_hidden(names[-1]):
            return False
        if not components:
            return all(is_read_folder(name, recursive=self.recursive) for name in names[:-1])
        if any(map(is_hidden, names)):
            return False
        return any(
            matches_path(names[:count], components)
            and all(is_read_folder(name, recursive=self.recursive) for name in names[count:-1])
            for count in range(1, len(names) + 1)
        )

    def statuses(self, paths: Collection[str]) -> Mapping[str, FileStatus]:
        return {path: self._known[path] for path in paths if path in self._known}


def _status(info: fs.FileInfo) -> FileStatus:
    return FileStatus(info.size, (info.mtime_ns or 0) // 1000)
