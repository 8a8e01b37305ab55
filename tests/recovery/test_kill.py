"""A job that is killed again and again writes exactly the rows of one that was not."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

BATCHES = 24
ROWS = 200
KILLS = 6
_START = datetime(2026, 1, 15, tzinfo=UTC)
_JOIN = """
CREATE SOURCE orders (id BIGINT, amount DOUBLE, t TIMESTAMP,
  WATERMARK FOR t AS t - INTERVAL 5 SECONDS)
WITH ('connector' = 'file', 'path' = 'orders', 'format' = 'json', 'max.files.per.batch' = '1');
CREATE SOURCE shipments (id BIGINT, carrier STRING, t TIMESTAMP,
  WATERMARK FOR t AS t - INTERVAL 5 SECONDS)
WITH ('connector' = 'file', 'path' = 'shipments', 'format' = 'json', 'max.files.per.batch' = '1');
CREATE SINK joined WITH ('connector' = 'file', 'path' = '${out}', 'format' = 'json') AS
SELECT o.id, o.amount, s.carrier FROM orders o LEFT JOIN shipments s ON o.id = s.id
  AND s.t BETWEEN o.t AND o.t + INTERVAL 20 SECONDS;
"""
# Two joins by one key, which run in one host and keep their state apart.
_CHAIN = (
    _JOIN.replace(
        "o LEFT JOIN shipments s",
        "o JOIN shipments s",
    )
    .replace(
        "INTERVAL 20 SECONDS;",
        "INTERVAL 20 SECONDS LEFT JOIN shipments x ON o.id = x.id AND x.t BETWEEN o.t AND "
        "o.t + INTERVAL 2 SECONDS;",
    )
    .replace("s.carrier FROM", "s.carrier, x.t FROM")
)
# Three operators in a chain, each with state of its own; one shipment in two comes twice.
_AGGREGATES = """
CREATE SOURCE shipments (id BIGINT, carrier STRING, t TIMESTAMP,
  WATERMARK FOR t AS t - INTERVAL 5 SECONDS)
WITH ('connector' = 'file', 'path' = '*s', 'format' = 'json', 'max.files.per.batch' = '1');
CREATE STREAM shipped AS SELECT DISTINCT ON (id) id, carrier, t FROM shipments
  WITH ('state.ttl' = '1h');
CREATE STREAM counted AS SELECT id % 7 AS k, _window_start AS since, _window_end AS until,
  COUNT(*) AS n, SUM(id) AS ids, MAX(t) AS last, COUNT(DISTINCT id % 50) AS ones FROM shipped
  WINDOW TUMBLING(INTERVAL 5 SECONDS) GROUP BY id % 7 EMIT FINAL;
CREATE SINK joined WITH ('connector' = 'file', 'path' = '${out}', 'format' = 'json') AS
SELECT k, COUNT(*) AS windows, SUM(n) AS n, SUM(ids) AS ids, SUM(ones) AS ones
FROM counted GROUP BY k EMIT CHANGES
  WITH ('state.ttl' = 'forever', 'output.mode' = 'retract');
"""


def write_inputs(folder: Path) -> None:
    """Half of the orders ship within the bound; every row's time is a fraction of its number."""
    rng = random.Random(5)
    for name in ("orders", "shipments"):
        (folder / name).mkdir()
    for batch in range(BATCHES):
        orders, shipments = [], []
        for number in range(batch * ROWS, (batch + 1) * ROWS):
            at = _START + timedelta(milliseconds=number * 10)
            orders.append({"id": number, "amount": number / 4, "t": at.isoformat()})
            if rng.random() < 0.5:
                sent = at + timedelta(milliseconds=rng.randrange(4_000))
                shipments.append({"id": number, "carrier": "UPS", "t": sent.isoformat()})
        for name, rows in (("orders", orders), ("shipments", shipments)):
            text = "".join(json.dumps(row) + "\n" for row in rows)
            (folder / name / f"{batch:04d}.json").write_text(text)


def start(folder: Path, out: str, *options: str) -> subprocess.Popen[str]:
    millstream = str(Path(sys.executable).with_name("millstream"))
    command = [millstream, "run", "job.sql", "--json", "--cores", "2"]
    return subprocess.Popen(
        [*command, "--set", f"out={out}", "--checkpoint", f"{out}-checkpoint", *options],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, err = process.communicate(timeout=400)
    assert process.returncode == 0, err
    result: dict[str, Any] = json.loads(out)
    return result


def ledger(result: dict[str, Any]) -> dict[str, Any]:
    """What became of all rows; not how state was laid out, which depends on when it was merged."""
    ledger = dict(result["queries"][0]["ledger"])
    assert ledger.pop("balanced")
    ledger.pop("state")
    return ledger


def rows(folder: Path) -> Counter[str]:
    return Counter(
        line for file in sorted(folder.glob("*.json")) for line in file.read_text().splitlines()
    )


def committed(folder: Path) -> int:
    commits = folder / "killed-checkpoint" / "joined" / "spark" / "commits"
    return len([1 for file in commits.glob("*") if file.name.isdecimal()])


def kill_after(process: subprocess.Popen[str], folder: Path, batches: int, delay: float) -> None:
    """Kill -9 the job and all it started, a moment after so many more batches are done."""
    goal = committed(folder) + batches
    deadline = time.monotonic() + 200
    while process.poll() is None and committed(folder) < goal and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(delay)
    assert process.poll() is None, f"the job ended before it was killed: {process.communicate()}"
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.parametrize(
    ("job", "kills", "came"),
    [(_JOIN, KILLS, BATCHES * ROWS), (_CHAIN, 3, None), (_AGGREGATES, 4, None)],
    ids=["join", "chain of joins", "aggregates"],
)
def test_a_job_killed_at_random_moments_writes_the_rows_of_an_undisturbed_run(
    tmp_path: Path, job: str, kills: int, came: int | None
) -> None:
    write_inputs(tmp_path)
    (tmp_path / "job.sql").write_text(job)
    undisturbed = finish(start(tmp_path, "whole", "--once", "--flush"))

    rng = random.Random(9)
    for _ in range(kills):
        process = start(tmp_path, "killed", "--once")
        kill_after(process, tmp_path, rng.randint(1, 3), rng.random() * 0.6)
    assert 0 < committed(tmp_path) < BATCHES
    recovered = finish(start(tmp_path, "killed", "--once", "--flush"))

    whole = rows(tmp_path / "whole")
    assert sum(whole.values()) == came if came else whole
    assert rows(tmp_path / "killed") == whole
    assert ledger(recovered) == ledger(undisturbed)
