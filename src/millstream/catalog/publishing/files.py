"""The files of a location: their names, sizes, times and hashes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import quote

from millstream.catalog.model import Column, DataFormat, VersionFile
from millstream.connectors.paths import filesystem
from millstream.errors import CatalogError
from millstream.plan.secrets import mask_secret

if TYPE_CHECKING:
    from pyarrow import fs

_CHUNK = 1 << 20
_IN_URLS = "/=:@!$&'()*+,;"
_HIDDEN = ("_", ".")  # Spark does not read such files and folders


def describe_files(location: str) -> tuple[VersionFile, ...]:
    """Returns the files of a file or folder, by path, with the hashes of their contents.

    Raises MS-CATALOG-LOCATION if there is no file, or a file changes while it is read.
    """
    listed = list_files(location)
    hashes = [_content_hash(location, file) for file in listed]
    # All files are listed again: some object stores report times in listings more precisely than
    # those of a single object.
    if changed := set(listed) ^ set(list_files(location)):
        path = min(file.path for file in changed)
        why = f"its file {path or location} changed while it was read"
        raise _wrong(location, why, "Publish files that are complete.")
    return tuple(replace(file, sha256=digest) for file, digest in zip(listed, hashes, strict=True))


def list_files(location: str) -> tuple[VersionFile, ...]:
    """Returns the files of a file or folder, by path, without reading them: `sha256` is empty.

    Files of object stores are found, too: sizes and times are those of the store's listing.
    """
    return tuple(
        VersionFile(path, info.size, info.mtime_ns, "") for info, path in _find_files(location)
    )


def content_hash(
    form: DataFormat,
    options: Mapping[str, str],
    schema: Iterable[Column],
    files: Iterable[VersionFile],
) -> str:
    """Returns `sha256:<hex>` over everything that decides which rows are read."""
    described = {
        "format": form.value,
        "options": dict(sorted(options.items())),
        "schema": [[column.name, column.type] for column in schema],
        "files": sorted([file.path, file.sha256] for file in files),
    }
    text = json.dumps(described, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def file_path(location: str, file: VersionFile) -> str:
    """Returns the path of a version's file."""
    return f"{location.rstrip('/')}/{file.path}" if file.path else location


def _find_files(location: str) -> list[tuple[fs.FileInfo, str]]:
    from pyarrow import fs

    try:
        system, root = filesystem(location)
        (info,) = system.get_file_info([root])
        if info.type is fs.FileType.File:
            return [(info, "")]
        if info.type is fs.FileType.NotFound:
            raise _wrong(location, "it does not exist", "Check the path.")
        found = system.get_file_info(fs.FileSelector(root, recursive=True))
    except (OSError, ValueError) as error:
        raise _wrong(location, str(error).rstrip("."), "Check the path.") from None
    base = root.rstrip("/") + "/"
    named = [(each, each.path.removeprefix(base)) for each in found if each.is_file]
    visible = [(each, path) for each, path in named if not _is_hidden(path)]
    if not visible:
        raise _wrong(location, "it contains no files", "Name a folder with files, or a file.")
    _reject_names_outside_urls(location, [path for _, path in visible])
    return sorted(visible, key=lambda pair: pair[1])


def _reject_names_outside_urls(location: str, paths: Iterable[str]) -> None:
    """Below a URL, the URL of each file is that of the folder with the name of the file."""
    if "://" not in location and not location.startswith("file:"):
        return
    wrong = next((path for path in paths if quote(path, safe=_IN_URLS) != path), None)
    if wrong is not None:
        why = f"the name of its file {wrong!r} has characters that a URL cannot have"
        raise _wrong(location, why, "Rename the file: use letters, digits, '-', '_', '.' and '='.")


def _is_hidden(path: str) -> bool:
    return any(part.startswith(_HIDDEN) and "=" not in part for part in path.split("/"))


def _content_hash(location: str, file: VersionFile) -> str:
    digest = hashlib.sha256()
    system, root = filesystem(location)
    try:
        with system.open_input_stream(file_path(root, file)) as stream:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        raise _wrong(location, str(error).rstrip("."), "Check the file.") from None
    return digest.hexdigest()


def _wrong(location: str, why: str, fix: str) -> CatalogError:
    shown = mask_secret("location", location)
    return CatalogError("MS-CATALOG-LOCATION", f"{shown} cannot be read: {why}.", fix=fix)
