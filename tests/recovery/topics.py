"""A job that reads topics, with late rows and malformed records, and how it is killed."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.recovery import jobs
from tests.services.kafka import Kafka

ROWS, PARTITIONS, BATCHES = 2_400, 3, 12
KILLS = int(os.environ.get("MILLSTREAM_KILLS", "2"))  # `make chaos` sets more
OUTPUTS = ("joined", "late", "bad")
_START = datetime(2026, 1, 15, tzinfo=UTC)
_SOURCE = """CREATE SOURCE {name} (id BIGINT, t TIMESTAMP, WATERMARK FOR t AS t - INTERVAL 1 SECOND)
WITH ('connector' = 'kafka', 'bootstrap.servers' = '{address}', 'topic' = '{topic}',
  'max.rows.per.batch' = '{limit}', 'dead_letter.sink' = 'bad');
"""
_QUERY = """CREATE SINK joined WITH ({joined}) AS
SELECT o.id, s.id AS shipment FROM orders o LEFT JOIN shipments s
  ON o.id = s.id AND s.t BETWEEN o.t AND o.t + INTERVAL 20 SECONDS
WITH ('late.policy' = 'side_output', 'late.sink' = 'late');
"""
# Values that differ between two runs of a job.
_OF_A_RUN = ("_time", "_file")


def job(kafka: Kafka, sinks: dict[str, str], suffix: str = "") -> str:
    """Returns the SQL of the job. `sinks` has the properties of each output."""
    sources = [
        _SOURCE.format(
            name=name,
            address=kafka.address,
            topic=f"{name}{suffix}",
            limit=ROWS // BATCHES,
        )
        for name in ("orders", "shipments")
    ]
    sides = [f"CREATE SINK {name} WITH ({sinks[name]});\n" for name in OUTPUTS[1:]]
    return "".join(sources + sides) + _QUERY.format(joined=sinks["joined"])


def write_inputs(kafka: Kafka, suffix: str = "") -> None:
    """Every second order ships. Of 40 rows, one is late and one is malformed."""
    rng = random.Random(3)
    for name, step in (("orders", 1), ("shipments", 2)):
        topic = kafka.create(f"{name}{suffix}", PARTITIONS)
        for partition in range(PARTITIONS):
            values = list(_values(rng, range(partition * step, ROWS, PARTITIONS * step)))
            kafka.write(topic, values, partition=partition)


def _values(rng: random.Random, numbers: Iterable[int]) -> Iterable[str]:
    for number in numbers:
        at = _START + timedelta(milliseconds=number * 10)
        if rng.random() < 0.025:
            at -= timedelta(minutes=5)
        yield json.dumps({"id": number, "t": at.isoformat()})
        if rng.random() < 0.025:
            yield f'{{"id": "malformed {number}"}}'


def comparable(rows: Iterable[dict[str, Any]]) -> Counter[str]:
    """Returns the rows without the values that differ between runs."""
    texts = ({k: v for k, v in row.items() if k not in _OF_A_RUN} for row in rows)
    return Counter(json.dumps(each, sort_keys=True, default=str) for each in texts)


def run(folder: Path, checkpoint: str) -> None:
    """Runs the job to its end."""
    process = jobs.start(folder, "--once", "--flush", checkpoint=checkpoint)
    _, text = process.communicate(timeout=400)
    assert process.returncode == 0, text


def run_with_kills(folder: Path, checkpoint: str, seed: int) -> None:
    """Kills the job and all its processes after random batches, then runs it to its end."""
    rng = random.Random(seed)
    commits = folder / checkpoint / "joined" / "spark" / "commits"

    def committed() -> int:
        return len([1 for file in commits.glob("*") if file.name.isdecimal()])

    for number in range(KILLS):
        # Several kills without a batch between them are possible, as long as batches are left.
        goal = min(committed() + rng.randint(0, 2), BATCHES - 3)
        process = jobs.start(folder, "--once", checkpoint=checkpoint)
        offsets = commits.with_name("offsets")
        jobs.wait_for(
            lambda goal=goal, offsets=offsets: (  # type: ignore[misc]
                committed() >= goal and len(list(offsets.glob("[0-9]*"))) > committed()
            ),
            process,
        )
        time.sleep(rng.random() * 0.5)
        assert process.poll() is None, f"kill {number}: the job has ended"
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    run(folder, checkpoint)
