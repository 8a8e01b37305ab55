"""What a run reports of each query after a failure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from py4j.protocol import Py4JNetworkError

from millstream.errors import RunError
from millstream.plan.build.job import build_job
from millstream.run.job import JobRun, Status

SQL = """
CREATE SOURCE numbers (n INT) WITH ('connector' = 'memory');
CREATE SINK first WITH ('connector' = 'console') AS SELECT n FROM numbers;
CREATE SINK second WITH ('connector' = 'console') AS SELECT n FROM numbers;
"""


class Query:
    """A streaming query that says what the test wants."""

    def __init__(self, active: Callable[[], bool], error: Exception | None = None) -> None:
        self._active, self._error = active, error

    @property
    def isActive(self) -> bool:  # noqa: N802 -- as Spark names it
        return self._active()

    def exception(self) -> Exception | None:
        return self._error

    def stop(self) -> None: ...


def lost() -> bool:
    raise Py4JNetworkError("Answer from Java side is empty")


def stopped_run(tmp_path: Path, failed: str | None, *queries: Query) -> tuple[JobRun, list[Status]]:
    run = JobRun(None, build_job(SQL), tmp_path, tmp_path)  # type: ignore[arg-type]
    for plan, query in zip(run.queries, queries, strict=True):
        writer = SimpleNamespace(error=None)
        running: Any = SimpleNamespace(
            plan=plan, streaming_query=query, writer=writer, update_ledger=lambda: None
        )
        run.running.append(running)
    if failed:
        run.failures[failed] = RunError("MS-RUN-DISK", "no space.")
    run.stop()
    run.stop()  # as after a signal
    return run, [run.status(plan) for plan in run.queries]


def test_queries_are_not_completed_when_the_jvm_is_lost(tmp_path):
    _, found = stopped_run(tmp_path, None, Query(lost), Query(lost))
    assert found == [Status.STOPPED, Status.STOPPED]


def test_a_query_that_fails_beside_another_one_is_reported_as_failed(tmp_path):
    error = RuntimeError("java.io.IOException: No space left on device")
    ended = Query(lambda: False, error)
    run, found = stopped_run(tmp_path, "first", ended, ended)
    assert found == [Status.FAILED, Status.FAILED]
    assert run.failures["second"].code == "MS-RUN-DISK"


def test_other_queries_are_stopped_or_have_completed(tmp_path):
    ended = Query(lambda: False)
    assert stopped_run(tmp_path, "first", ended, ended)[1] == [Status.FAILED, Status.COMPLETED]
    active = Query(lambda: True)
    assert stopped_run(tmp_path, "first", ended, active)[1] == [Status.FAILED, Status.STOPPED]
