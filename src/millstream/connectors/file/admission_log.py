"""The files of a source that micro-batches have admitted, in the checkpoint.

    admitted   one row for each micro-batch with files: its number, and its files or parts of them
    seen       a digest of the path of each admitted file, and since when a deleted one is missing
    remainder  the file whose first parts have been admitted, and where the next part begins

The offset of a source is the number of a row of `admitted`. The row is stored before Spark gets the
offset, in the transaction that marks its files as seen, so a retried micro-batch has the same files
and no process that is killed can lose or repeat one. A batch costs a lookup and a digest of each
new file. Two readers of one source share the log: the second one finds what the first has admitted.

The log does not grow with time: rows of committed batches are deleted, and the digest of a file is
deleted when the file has been missing for a while.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from millstream.errors import RunError, StateError
from millstream.state_format import FORMAT_FIX

RETAINED = 100  # rows of committed batches, as many as Spark keeps of its offsets
_FORMAT = 1
_TABLES = """
CREATE TABLE admitted (number INTEGER PRIMARY KEY, items TEXT NOT NULL);
CREATE TABLE seen (digest BLOB PRIMARY KEY, missing_since INTEGER) WITHOUT ROWID;
CREATE TABLE remainder (file TEXT NOT NULL);
CREATE INDEX missing ON seen (missing_since) WHERE missing_since IS NOT NULL;
"""
_WAIT = 60.0  # seconds for another reader of the source
_RESTORE = "Restore the whole checkpoint folder from one backup, or start with --fresh."


@dataclass(frozen=True, slots=True)
class Item:
    """A file, or the part of it from `begin` to before `end`: bytes of text, rows otherwise.

    Attributes:
        end: None: the whole file.
        size: The bytes to read, for an even distribution over tasks.
        modified: The modification time in microseconds.
    """

    path: str
    begin: int
    end: int | None
    size: int
    modified: int


@dataclass(frozen=True, slots=True)
class Remainder:
    """The rest of a file: what is after `begin`."""

    path: str
    begin: int
    size: int
    modified: int


Choice = tuple[Sequence[Item], Remainder | None]


@dataclass(slots=True)
class AdmissionLog:
    path: Path
    _database: sqlite3.Connection | None = None

    @property
    def last(self) -> int:
        """The number of the last batch with files; 0 if there is none."""
        (number,) = self._open().execute("SELECT max(number) FROM admitted").fetchone()
        return int(number or 0)

    @property
    def has_remainder(self) -> bool:
        """Whether the rest of a file is not admitted yet."""
        return self._open().execute("SELECT 1 FROM remainder").fetchone() is not None

    def items(self, first: int, last: int) -> list[Item]:
        """Returns the items of some batches; raises StateError if the log lacks one of them."""
        found = (
            self._open()
            .execute(
                "SELECT items FROM admitted WHERE number BETWEEN ? AND ? ORDER BY number",
                (first, last),
            )
            .fetchall()
        )
        if len(found) != max(last - first + 1, 0):
            raise StateError(
                "MS-STATE-LOST",
                f"the checkpoint is incomplete: {self.path} does not record the files of batches "
                f"{first} to {last}, which the query has not completed.",
                fix=_RESTORE,
            )
        return [Item(*each) for (text,) in found for each in json.loads(text)]

    def admit(self, start: int, choose: Callable[[Remainder | None], Choice]) -> int:
        """Returns the batch after `start`: the one in the log, or a new one of the items that
        `choose` returns; `start` if it returns none."""
        with self._transaction() as database:
            if self.last > start:
                return start + 1
            if self.last < start:
                raise StateError(
                    "MS-STATE-LOST",
                    f"the checkpoint is incomplete: {self.path} records files up to batch "
                    f"{self.last}, but the query has already read batch {start}.",
                    fix=_RESTORE,
                )
            found = database.execute("SELECT file FROM remainder").fetchone()
            items, rest = choose(Remainder(*json.loads(found[0])) if found else None)
            if not items:
                return start
            rows = [[each.path, each.begin, each.end, each.size, each.modified] for each in items]
            text = json.dumps(rows, separators=(",", ":"))
            database.execute("INSERT INTO admitted VALUES (?, ?)", (start + 1, text))
            digests = [(digest(path),) for path in dict.fromkeys(each.path for each in items)]
            database.executemany("INSERT OR IGNORE INTO seen VALUES (?, NULL)", digests)
            database.execute("DELETE FROM remainder")
            if rest is not None:
                file = json.dumps([rest.path, rest.begin, rest.size, rest.modified])
                database.execute("INSERT INTO remainder VALUES (?)", (file,))
            return start + 1

    def unseen(self, paths: Iterable[str]) -> list[str]:
        """Returns the paths that were not admitted yet."""
        query = "SELECT 1 FROM seen WHERE digest = ?"
        database = self._open()
        return [
            each for each in paths if database.execute(query, (digest(each),)).fetchone() is None
        ]

    def drop_batches(self, before: int) -> None:
        """Deletes the rows of batches that no query can need any more."""
        if (
            self._open()
            .execute("SELECT 1 FROM admitted WHERE number < ? LIMIT 1", (before - RETAINED,))
            .fetchone()
        ):
            with self._transaction() as database:
                database.execute("DELETE FROM admitted WHERE number < ?", (before - RETAINED,))

    def drop_missing(self, present: Collection[str], now: int, after: int) -> int:
        """Records which files are missing now, and deletes those that have been for `after`
        microseconds. Returns how many were deleted."""
        listed = {digest(path) for path in present}
        with self._transaction() as database:
            known = database.execute("SELECT digest, missing_since FROM seen").fetchall()
            gone = [(now, each) for each, since in known if since is None and each not in listed]
            back = [(each,) for each, since in known if since is not None and each in listed]
            database.executemany("UPDATE seen SET missing_since = ? WHERE digest = ?", gone)
            database.executemany("UPDATE seen SET missing_since = NULL WHERE digest = ?", back)
            deleted = database.execute("DELETE FROM seen WHERE missing_since <= ?", (now - after,))
            count = deleted.rowcount
        if count:
            self._open().execute("PRAGMA incremental_vacuum")
        return count

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Begins a transaction that excludes other writers, which wait."""
        database = self._open()
        try:
            database.execute("BEGIN IMMEDIATE")
            yield database
            database.execute("COMMIT")
        except BaseException as error:
            if database.in_transaction:
                database.execute("ROLLBACK")
            if isinstance(error, sqlite3.OperationalError):
                raise RunError(
                    "MS-RUN-DISK",
                    f"{self.path} cannot be written: {error}.",
                    fix="Make it writable, with free space. Then run the job again: it resumes.",
                ) from None
            raise

    def _open(self) -> sqlite3.Connection:
        if self._database is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            database = sqlite3.connect(self.path, timeout=_WAIT, isolation_level=None)
            try:
                self._create_tables(database)
            except sqlite3.DatabaseError as error:
                raise StateError(
                    "MS-STATE-LOST",
                    f"the log {self.path} of the files that were read is damaged: {error}.",
                    fix=_RESTORE,
                ) from None
            self._database = database
        return self._database

    def _create_tables(self, database: sqlite3.Connection) -> None:
        if self._format(database) == 0:
            database.execute("PRAGMA auto_vacuum = INCREMENTAL")
            database.execute("BEGIN IMMEDIATE")
            if self._format(database) == 0:  # another reader may have created them
                for statement in filter(None, map(str.strip, _TABLES.split(";"))):
                    database.execute(statement)
                database.execute(f"PRAGMA user_version = {_FORMAT}")
            database.execute("COMMIT")
        if (found := self._format(database)) != _FORMAT:
            raise StateError(
                "MS-STATE-FORMAT",
                f"the log {self.path} was written in format {found}; this version of Millstream "
                f"reads format {_FORMAT}.",
                fix=FORMAT_FIX,
            )

    @staticmethod
    def _format(database: sqlite3.Connection) -> int:
        return int(database.execute("PRAGMA user_version").fetchone()[0])


def digest(path: str) -> bytes:
    return blake2b(path.encode("utf-8", "surrogateescape"), digest_size=16).digest()
