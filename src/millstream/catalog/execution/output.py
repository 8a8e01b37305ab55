"""Replaces the output of a run in one step.

A run writes to a folder beside its output, `.<name>.run-<id>`, and exchanges the two when it has
succeeded. A killed run leaves only such a folder, which the next run of the same output deletes.
The file `_MILLSTREAM` marks a folder as an output: a run replaces no other.
"""

from __future__ import annotations

import ctypes
import errno
import glob
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

from pyspark.sql import DataFrame

from millstream.catalog.execution.templates import placeholders
from millstream.catalog.model import CatalogReader, DataFormat, ProjectOutput
from millstream.catalog.output_marker import MARKER, run_of_output, write_marker
from millstream.connectors.paths import resolve, to_local_path
from millstream.errors import ProjectError
from millstream.suggestions import same

_BEFORE = "-before"  # the end of the name of an output that is being replaced
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_UNSUPPORTED = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)


def output_path(output: ProjectOutput, base: Path, period: str) -> Path:
    """Returns the folder that a run of a period writes. Raises MS-PROJECT-OUTPUT."""
    location = output.location
    try:
        names = placeholders(location, ("period",))
    except ValueError as error:
        raise _wrong(f"the output {location} {error}.", "Known: {period}.") from None
    if names and any(mark in period for mark in ("/", "\\", "..", "\0")):
        raise _wrong(f"the period {period!r} is not a safe part of the path {location}.")
    path = resolve(location.format_map({"period": period}), base)
    if path.startswith("file:"):
        path = to_local_path(path)
    if "://" in path:
        raise _wrong(
            f"the output {location} is not a path.",
            "Name a folder of a file system that can rename folders.",
        )
    if not output.format.is_files:
        cause = f"the output format {output.format} is not supported."
        raise _wrong(cause, "Use parquet, csv or json.")
    return Path(path)


def check_replaceable(path: Path) -> None:
    """Raises MS-PROJECT-OUTPUT if something is there that no run has written."""
    is_other = path.is_dir() and any(path.iterdir()) and not (path / MARKER).exists()
    if is_other or (path.exists() and not path.is_dir()):
        raise _wrong(
            f"{path} exists, and no run has written it.",
            "Name a folder that is new or empty; a run replaces all of it.",
        )
    inner = next((each.parent for each in path.glob(f"**/{MARKER}") if each.parent != path), None)
    if inner is not None:
        raise _wrong(
            f"{path} contains {inner}, the output of another project or period.",
            "Give each project an output outside of the others'; a run replaces all of its folder.",
        )


def reject_other_project(path: Path, project: str, reader: CatalogReader) -> None:
    """Raises MS-PROJECT-OUTPUT if another project of the catalog has written an output."""
    written_by = run_of_output(path)
    run = None if written_by is None else reader.find_run(written_by)
    if run is not None and not same(run.project, project):
        raise _wrong(
            f"{path} is an output of the project {run.project} (run {run.id}).",
            f"Give {project} an output of its own, or delete that folder.",
        )


@contextmanager
def staging_folder(path: Path, run: UUID) -> Iterator[Path]:
    """Gives the folder beside an output that a run writes to, and deletes it if the run fails."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _restore(path)
    for stale in path.parent.glob(f".{glob.escape(path.name)}.run-*"):
        shutil.rmtree(stale)  # of a killed run: only one run at a time may write an output
    staged = path.parent / f".{path.name}.run-{run}"
    try:
        yield staged
    except BaseException:
        shutil.rmtree(staged, ignore_errors=True)
        raise


def write_rows(frame: DataFrame, file_format: DataFormat, staged: Path, run: UUID) -> None:
    """Writes the rows of a run, and marks the folder as its output."""
    options = {"header": "true"} if file_format is DataFormat.CSV else {}
    frame.write.format(file_format.value).options(**options).mode("errorifexists").save(str(staged))
    write_marker(staged, run)


def replace_output(staged: Path, path: Path) -> None:
    """Puts a staged folder in the place of the output. Readers see the old rows or the new ones."""
    check_replaceable(path)
    if not path.exists():
        staged.rename(path)
        return
    if not _exchange(staged, path):
        # Between the two renames there is no output; a file system that exchanges has no such gap.
        before = staged.with_name(f"{staged.name}{_BEFORE}")
        path.rename(before)
        try:
            staged.rename(path)
        except OSError:
            before.rename(path)
            raise
        staged = before
    # The output is replaced. What cannot be deleted now is deleted by the next run.
    shutil.rmtree(staged, ignore_errors=True)


def _restore(path: Path) -> None:
    """Puts an output back if a run was killed between the two renames of `replace_output`."""
    if not path.exists():
        for before in path.parent.glob(f".{glob.escape(path.name)}.run-*{_BEFORE}"):
            before.rename(path)
            return


def _exchange(one: Path, other: Path) -> bool:
    """Exchanges two folders by Linux's renameat2; False if it is not supported here."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    done = rename(
        _AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), ctypes.c_uint(_RENAME_EXCHANGE)
    )
    if done == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), str(other))


def _wrong(cause: str, fix: str = "") -> ProjectError:
    return ProjectError("MS-PROJECT-OUTPUT", cause, fix=fix)
