"""Versions of a broadcast table, in a folder that all workers can read.

    <folder>/000002.arrow   the rows, uncompressed, so that workers of a machine share its memory
             000002.json    rows, size and the time from which it is valid; written last

A micro-batch reads the version that is valid at its processing time, which is in Spark's offset
log. So all its partitions read the same version, and a retried batch reads the same version again.
A version is published some time before it becomes valid, so that all tasks of a batch see it. After
the system time was set back, a batch reads the version of its earlier time, or the oldest that is
stored.
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

ACTIVATION_DELAY = 1_000_000  # microseconds between publication and validity of a version
_MIN_VERSIONS = 5  # that are retained
_MIN_AGE = 10 * 60 * 1_000_000  # microseconds for which replaced versions are retained
_STEP_BACK = "clock-went-back"


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a table.

    Attributes:
        since: Valid from this time, in microseconds; the first version, from the beginning of time.
        digest: Identifies the content of the source, to detect changes.
    """

    number: int
    since: int
    rows: int
    size: int
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Versions:
    """The stored versions of the table `name`."""

    name: str
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

    def publish(
        self, rows: pa.Table, now: int, digest: str = "", activation_delay: int = ACTIVATION_DELAY
    ) -> Version:
        """Stores a new version, which becomes valid after `activation_delay` microseconds."""
        before = self.last
        number = before.number + 1 if before else 1
        self.folder.mkdir(parents=True, exist_ok=True)
        hidden = self.folder / f".{number:06d}"
        with pa.OSFile(str(hidden), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
            writer.write_table(rows.combine_chunks())
        size = hidden.stat().st_size
        hidden.rename(self._rows_of(number))
        since = max(now + activation_delay, before.since + 1) if before else BEGIN_OF_TIME
        version = Version(number, since, rows.num_rows, size, digest)
        hidden.write_text(json.dumps(asdict(version)), encoding="utf-8")
        hidden.rename(self.folder / f"{number:06d}.json")
        self._remove_old(now)
        return version

    def at(self, now: int) -> Version:
        """Returns the version that is valid at a micro-batch's processing time."""
        known = _listed(str(self.folder), self.folder.stat().st_mtime_ns)
        found = [version for version in known if version.since <= now]
        if found:
            return found[-1]
        if known and (self.folder / _STEP_BACK).exists():
            return known[0]
        raise RunError(
            "MS-RUN-TABLE-VERSION",
            f"the version of table {self.name} that this batch read before the retry was removed.",
            fix="Start with a new checkpoint, or refresh the table less often.",
        )

    def record_clock_step_back(self) -> None:
        """Records that the system time was set back: a batch whose time is earlier than all stored
        versions reads the oldest."""
        (self.folder / _STEP_BACK).touch()

    def rows(self, version: Version) -> pa.Table:
        """Returns the rows of a version, mapped into memory rather than read."""
        with pa.memory_map(str(self._rows_of(version.number))) as file:
            return pa.ipc.open_file(file).read_all()

    def spans(self) -> Iterator[tuple[Version, int | None]]:
        """Yields each version with the time at which the next version replaces it."""
        found = self.all()
        for version, following in zip(found, [*found[1:], None], strict=True):
            yield version, following.since if following else None

    def _rows_of(self, number: int) -> Path:
        return self.folder / f"{number:06d}.arrow"

    def _remove_old(self, now: int) -> None:
        """Removes old versions; recently replaced ones may be needed by a retried batch."""
        spans = list(self.spans())
        for version, until in spans[:-_MIN_VERSIONS]:
            if until is not None and until < now - _MIN_AGE:
                (self.folder / f"{version.number:06d}.json").unlink()
                self._rows_of(version.number).unlink()


@lru_cache(maxsize=64)
def _listed(folder: str, changed: int) -> tuple[Version, ...]:  # noqa: ARG001 -- part of the key
    return tuple(Versions("", Path(folder)).all())
