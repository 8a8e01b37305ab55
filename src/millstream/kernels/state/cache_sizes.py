"""Cache sizes of worker processes, in a memory-mapped table that they share."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

SLOTS = 512
_FIELDS = 3  # process id, bytes, entries


class CacheSize(NamedTuple):
    process: int
    nbytes: int
    entries: int


class CacheSizes:
    """A table with one row per process. Open it before forking; each process writes its own row.

    Rows of processes that have ended do not count, and are reused.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file  # keeps the mapping's file open: rows are claimed under its lock
        self._table = np.memmap(file, np.int64, "r+", shape=(SLOTS, _FIELDS))
        self._process = 0
        self._row: int | None = None

    @classmethod
    def open(cls, path: str | None = None) -> CacheSizes:
        """Creates the table in an anonymous file, or in one that others can read."""
        file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        if path:  # never truncated: workers of an earlier daemon may still use it
            Path(path).touch()
            file = Path(path).open("r+b")  # noqa: SIM115
        os.ftruncate(file.fileno(), SLOTS * _FIELDS * 8)
        return cls(file)

    @classmethod
    def attach(cls, path: Path) -> CacheSizes:
        """Opens the table of other processes."""
        return cls(path.open("r+b"))

    def limit(self, budget: int) -> int:
        """Returns the bytes this process may cache: what others do not use, or an equal part."""
        others = [size for size in self.sizes() if size.process != os.getpid()]
        left = budget - sum(size.nbytes for size in others)
        return max(left, budget // (len(others) + 1))

    def publish(self, nbytes: int, entries: int) -> None:
        row = self._own_row()
        if row is not None:
            self._table[row, 1:] = nbytes, entries

    def sizes(self) -> list[CacheSize]:
        """Returns the sizes of all running processes."""
        used = self._table[self._table[:, 0] > 0].tolist()
        return [CacheSize(*row) for row in used if _runs(row[0])]

    def _own_row(self) -> int | None:
        if self._process != os.getpid():  # a process that was just forked
            self._process = os.getpid()
            self._row = self._claim()
        return self._row

    def _claim(self) -> int | None:
        """Claims a free row. Returns None if all are in use; this process is then not counted."""
        import fcntl

        fcntl.lockf(self._file, fcntl.LOCK_EX)
        try:
            for row, process in enumerate(self._table[:, 0].tolist()):
                if process in (0, self._process) or not _runs(process):
                    self._table[row] = self._process, 0, 0
                    return row
            return None
        finally:
            with suppress(OSError):
                fcntl.lockf(self._file, fcntl.LOCK_UN)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
