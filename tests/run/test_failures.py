"""What a worker raised comes out as that error, whatever Spark wraps around it."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from py4j.protocol import Py4JNetworkError

from millstream.errors import MillstreamError, Place, RunError, StateError, encode
from millstream.plan.build.job import build_job
from millstream.run import failures
from millstream.run.failures import (
    RESTART,
    explained,
    failure,
    located,
    unwritable_checkpoint,
)

WORKER = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "millstream/engine/shuffle/packer.py", line 163, in _drop_missing_time
    raise RunError(
{error}
"""
QUERY = """[STREAM_FAILED] Query [id = c1e6a518, runId = ec8274ca] terminated with exception: \
[FOREACH_BATCH_USER_FUNCTION_ERROR] An error occurred in the user provided function in foreach \
batch sink. Reason: An exception was raised by the Python Proxy. Return Message: Traceback
  File "pyspark/errors/exceptions/captured.py", line 262, in deco
    raise converted from None
{error}
 SQLSTATE: 39000 SQLSTATE: XXKST
=== Streaming Query ===
Identifier: out [id = c1e6a518, runId = ec8274ca]
Current Committed Offsets: {{}}
Logical Plan:
+- ~Filter CASE WHEN isnotnull(_bad#3) THEN raise_error([MILLSTREAM-ERROR]{{"code": \
"MS-RUN-OTHER", "cause": "of a plan.", "fix": "Set it."}}) END
"""
JAVA = (
    "Job aborted due to stage failure.\n"
    "org.apache.spark.SparkException: Task failed\n\tat org.apache.E.run(E.scala:1)\n"
    "Caused by: java.io.IOException: {cause}\n\tat java.F.write(F.java:2)\n"
)
NATIVE = "pyspark.errors.SparkRuntimeException: [USER_RAISED_EXCEPTION] {error} SQLSTATE: P0001"


def errors() -> list[MillstreamError]:
    return [
        RunError(
            "MS-RUN-MISSING-TIME",
            "source orders has 1 row(s) without an event time.",
            fix="Set 'event.missing' = 'skip' to leave them out (counted), or 'wall_clock'.",
        ),
        RunError(
            "MS-RUN-MALFORMED",
            'source orders: /in/a.csv, line 3: column id: "z. Set it\'s bad, 3" is not an INT.',
            fix="Mend the input, or set 'malformed' = 'dead_letter' to set such records aside.",
        ),
        StateError(
            "MS-STATE-LIMIT",
            "one key group of the join's state has 4 rows; its limit is 1.",
            fix="Raise 'state.max_rows', narrow the bound. Or let go: 'state.on_limit' = 'evict'.",
        ),
        RunError("MS-RUN-SHORT", "it has a cause and no fix."),
    ]


def described(error: MillstreamError) -> tuple[type, str, str, str]:
    return type(error), error.code, error.cause, error.fix


@pytest.mark.parametrize("error", errors(), ids=lambda error: error.code)
def test_a_worker_s_error_comes_out_whole(error):
    raised = f"millstream.errors.{type(error).__name__}: {error}\n{encode(error)}"
    for text in (
        WORKER.format(error=raised),
        QUERY.format(error=raised),
        QUERY.format(error=WORKER.format(error=raised)),
    ):
        assert described(failure(RuntimeError(text))) == described(error)


@pytest.mark.parametrize("error", errors(), ids=lambda error: error.code)
def test_what_spark_raises_for_us_comes_out_whole(error):
    raised = NATIVE.format(error=encode(error))
    assert described(failure(RuntimeError(raised))) == described(error)
    assert described(failure(RuntimeError(QUERY.format(error=raised)))) == described(error)


def test_an_error_of_ours_stays_itself():
    error = RunError("MS-RUN-SINK", "no room.")
    assert failure(error) is error


def test_another_error_is_reported_with_its_innermost_cause_and_names_the_log():
    text = QUERY.format(
        error="pyspark.errors.ArithmeticException: [DIVIDE_BY_ZERO] Division by zero. "
        "Use `try_divide`. SQLSTATE: 22012"
    )
    error = failure(RuntimeError(text), Path("spark.log"))
    assert described(error) == (
        RunError,
        "MS-RUN-FAILED",
        "the streaming query failed: [DIVIDE_BY_ZERO] Division by zero. Use `try_divide`.",
        "Spark's full report is in spark.log.",
    )


def test_a_java_error_is_reported_with_its_innermost_cause():
    text = JAVA.format(cause="Stream is corrupted")
    assert failure(RuntimeError(text)).cause == "the streaming query failed: Stream is corrupted"


@pytest.mark.parametrize("reason", ["No space left on device", "Read-only file system"])
def test_a_disk_that_cannot_be_written_is_named_by_its_reason(reason):
    assert described(failure(RuntimeError(JAVA.format(cause=f"/c/.tmp ({reason})")))) == (
        RunError,
        "MS-RUN-DISK",
        "a folder of the job (its checkpoint, a sink, or Spark's temporary files) cannot be "
        f"written: {reason}.",
        f"Make it writable, with free space. {RESTART}",
    )


def test_the_driver_s_own_disk_error_is_no_defect():
    error = explained(OSError(errno.ENOSPC, "No space left on device", "/c/ledger.json"))
    assert error is not None
    assert error.code == "MS-RUN-DISK"


def test_a_checkpoint_that_cannot_be_written_is_found_by_trying(tmp_path):
    assert unwritable_checkpoint(tmp_path / "new") is None
    assert list((tmp_path / "new").iterdir()) == []
    (tmp_path / "file").touch()
    error = unwritable_checkpoint(tmp_path / "file")
    assert error is not None
    assert error.cause == f"the checkpoint folder {tmp_path}/file cannot be written: File exists."


@pytest.mark.parametrize(
    "cause",
    [
        "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed). Consider "
        "setting 'spark.python.worker.faulthandler.enabled'.\nCaused by: java.io.EOFException\n",
        "java.io.EOFException\n"
        "\tat java.base/java.io.DataInputStream.readInt(DataInputStream.java:386)\n"
        "\tat org.apache.spark.api.python.PythonWorkerFactory.create(PythonWorkerFactory)\n",
        "java.net.SocketException: Connection reset by peer\n"
        "\tat java.base/sun.nio.ch.SocketDispatcher.read0(Native Method)\n"
        "\tat org.apache.spark.sql.execution.python.PythonArrowOutput.read(PythonArrowOutput)\n",
    ],
    ids=["while it works", "while it starts", "while it is read"],
)
def test_a_lost_worker_is_reported_with_its_tries_and_a_safe_restart(cause):
    text = (
        "Job aborted due to stage failure: Task 1 in stage 9.0 failed 4 times, most recent failure:"
        f" Lost task 1.3 in stage 9.0: {cause}"
    )
    assert described(failure(RuntimeError(text), Path("spark.log"))) == (
        RunError,
        "MS-RUN-WORKER",
        "a Python worker ended unexpectedly, 4 times in the same task.",
        "Check whether it was killed, for example because memory ran out. Run the job again: it "
        "continues from its checkpoint and writes no row twice. Spark's log is spark.log.",
    )


@pytest.mark.parametrize(
    "error", [Py4JNetworkError("Answer from Java side is empty"), ConnectionRefusedError(111, "no")]
)
def test_a_jvm_that_has_ended_is_the_reason_why_it_does_not_answer(monkeypatch, error):
    monkeypatch.setattr(failures, "jvm_end", lambda _: "was killed by SIGKILL")
    found = explained(error)
    assert found is not None
    assert described(found) == (
        RunError,
        "MS-RUN-JVM",
        "Spark's JVM was killed by SIGKILL while the job was running.",
        f"Check whether it was killed, for example because memory ran out. {RESTART}",
    )


def test_an_error_that_nobody_foresaw_is_a_defect():
    assert explained(KeyError("x")) is None


DIVISION = """\
SELECT id,
  amount
    / ${divisor} AS ratio, amount / ${divisor} AS again
FROM orders o WHERE 10 / amount > 1"""
CONTEXT = """[STREAM_FAILED] Job aborted due to stage failure: Task 0 in stage 2.0 failed 4 times
org.apache.spark.SparkArithmeticException: [DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to \
tolerate divisor being 0 and return NULL instead. If necessary set "spark.sql.ansi.enabled" to \
"false" to bypass this error. SQLSTATE: 22012
== SQL (line 1, position {position}) ==
{sql}
{under}

\tat org.apache.spark.sql.errors.QueryExecutionErrors$.divideByZeroError(E.scala:221)
"""


def division_error(part: str, sql: str) -> RunError:
    """What is reported if Spark fails at a part of an expression that it evaluates."""
    job = build_job(
        "CREATE SOURCE orders (id STRING, amount INT) WITH ('connector' = 'memory');"
        f"CREATE SINK out WITH ('connector' = 'console') AS {DIVISION}",
        variables={"divisor": "0"},
    )
    offset = sql.index(part)
    under = " " * offset + "^" * len(part)
    text = CONTEXT.format(position=offset + 1, sql=sql, under=under)
    found = located(failure(RuntimeError(text)), job.text)
    assert isinstance(found, RunError)
    return found


def test_an_expression_that_fails_for_a_row_is_named_with_its_place():
    error = division_error("10 / o.amount", "10 / o.amount > 1")
    assert described(error)[1:] == (
        "MS-RUN-VALUE",
        "10 / amount failed for a row: [DIVIDE_BY_ZERO] Division by zero.",
        "Use `try_divide` to tolerate divisor being 0 and return NULL instead.",
    )
    assert error.place == Place(4, 21, "FROM orders o WHERE 10 / amount > 1")


def test_an_expression_is_found_inside_a_larger_one():
    error = division_error("10 / o.amount", "(o.id IS NULL) AND 10 / o.amount > 1")
    assert error.place == Place(4, 21, "FROM orders o WHERE 10 / amount > 1")


def test_an_expression_of_several_queries_is_named_in_the_one_that_failed():
    job = build_job(
        "CREATE SOURCE orders (id STRING, amount INT) WITH ('connector' = 'memory');\n"
        "CREATE SINK a WITH ('connector' = 'console') AS SELECT 10 / amount AS x FROM orders;\n"
        "CREATE SINK b WITH ('connector' = 'console');\n"
        "INSERT INTO b SELECT id, 10 / amount AS x FROM orders;\n"
    )
    text = CONTEXT.format(position=1, sql="10 / orders.amount", under="^" * 18)
    error = failure(RuntimeError(text))
    first, second = (pipeline.span for pipeline in job.pipelines)
    assert first
    assert second
    of_first, of_second = (located(error, job.text, [span]) for span in (second, first))
    assert of_first.place
    assert of_first.place.line == 2
    assert of_second.place
    assert of_second.place.line == 4
    assert of_second.cause == ("10 / amount failed for a row: [DIVIDE_BY_ZERO] Division by zero.")


def test_an_expression_over_several_lines_and_written_twice_names_both_places():
    error = division_error("o.amount / 0", "o.amount / 0")
    assert error.cause == (
        "amount / ${divisor} failed for a row: [DIVIDE_BY_ZERO] Division by zero. "
        "(The same expression is at line 3, column 28.)"
    )
    assert error.place == Place(2, 3, "  amount")


def test_an_expression_of_unknown_origin_is_reported_without_a_place():
    error = division_error("x / y", "x / y")
    assert error.place is None
    assert error.cause.startswith("an expression failed for a row: [DIVIDE_BY_ZERO]")


def test_an_error_without_a_text_is_reported():
    assert failure(RuntimeError("")).cause == "the streaming query failed: no reason given"
