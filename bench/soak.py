"""`make soak`: runs a job of two queries for minutes, and checks that its memory does not grow.

Writes samples.csv and memory.png to bench/soak/, and exits with 1 if a process grows after the
first third of the time. A JVM claims memory until its heap has its maximum size, however little of
it is in use; so of the JVM, the heap in use after a garbage collection is judged.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import sys
import tempfile
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

import psutil

from bench.soak_report import plot, show
from millstream.engine.runtime.jvm import heap_in_use
from millstream.engine.runtime.session import session, warm
from millstream.kernels.state.cache_sizes import CacheSizes
from millstream.plan.build.job import build_job
from millstream.run.progress import progress_of
from millstream.run.runner import Runner
from millstream.run.settings import settings_of

OUT = Path(__file__).parent / "soak"
EVERY = 10.0  # seconds between samples
HEAP_EVERY = 60.0  # seconds between garbage collections of the JVM, each with a sample
GROWTH = 0.10  # allowed growth of a process from the second to the last third
SLACK = 16 << 20  # allowed growth in bytes in any case
ROWS = 2_000  # per source and second
CORES = 2
_SOURCE = """
CREATE SOURCE {name} (id BIGINT, customer STRING, amount DOUBLE, t TIMESTAMP,
  WATERMARK FOR t AS t - INTERVAL 5 SECONDS)
WITH ('connector' = 'file', 'path' = '{name}', 'format' = 'json');
"""
JOB = (
    _SOURCE.format(name="orders")
    + _SOURCE.format(name="shipments")
    + """
CREATE SINK shipped WITH ('connector' = 'file', 'path' = 'out/shipped', 'format' = 'parquet') AS
SELECT o.id, o.customer, o.amount, s.t AS shipped_at FROM orders o LEFT JOIN shipments s
  ON o.id = s.id AND s.t BETWEEN o.t AND o.t + INTERVAL 20 SECONDS;
CREATE STREAM firsts AS SELECT DISTINCT ON (id) id, customer, amount, t FROM orders
  WITH ('state.ttl' = '30s');
CREATE SINK totals WITH ('connector' = 'file', 'path' = 'out/totals', 'format' = 'parquet') AS
SELECT customer, _window_end AS until, COUNT(*) AS n, SUM(amount) AS total FROM firsts
  WINDOW TUMBLING(INTERVAL 10 SECONDS) GROUP BY customer EMIT FINAL;
"""
)


@dataclass(slots=True)
class Input:
    """Writes a file per source and second; half of the orders ship within the bound."""

    folder: Path
    rng: random.Random = field(default_factory=lambda: random.Random(7))  # noqa: S311
    number: int = 0

    def add(self, now: datetime) -> None:
        orders, shipments = [], []
        for place in range(ROWS):
            identity, at = self.number + place, now + timedelta(microseconds=place * 400)
            row = {"id": identity, "customer": f"customer {identity % 500}", "amount": place / 4}
            orders.append(row | {"t": at.isoformat()})
            if self.rng.random() < 0.5:
                shipments.append(row | {"t": (at + timedelta(seconds=2)).isoformat()})
        self.number += ROWS
        self._write("orders", orders)
        self._write("shipments", shipments)
        if self.number % (60 * ROWS) == 0:
            self._remove_old()

    def _write(self, source: str, rows: list[dict[str, object]]) -> None:
        target = self.folder / source
        target.mkdir(exist_ok=True)
        hidden = target / f".{self.number}"
        hidden.write_text("".join(json.dumps(row) + "\n" for row in rows))
        hidden.rename(target / f"{self.number}.json")

    def _remove_old(self) -> None:
        """Files that were read and written minutes ago: the disk is not what is measured."""
        limit = time.time() - 300
        for name in ("orders", "shipments", "out/shipped", "out/totals"):
            for file in (self.folder / name).glob("[!._]*"):
                if file.stat().st_mtime < limit:
                    file.unlink()


@dataclass(frozen=True, slots=True)
class Sample:
    seconds: float
    process: str  # "driver", "jvm", "jvm heap" or "worker <pid>"
    rss: int
    cache_bytes: int = 0
    cache_entries: int = 0
    state_rows: int = 0
    state_bytes: int = 0
    batches: int = 0


def samples(seconds: float, drive: Runner, sizes: CacheSizes) -> list[Sample]:
    """One sample per process."""
    running = list(drive.run.running) if drive.run else []
    progress = [progress_of(each) for each in running]
    totals = (
        sum(each.state_rows for each in progress),
        sum(each.state_bytes for each in progress),
        sum(each.batch or 0 for each in progress),
    )
    cached = {size.process: (size.nbytes, size.entries) for size in sizes.sizes()}
    found = [Sample(seconds, "driver", psutil.Process().memory_info().rss, 0, 0, *totals)]
    for process in psutil.Process().children(recursive=True):
        try:
            rss, name = process.memory_info().rss, process.name()
        except psutil.Error:
            continue
        if name == "java":
            found.append(Sample(seconds, "jvm", rss))
        elif process.pid in cached:
            found.append(Sample(seconds, f"worker {process.pid}", rss, *cached[process.pid]))
    return found


def live_heap(seconds: float, drive: Runner) -> list[Sample]:
    """The JVM's heap in use after a garbage collection."""
    if drive.run is None:
        return []
    return [Sample(seconds, "jvm heap", heap_in_use(drive.run.spark))]


def growing(all_samples: list[Sample]) -> list[str]:
    """Processes that are larger at the end than after warm-up; a worker may have come later."""
    end = max(sample.seconds for sample in all_samples)
    found = []
    for name in sorted({sample.process for sample in all_samples} - {"driver", "jvm"}):
        own = [sample for sample in all_samples if sample.process == name]
        middle = [each.rss for each in own if end / 3 <= each.seconds < 2 * end / 3]
        last = [each.rss for each in own if each.seconds >= 2 * end / 3]
        if not middle or not last:
            continue
        before, after = median(middle), median(last)
        if after > before * (1 + GROWTH) and after - before > SLACK:
            found.append(f"{name}: {before / 1e6:.0f} MB, then {after / 1e6:.0f} MB")
    return found


def run(minutes: float, out: Path) -> int:
    out.mkdir(parents=True, exist_ok=True)
    taken: list[Sample] = []
    with tempfile.TemporaryDirectory(prefix="millstream-soak-") as name:
        folder = Path(name)
        table = folder / "cache-sizes"
        os.environ["MILLSTREAM_CACHE_SIZES"] = str(table)
        given = Input(folder)
        given.add(datetime.now(UTC))
        (folder / "job.sql").write_text(JOB)
        job = build_job(JOB)
        settings = settings_of(job, folder / "job.sql", every="1s")

        def start() -> object:
            spark = session({}, CORES, folder / "spark.log")
            warm(spark)
            return spark

        drive = Runner(job, settings, start, folder / "spark.log")  # type: ignore[arg-type]
        drive.start()
        begun, sampled, collected = time.monotonic(), 0.0, time.monotonic()
        try:
            while time.monotonic() - begun < minutes * 60:
                tick = time.monotonic()
                given.add(datetime.now(UTC))
                if tick - sampled >= EVERY and table.exists():
                    sampled = tick
                    taken += samples(tick - begun, drive, CacheSizes.attach(table))
                    if tick - collected >= HEAP_EVERY:
                        collected = tick
                        taken += live_heap(tick - begun, drive)
                    show(taken)
                if drive.done(max(0.0, tick + 1 - time.monotonic())):
                    raise SystemExit(f"the job ended: {drive.error}")
        finally:
            drive.stop()
            if drive.run is not None:
                drive.run.spark.stop()
    with (out / "samples.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(Sample.__slots__)
        writer.writerows([getattr(each, name) for name in Sample.__slots__] for each in taken)
    plot(taken, out / "memory.png")
    print(f"samples in {out / 'samples.csv'}, a plot in {out / 'memory.png'}")
    if not any(each.batches for each in taken):
        print("no batch completed: run it for more MINUTES")
        return 1
    grown = growing(taken)
    print("\n".join(["memory still grows:", *grown]) if grown else "memory is flat after warm-up")
    return 1 if grown else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--out", type=Path, default=OUT)
    given_options = parser.parse_args()
    sys.exit(run(given_options.minutes, given_options.out))
