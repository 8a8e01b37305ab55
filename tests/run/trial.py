"""A job in a folder of its own: files in, runs one after the other, files out."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from millstream.observe.ledger import Ledger
from millstream.plan.build.job import build_job
from millstream.plan.connectors import ConnectorRegistry
from millstream.plan.installed_connectors import installed_connectors
from millstream.run.job import JobRun


def at(minute: int, second: int = 0) -> str:
    """A time on the day of all trials."""
    return f"2026-01-15T10:{minute:02d}:{second:02d}Z"


@dataclass
class Trial:
    spark: SparkSession
    folder: Path
    sql: str
    connectors: ConnectorRegistry = field(default_factory=installed_connectors)

    def add(self, source: str, name: str, lines: Iterable[str]) -> None:
        """A file for a source to read, there all at once."""
        target = self.folder / "in" / source
        target.mkdir(parents=True, exist_ok=True)
        hidden = target / f".{name}"
        hidden.write_text("".join(f"{line}\n" for line in lines))
        hidden.rename(target / name)

    def start(self, *, once: bool = False, flushes: bool = False) -> JobRun:
        job = build_job(self.sql, connectors=self.connectors)
        groups = int(job.setting("key_groups") or 0) or None
        run = JobRun(
            self.spark,
            job,
            self.folder / "checkpoint",
            self.folder,
            groups=groups,
            connectors=self.connectors,
            flushes=flushes,
        )
        run.start({"availableNow": True} if once else {"processingTime": "0 seconds"})
        return run

    def forget_last_commit(self, sink: str = "out") -> None:
        """As after a crash before it: the next run runs the last batch again."""
        commits = self.folder / "checkpoint" / sink / "spark/commits"
        last = max(int(file.name) for file in commits.glob("[0-9]*"))
        for file in (commits / str(last), commits / f".{last}.crc"):
            file.unlink(missing_ok=True)

    def once(self) -> Ledger:
        """A run that takes in what is there and ends, as `--once` does."""
        run = self.start(once=True)
        try:
            while not run.wait(30):
                pass
        finally:
            run.stop()
        return ledger(run)

    def flushed(self) -> Ledger:
        """A run to the end of input, as `--once --flush` does."""
        run = self.start(once=True, flushes=True)
        try:
            while not run.wait(30):
                pass
            run.flush()
        finally:
            run.stop()
        return ledger(run)

    def rows(self, folder: str = "out") -> Counter[tuple[str, ...]]:
        """What the files of a sink hold, as a reader finds them, every value as text."""
        return Counter(tuple(map(str, row.values())) for row in self.read(folder))

    def read(self, folder: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for path in sorted((self.folder / folder).glob("[!._]*")):
            if path.suffix == ".parquet":
                found += pq.read_table(path).to_pylist()
            elif path.suffix == ".json":
                found += [json.loads(line) for line in path.read_text().splitlines()]
            else:
                found += list(csv.DictReader(path.read_text().splitlines()))
        return found


def ledger(run: JobRun) -> Ledger:
    [running] = run.running
    counted = running.ledger_store.ledger
    assert isinstance(counted, Ledger)
    assert counted.errors == []
    return counted
