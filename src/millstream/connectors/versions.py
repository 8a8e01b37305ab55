"""Versions of a table that every worker holds whole, in a folder that all of them can read.

<folder>/000002.arrow   the rows, uncompressed, so that the workers of a machine share its memory
         000002.json    rows, size and the moment from which it is in force; written last

A micro-batch reads the version in force at its own time, which Spark keeps in the offset log. So
all its partitions read the same one, and a batch that is tried again reads what it read first. A
version is there some time before it is in force: nobody can have looked for it in vain. After a
step back of the system clock, a batch has an earlier time and reads the version of that time, or
the oldest that is stored.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

import pyarrow as pa

from millstream.errors import RunError
from millstream.temporal import BEGIN_OF_TIME

NOTICE = 1_000_000  # microseconds that a version is there before it is in force
_KEPT = 5
_STEP_BACK = "clock-went-back"
_KEPT_FOR = 10 * 60 * 1_000_000


@dataclass(frozen=True, slots=True)
class Version:
    """`since` is in microseconds; that of the first version is the beginning of time."""

    number: int
    since: int
    rows: int
    size: int
    digest: str = ""  # of what it was made from, to tell whether anything has changed


@dataclass(frozen=True, slots=True)
class Versions:
    name: str  # of the table
    folder: Path

    def all(self) -> list[Version]:
        found = [
            Version(**json.loads(path.read_text(encoding="utf-8")))
            for path in self.folder.glob("[0-9]*.json")
        ]
        return sorted(found, key=lambda version: version.number)

    @property
    def last(self) -> Version | None:
        found = self.all()
        return found[-1] if found else None

    def publish(self, rows: pa.Table, now: int, digest: str = "", notice: int = NOTICE) -> Version:
        """Make a new version, in force a moment from now."""
        before = self.last
        number = before.number + 1 if before else 1
        self.folder.mkdir(parents=True, exist_ok=True)
        hidden = self.folder / f".{number:06d}"
        with pa.OSFile(str(hidden), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
            writer.write_table(rows.combine_chunks())
        size = hidden.stat().st_size
        hidden.rename(self._rows_of(number))
        since = max(now + notice, before.since + 1) if before else BEGIN_OF_TIME
        version = Version(number, since, rows.num_rows, size, digest)
        hidden.write_text(json.dumps(asdict(version)), encoding="utf-8")
        hidden.rename(self.folder / f"{number:06d}.json")
        self._forget(now)
        return version

    def at(self, now: int) -> Version:
        """The version that a micro-batch of this time reads."""
        known = _listed(str(self.folder), self.folder.stat().st_mtime_ns)
        found = [version for version in known if version.since <= now]
        if found:
            return found[-1]
        if known and (self.folder / _STEP_BACK).exists():
            return known[0]
        raise RunError(
            "MS-RUN-TABLE-VERSION",
            f"the version of table {self.name} that this batch read first is gone.",
            fix="Start anew with another checkpoint, or refresh the table less often.",
        )

    def note_step_back(self) -> None:
        """The system clock was set back. A batch that now has an earlier time than every stored
        version reads the oldest."""
        (self.folder / _STEP_BACK).touch()

    def rows(self, version: Version) -> pa.Table:
        """Mapped from the file, not read: what is not looked at costs nothing."""
        with pa.memory_map(str(self._rows_of(version.number))) as file:
            return pa.ipc.open_file(file).read_all()

    def spans(self) -> Iterator[tuple[Version, int | None]]:
        """Every version with the moment at which the next one takes its place."""
        found = self.all()
        for version, following in zip(found, [*found[1:], None], strict=True):
            yield version, following.since if following else None

    def _rows_of(self, number: int) -> Path:
        return self.folder / f"{number:06d}.arrow"

    def _forget(self, now: int) -> None:
        """A batch that is tried again may need a version that has been replaced since."""
        spans = list(self.spans())
        for version, until in spans[:-_KEPT]:
            if until is not None and until < now - _KEPT_FOR:
                (self.folder / f"{version.number:06d}.json").unlink()
                self._rows_of(version.number).unlink()


@lru_cache(maxsize=64)
def _listed(folder: str, changed: int) -> tuple[Version, ...]:  # noqa: ARG001 -- part of the key
    return tuple(Versions("", Path(folder)).all())
