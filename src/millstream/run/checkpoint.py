"""The checkpoint folder of a job, and whether the job can resume from it.

<checkpoint>/spark.log                    the log of Spark, for runs from the command line
             reference-tables/            versions of tables that workers load
             catalog.json                 versions of catalog datasets that the job has chosen
             dead-letters.json            which query writes the malformed records of each source
             lock                         locked by the process that runs the job
<checkpoint>/<query>/millstream.json      what the state depends on: plan, engine, key groups; and
                                          the UUID of the checkpoint
                        spark/            Spark's own checkpoint
                        control/          the control stream
                        sources/<source>.sqlite   what a source has read, such as files
                        ended             exists once the input has ended
                        tasks.json        how many tasks write the last batch, if a sink needs it
                        ledger.json       the ledger after the last batch
                        source-folders.json     the folders that sources read
                        late/             late rows, if no sink is set
                        dead-letter/<source>/   dead letters, if no sink is set
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from millstream.errors import StateError
from millstream.plan.identity import moved_sinks, query_identity
from millstream.plan.nodes import Query, SinkDef
from millstream.state_format import describe_changes, reject_format


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The folder of one query, which has the name of its first sink."""

    folder: Path

    @property
    def spark(self) -> Path:
        return self.folder / "spark"

    @property
    def control(self) -> Path:
        return self.folder / "control"

    @property
    def ledger(self) -> Path:
        return self.folder / "ledger.json"

    @property
    def late(self) -> Path:
        return self.folder / "late"

    def dead_letters(self, source: str) -> Path:
        return self.folder / "dead-letter" / source

    def source_state(self, source: str) -> Path:
        """Returns the file in which a source stores what it has read."""
        return self.folder / "sources" / f"{source}.sqlite"

    @property
    def failed_results(self) -> Path:
        """The dead letters of results of operators, for which an expression above them fails."""
        return self.folder / "dead-letter-results"

    @property
    def next_batch(self) -> int:
        """The first batch of a run: the one after the last committed batch."""
        commits = self.spark / "commits"
        found = [int(path.name) for path in commits.glob("*") if path.name.isdecimal()]
        return max(found, default=-1) + 1

    @property
    def ended(self) -> bool:
        """Whether the input of a run has ended, so that its state accepts no more rows."""
        return (self.folder / "ended").exists()

    def end(self) -> None:
        (self.folder / "ended").touch()

    @property
    def uuid(self) -> str:
        """Identifies the checkpoint: a new one in the same folder has another."""
        described = json.loads((self.folder / "millstream.json").read_text(encoding="utf-8"))
        return str(described.get("uuid", ""))

    def tasks(self, batch: int, current: int) -> int:
        """Returns the number of tasks that write a batch: `current`, or that of an earlier attempt,
        which is recorded before anything is written."""
        recorded = self.folder / "tasks.json"
        stored = json.loads(recorded.read_text(encoding="utf-8")) if recorded.exists() else {}
        if stored.get("batch") == batch:
            return int(stored["tasks"])
        write_json(recorded, {"batch": batch, "tasks": current})
        return current

    @property
    def has_started(self) -> bool:
        """Whether a run has ever started a batch from this checkpoint."""
        return any((self.spark / "offsets").glob("[0-9]*"))

    @property
    def _description(self) -> Path:
        return self.folder / "millstream.json"

    def open(self, query: Query, groups: int, sinks: Sequence[SinkDef] = ()) -> int:
        """Creates the folder, or checks that the query fits it and records what has changed.
        Returns the number of key groups. `sinks` are those that side outputs may name."""
        self.control.mkdir(parents=True, exist_ok=True)
        self.check(query, sinks)
        stored, identity = self._read_description(), query_identity(query, sinks)
        if stored is None:
            self._remove_unfinished_offsets()
            shutil.rmtree(self.folder / "sources", ignore_errors=True)
            stored = {"key_groups": groups, "uuid": uuid4().hex}
        if stored.get("identity") != identity:
            write_json(self._description, {**stored, "identity": identity})
        return int(stored["key_groups"])

    def _remove_unfinished_offsets(self) -> None:
        """Removes what a process that was killed has left of the first offsets: Spark begins only
        with an empty folder."""
        for path in (self.spark / "offsets").glob(".*"):
            path.unlink(missing_ok=True)

    def _read_description(self) -> dict[str, Any] | None:
        """Returns what the runs so far have recorded; None if no batch has started."""
        if not self._description.exists() or not self.has_started:
            return None
        found: dict[str, Any] = json.loads(self._description.read_text(encoding="utf-8"))
        return found

    def changes(self, query: Query, sinks: Sequence[SinkDef] = ()) -> list[str]:
        """Returns a sentence for each change of the query that only its output depends on."""
        written = self._read_description()
        if written is None:
            return []
        output = query_identity(query, sinks)["output"]
        return describe_changes(written["identity"]["output"], output)

    def moved_sinks(self, query: Query, sinks: Sequence[SinkDef] = ()) -> tuple[str, ...]:
        """Returns the names of sinks that write to another place than in the last run."""
        written = self._read_description()
        if written is None:
            return ()
        return moved_sinks(written["identity"]["output"], query_identity(query, sinks)["output"])

    def _reject_moved_sinks(self, query: Query, sinks: Sequence[SinkDef]) -> None:
        """Rejects another place of a sink if the last batch may be in the old one."""
        planned = (self.spark / "offsets" / str(self.next_batch)).exists()
        moved = self.moved_sinks(query, sinks) if planned else ()
        if moved:
            raise StateError(
                "MS-STATE-PENDING",
                f"the sink {moved[0]} of {query.title} is changed to another place, and batch "
                f"{self.next_batch} is not complete: its rows may be in the old place already.",
                fix="Undo the change and run again, so that the batch completes; then change it.",
            )

    def check(self, query: Query, sinks: Sequence[SinkDef] = ()) -> None:
        """Rejects a checkpoint of another format, and a plan that its state does not fit."""
        written = self._read_description()
        if written is None:
            self._reject_sinks_of_others(query)
            return
        stored = written.get("identity") or {"format": written.get("plan", {}).get("version")}
        reject_format(stored["format"], f"the checkpoint {self.folder}")
        if found := describe_changes(stored["state"], query_identity(query)["state"]):
            raise StateError(
                "MS-STATE-CHANGED",
                f"the checkpoint {self.folder} was created by another plan of {query.title}: "
                f"{'; '.join(found)}.",
                fix="Undo the change to resume, or start again with another --checkpoint, or with "
                "--fresh, which removes the checkpoint and the files of file sinks.",
            )
        self._reject_moved_sinks(query, sinks)

    def _reject_sinks_of_others(self, query: Query) -> None:
        """Rejects a new query if another one of this checkpoint has written to one of its sinks."""
        for file in sorted(self.folder.parent.glob("*/millstream.json")):
            other = Checkpoint(file.parent)
            written = json.loads(file.read_text(encoding="utf-8")).get("identity", {})
            outputs = written.get("state", {}).get("outputs", {})
            is_query = other.folder.name == next(iter(outputs), None)
            if other.folder == self.folder or not is_query or not other.has_started:
                continue
            shared = [sink.name for sink in query.sinks if sink.name in outputs]
            if shared:
                raise StateError(
                    "MS-STATE-CHANGED",
                    f"the sink {shared[0]} was an output of the query {', '.join(outputs)} "
                    f"({other.folder}) and is now one of {query.title}.",
                    fix="Undo the change to resume, or start again with another --checkpoint, or "
                    "with --fresh, which removes the checkpoint and the files of file sinks.",
                )


def reject_incomplete_batches(checkpoint: Path) -> None:
    """Rejects a checkpoint in which a batch has begun and is not committed."""
    for file in sorted(checkpoint.glob("*/millstream.json")):
        query = Checkpoint(file.parent)
        if (query.spark / "offsets" / str(query.next_batch)).exists():
            raise StateError(
                "MS-STATE-PENDING",
                f"batch {query.next_batch} of {query.folder.name} is not complete: the next run "
                "replaces its files.",
                fix="Run the job until the batch is complete, then repeat the command.",
            )


@contextmanager
def locked(checkpoint: Path) -> Iterator[None]:
    """Locks the checkpoint for this process. The lock ends with the process."""
    checkpoint.mkdir(parents=True, exist_ok=True)
    with (checkpoint / "lock").open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise StateError(
                "MS-STATE-IN-USE",
                f"the checkpoint {checkpoint} is in use by another run (process {holder}).",
                fix="Stop that one first, or run with another --checkpoint.",
            ) from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


def write_json(path: Path, data: Any) -> None:
    """Writes a file in one step: after a crash, it has the old or the new text."""
    hidden = path.with_name(f".{path.name}.{os.getpid()}")
    hidden.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    hidden.replace(path)
