"""Merges small files in the folder of a sink, without a moment in which rows are there twice.

    _compaction/<n>.parquet     1. the merged file is written to a hidden folder
    _compaction/swap.json       2. names of the old files and of the new one
    _compaction/old/<name>      3. the old files are moved away, the new one is moved to the name
                                   of the first of them, and the hidden folder is deleted

A process that is killed before step 2 has changed nothing. After it, the next compaction of the
folder completes step 3, which takes milliseconds; until then, rows of the old files are missing.

The files of the newest batch are never touched: the job may be writing it, or writes it again after
a restart and replaces its files. All other batches are committed.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import pyarrow as pa

from millstream.connectors.file.batch_files import batch_of, label_of, number_of
from millstream.connectors.file.file_merge import merge, merge_key
from millstream.connectors.file.listing import is_hidden
from millstream.connectors.file.text_file import UnreadableFileError
from millstream.errors import RunError

_HIDDEN = "_compaction"
_SWAP = "swap.json"
_OLD = "old"


@dataclass(frozen=True, slots=True)
class Merge:
    """Some files of a folder that become one, with the name of the first."""

    folder: Path
    names: tuple[str, ...]
    size: int

    @property
    def target(self) -> Path:
        return self.folder / self.names[0]


@dataclass(frozen=True, slots=True)
class Compaction:
    """Merges files of a sink that are smaller than `target_size` bytes.

    Attributes:
        header: Whether CSV files begin with the names of columns.
        is_committed: Whether the newest batch is committed, so that its files may be merged, too.
    """

    path: Path
    target_size: int
    header: bool
    is_committed: bool = False

    def run(self) -> list[Merge]:
        """Merges files and returns what was merged."""
        with self._locked():
            for folder in self._folders():
                complete_swap(folder)
            merges = self.plan()
            for each in merges:
                self._merge(each)
            return merges

    def plan(self) -> list[Merge]:
        """Returns which files would be merged: neighbours in the order of batches."""
        folders = {folder: self._files(folder) for folder in self._folders()}
        newest: dict[str, int] = {}
        for name in (name for names in folders.values() for name in names):
            label = label_of(name)
            newest[label] = max(newest.get(label, -1), _batch(name))
        found: list[Merge] = []
        for folder, names in folders.items():
            for label, own in groupby(sorted(names, key=_order), key=label_of):
                last = -1 if self.is_committed else newest[label]
                found += self._merges(folder, [each for each in own if _batch(each) != last])
        return found

    def _merges(self, folder: Path, names: Sequence[str]) -> Iterator[Merge]:
        run: list[str] = []
        size, key = 0, None
        for name in names:
            path = folder / name
            bytes_ = path.stat().st_size
            is_small = bytes_ < self.target_size
            with _readable(path):
                own = merge_key(path, header=self.header) if is_small else None
            if run and (own != key or size + bytes_ > self.target_size):
                yield from _several(folder, run, size)
                run, size = [], 0
            if own is not None:
                run.append(name)
                size, key = size + bytes_, own
        yield from _several(folder, run, size)

    def _merge(self, planned: Merge) -> None:
        folder = planned.folder
        hidden = folder / _HIDDEN
        shutil.rmtree(hidden, ignore_errors=True)
        (hidden / _OLD).mkdir(parents=True)
        merged = hidden / planned.names[0]
        with _readable(folder):
            merge([folder / name for name in planned.names], merged, header=self.header)
        _sync(merged)
        swap = hidden / f".{_SWAP}"
        swap.write_text(json.dumps(planned.names), encoding="utf-8")
        _sync(swap)
        swap.rename(hidden / _SWAP)
        _sync(hidden)
        complete_swap(folder)

    def _folders(self) -> list[Path]:
        """Returns the folder and its partition folders `column=value`."""
        found, rest = [], [self.path]
        while rest:
            folder = rest.pop()
            found.append(folder)
            rest += [
                each
                for each in sorted(folder.iterdir())
                if each.is_dir() and "=" in each.name and not is_hidden(each.name)
            ]
        return found

    @staticmethod
    def _files(folder: Path) -> list[str]:
        return [
            each.name
            for each in folder.iterdir()
            if batch_of(each.name) is not None and each.is_file()
        ]

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with (self.path / "_compaction.lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RunError(
                    "MS-RUN-COMPACT",
                    f"{self.path} is being compacted by another process.",
                    fix="Wait until it has ended.",
                ) from None
            yield


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Reports files that cannot be read, such as damaged ones."""
    try:
        yield
    except (OSError, pa.ArrowException, UnreadableFileError) as error:
        raise RunError(
            "MS-RUN-COMPACT",
            f"{path} cannot be merged: {error}.",
            fix="Repair or move the file. Files that were merged before are complete.",
        ) from None


def complete_swap(folder: Path) -> None:
    """Completes a compaction that has recorded which files it replaces; discards another one."""
    hidden = folder / _HIDDEN
    if (hidden / _SWAP).exists():
        names = json.loads((hidden / _SWAP).read_text(encoding="utf-8"))
        merged, target = hidden / names[0], folder / names[0]
        # The first old file and the merged one have the same name: the merged file is still hidden
        # if the one in the folder is old.
        for name in names:
            if merged.exists() and (folder / name).exists():
                (folder / name).replace(hidden / _OLD / name)
        if merged.exists():
            merged.rename(target)
        _sync(folder)
    shutil.rmtree(hidden, ignore_errors=True)


def _several(folder: Path, names: Sequence[str], size: int) -> Iterator[Merge]:
    if len(names) > 1:
        yield Merge(folder, tuple(names), size)


def _batch(name: str) -> int:
    batch = batch_of(name)
    assert batch is not None, name
    return batch


def _order(name: str) -> tuple[str, int, int]:
    return label_of(name), _batch(name), number_of(name)


def _sync(path: Path) -> None:
    """Writes a file or folder to the disk."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
