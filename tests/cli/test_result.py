"""What a run reports of its queries."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from millstream.cli.result import after_failure
from millstream.errors import StateError
from millstream.plan.build.job import build_job
from millstream.run.checkpoint import Checkpoint
from millstream.run.job import JobRun
from millstream.run.ledger_store import LedgerStore

TWO_QUERIES = """
CREATE SOURCE a (id INT) WITH ('connector' = 'memory');
CREATE SOURCE b (id INT) WITH ('connector' = 'memory');
CREATE SINK one WITH ('connector' = 'noop') AS SELECT id FROM a;
CREATE SINK two WITH ('connector' = 'noop') AS SELECT id FROM b;
"""


def test_a_query_that_was_not_started_has_the_rows_of_earlier_runs(tmp_path: Path) -> None:
    no_spark = cast("Any", None)
    run = JobRun(no_spark, build_job(TWO_QUERIES), tmp_path / "checkpoint", tmp_path)
    one, two = run.queries
    checkpoint = Checkpoint(run.checkpoint / two.name)
    (checkpoint.spark / "commits").mkdir(parents=True)
    (checkpoint.spark / "commits/0").touch()
    LedgerStore.open(two, checkpoint.ledger).add(0, [], {0: 5})
    run.failures[one.name] = StateError("MS-STATE-CHANGED", "it is changed.")
    failed, other = after_failure(run)
    assert failed == "one: failed; 0 rows written so far. The next run continues it."
    assert "two: " in other
    assert "; 5 rows written so far." in other
