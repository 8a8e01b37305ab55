"""An error of ours arrives whole at a process that gets only Spark's report of it."""

from __future__ import annotations

import json
import traceback
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.run.test_failures import NATIVE, QUERY, WORKER

from millstream.errors import (
    MARK,
    HarnessError,
    MillstreamError,
    Place,
    PlanError,
    PropertyError,
    RunError,
    SqlError,
    StateError,
    decode,
    encode,
)
from millstream.run.failures import failure

KINDS: dict[str, type[MillstreamError]] = {
    "MS-SQL-PARSE": SqlError,
    "MS-PROP-VALUE": PropertyError,
    "MS-PLAN-SPARK": PlanError,
    "MS-RUN-MALFORMED": RunError,
    "MS-LOOKUP-FAILED": RunError,
    "MS-STATE-LIMIT": StateError,
    "MS-TEST-VALUE": HarnessError,
}
IN_WORKER = {"SPARK_PYTHON_RUNTIME": "PYTHON_WORKER"}
# What reports are made of, and what breaks a naive reader of them.
PARTS = st.one_of(
    st.text(),
    st.sampled_from(
        [
            *('"', "'", "\\", "{", "}", "\n", "\r\n", "\x85", "\u2028", "\x00", "`", "<x>", "${x}"),
            *(
                " SQLSTATE: P0001",
                "Set it. Use it.",
                "Caused by: java.io.EOFException: x",
                "値 é ü",
            ),
            *(f"\n{MARK}", f"{MARK}{{}}", '\n[MILLSTREAM-ERROR]{"code": "MS-RUN-X", "cause": ""}'),
            *(
                "Traceback (most recent call last):\n",
                "millstream.errors.RunError: MS-RUN-X: y. Set z.",
            ),
        ]
    ),
)
TEXTS = st.lists(PARTS, max_size=6).map("".join)
PLACES = st.none() | st.builds(
    Place, st.integers(1, 10**6), st.integers(1, 10**6), TEXTS, st.none() | TEXTS
)
ERRORS = st.builds(
    lambda code, cause, fix, place: KINDS[code](code, cause, fix=fix, place=place),
    st.sampled_from(sorted(KINDS)),
    TEXTS,
    TEXTS,
    PLACES,
)


def fields(error: MillstreamError) -> tuple[object, ...]:
    return type(error), error.code, error.cause, error.fix, error.place


def raised_in_worker(error: MillstreamError) -> str:
    """What a worker sends to Spark: the traceback of the error."""
    try:
        with mock.patch.dict("os.environ", IN_WORKER):
            raise type(error)(error.code, error.cause, fix=error.fix, place=error.place)
    except MillstreamError:
        return traceback.format_exc()


@given(ERRORS)
def test_any_error_survives_a_worker_s_traceback(error):
    text = WORKER.format(error=raised_in_worker(error))
    assert fields(failure(RuntimeError(text))) == fields(error)
    text.encode()


@given(ERRORS)
def test_any_error_survives_foreach_batch(error):
    for raised in (raised_in_worker(error), WORKER.format(error=raised_in_worker(error))):
        assert fields(failure(RuntimeError(QUERY.format(error=raised)))) == fields(error)


@given(ERRORS)
def test_any_error_survives_spark_s_raise_error(error):
    raised = NATIVE.format(error=encode(error))
    for text in (raised, f"Caused by: {raised}\n\tat x", QUERY.format(error=raised)):
        assert fields(failure(RuntimeError(text))) == fields(error)


def test_the_log_shows_the_error_in_words_and_its_code_and_cause_in_the_json():
    error = RunError("MS-RUN-FILE", 'größer als "値".\nNext line.', fix="Mend it.")
    last = raised_in_worker(error).splitlines()[-3:]
    assert last == [
        'millstream.errors.RunError: MS-RUN-FILE: größer als "値".',
        "Next line. Mend it.",
        '[MILLSTREAM-ERROR]{"code": "MS-RUN-FILE", "cause": "größer als \\"値\\".\\nNext line.", '
        '"fix": "Mend it."}',
    ]


def test_an_error_of_the_driver_has_no_json_in_its_traceback():
    text = "".join(traceback.format_exception(RunError("MS-RUN-FILE", "it is gone.")))
    assert MARK not in text


def test_an_error_can_be_annotated_once_to_leave_the_driver():
    error = RunError("MS-RUN-FILE", "it is gone.")
    error.annotate()
    error.annotate()
    assert "".join(traceback.format_exception_only(error)).count(MARK) == 1


def test_a_file_name_that_is_not_utf_8_can_be_reported():
    error = RunError("MS-RUN-FILE", "cannot read a\udce9.csv.")
    text = raised_in_worker(error)
    assert "cannot read a\\udce9.csv." in text
    assert fields(failure(RuntimeError(text.encode().decode()))) == fields(error)


def test_of_chained_errors_the_last_is_reported():
    first, last = RunError("MS-RUN-FILE", "first."), StateError("MS-STATE-LIMIT", "last.")
    text = f"{raised_in_worker(first)}\nDuring handling…\n\n{raised_in_worker(last)}"
    assert fields(failure(RuntimeError(text))) == fields(last)


@pytest.mark.parametrize(
    "text",
    [
        "",
        MARK,
        f'{MARK}{{"code": "MS-RUN-X", "cause": "cut o',
        f'{MARK}{{"code": 1, "cause": "x"}}',
        f'{MARK}{{"code": "DIVIDE_BY_ZERO", "cause": "x"}}',
        f"{MARK}[]",
        f"{MARK}null",
        f'raise_error({MARK}{{"code": "MS-RUN-X", "cause": "of a plan"}})',
    ],
)
def test_what_is_no_error_of_ours_is_not_taken_for_one(text):
    assert decode(text) is None
    assert failure(RuntimeError(text)).code == "MS-RUN-FAILED"


def test_fields_that_a_later_version_adds_are_ignored():
    error = RunError("MS-RUN-FILE", "it is gone.", fix="Mend it.")
    more = {**json.loads(encode(error).removeprefix(MARK)), "since": "0.2"}
    found = decode(MARK + json.dumps(more))
    assert found is not None
    assert fields(found) == fields(error)
