"""What a worker raised comes out as that error, whatever Spark wraps around it."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.errors import MillstreamError, RunError, StateError
from millstream.run.failures import failure

WORKER = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "millstream/spark/packets.py", line 163, in _drop_missing_time
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
+- ~Filter CASE WHEN isnotnull(_bad#3) THEN raise_error(MS-RUN-OTHER: of a plan. Set it.) END
"""
NATIVE = "pyspark.errors.SparkRuntimeException: [USER_RAISED_EXCEPTION] {error} SQLSTATE: P0001"


def errors() -> list[MillstreamError]:
    return [
        RunError(
            "MS-RUN-MISSING-TIME",
            "source orders holds 1 row(s) without an event time.",
            fix="Set 'event.missing' = 'skip' to leave them out (counted), or 'wall_clock'.",
        ),
        RunError(
            "MS-RUN-MALFORMED",
            'source orders holds a record that does not fit its schema: "z. Set it\'s bad, 3".',
            fix="Mend the input, or set 'malformed' = 'dead_letter' to set such records aside.",
        ),
        StateError(
            "MS-STATE-LIMIT",
            "a key group of the join's state holds 4 rows, its limit is 1.",
            fix="Raise 'state.max_rows', narrow the bound. Or let go: 'state.on_limit' = 'evict'.",
        ),
        RunError("MS-RUN-SHORT", "it has a cause and no fix."),
    ]


def told(error: MillstreamError) -> tuple[type, str, str, str]:
    return type(error), error.code, error.cause, error.fix


@pytest.mark.parametrize("error", errors(), ids=lambda error: error.code)
def test_a_worker_s_error_comes_out_whole(error):
    raised = f"millstream.errors.{type(error).__name__}: {error}"
    for text in (
        WORKER.format(error=raised),
        QUERY.format(error=raised),
        QUERY.format(error=WORKER.format(error=raised)),
    ):
        assert told(failure(RuntimeError(text))) == told(error)


@pytest.mark.parametrize("error", errors(), ids=lambda error: error.code)
def test_what_spark_raises_for_us_comes_out_whole(error):
    raised = NATIVE.format(error=error)
    assert told(failure(RuntimeError(raised))) == told(error)
    assert told(failure(RuntimeError(QUERY.format(error=raised)))) == told(error)


def test_an_error_of_ours_stays_itself():
    error = RunError("MS-RUN-SINK", "no room.")
    assert failure(error) is error


def test_another_error_is_told_by_its_innermost_cause_and_names_the_log():
    text = QUERY.format(
        error="pyspark.errors.ArithmeticException: [DIVIDE_BY_ZERO] Division by zero. "
        "Use `try_divide`. SQLSTATE: 22012"
    )
    error = failure(RuntimeError(text), Path("spark.log"))
    assert told(error) == (
        RunError,
        "MS-RUN-FAILED",
        "the streaming query failed: [DIVIDE_BY_ZERO] Division by zero. Use `try_divide`.",
        "The whole of Spark's report is in spark.log.",
    )


def test_a_java_error_is_told_by_its_innermost_cause():
    text = (
        "Job aborted due to stage failure.\n"
        "org.apache.spark.SparkException: Task failed\n\tat org.apache.E.run(E.scala:1)\n"
        "Caused by: java.io.IOException: No space left on device\n\tat java.F.write(F.java:2)\n"
    )
    assert (
        failure(RuntimeError(text)).cause == "the streaming query failed: No space left on device"
    )


def test_an_error_without_a_text_is_told_too():
    assert failure(RuntimeError("")).cause == "the streaming query failed: it gave no reason"
