"""The log of the files of a source: what a batch has, kills, two readers, and its size."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys

import pytest

from millstream.connectors.file.admission_log import RETAINED, AdmissionLog, Choice, Item, Remainder
from millstream.errors import RunError, StateError


def files(*paths: str, rest: Remainder | None = None) -> Choice:
    return [Item(path, 0, None, 1, 0) for path in paths], rest


def admit(log: AdmissionLog, start: int, *paths: str) -> int:
    return log.admit(start, lambda _: files(*paths))


def paths(log: AdmissionLog, first: int, last: int) -> list[str]:
    return [each.path for each in log.items(first, last)]


def test_a_batch_is_decided_once(tmp_path):
    log = AdmissionLog(tmp_path / "log")
    assert admit(log, 0, "a", "b") == 1
    assert admit(AdmissionLog(tmp_path / "log"), 0, "c") == 1
    assert admit(log, 1) == 1
    assert admit(log, 1, "c") == 2
    assert (paths(log, 1, 1), paths(log, 1, 2), paths(log, 3, 2)) == (
        ["a", "b"],
        ["a", "b", "c"],
        [],
    )
    assert log.unseen(["a", "c", "d"]) == ["d"]


def test_the_rest_of_a_file_is_given_to_the_next_batch(tmp_path):
    log = AdmissionLog(tmp_path / "log")
    rest = Remainder("a\udcff", 5, 9, 1)
    found: list[Remainder | None] = []

    def choose(remainder: Remainder | None) -> Choice:
        found.append(remainder)
        return [Item("a\udcff", 0, 5, 5, 1)], None if remainder else rest

    assert (log.admit(0, choose), log.has_remainder) == (1, True)
    assert (log.admit(1, choose), log.has_remainder) == (2, False)
    assert found == [None, rest]


def test_nothing_is_stored_if_the_choice_fails(tmp_path):
    log = AdmissionLog(tmp_path / "log")

    def fail(_: Remainder | None) -> Choice:
        raise OSError("no network")

    with pytest.raises(OSError, match="no network"):
        log.admit(0, fail)
    assert (log.last, admit(log, 0, "a")) == (0, 1)


def test_a_log_that_cannot_be_written_is_reported(tmp_path):
    log = AdmissionLog(tmp_path / "log")
    admit(log, 0, "a")
    log._open().execute("PRAGMA query_only = ON")
    with pytest.raises(RunError) as caught:
        admit(log, 1, "b")
    assert (caught.value.code, log.last) == ("MS-RUN-DISK", 1)


def test_batches_are_dropped_and_their_files_are_not(tmp_path):
    log = AdmissionLog(tmp_path / "log")
    for number in range(RETAINED + 20):
        admit(log, number, f"{number:03d}")
        log.drop_batches(number)
    assert paths(log, RETAINED, RETAINED + 2) == [
        f"{RETAINED - 1:03d}",
        f"{RETAINED:03d}",
        f"{RETAINED + 1:03d}",
    ]
    with pytest.raises(StateError) as caught:
        log.items(1, 2)
    assert caught.value.code == "MS-STATE-LOST"
    assert log.unseen(f"{number:03d}" for number in range(RETAINED + 20)) == []
    assert log.last == RETAINED + 20


def test_files_that_are_missing_for_long_enough_are_dropped(tmp_path):
    log = AdmissionLog(tmp_path / "log")
    admit(log, 0, "a", "b", "c")
    assert log.drop_missing({"a"}, now=100, after=10) == 0
    assert log.drop_missing({"a", "b"}, now=109, after=10) == 0
    assert log.drop_missing({"a"}, now=111, after=10) == 1  # c; b was there in between
    assert log.unseen(["a", "b", "c"]) == ["c"]
    assert log.drop_missing(set(), now=120, after=10) == 0
    assert log.drop_missing(set(), now=121, after=10) == 1
    assert log.unseen(["a", "b", "c"]) == ["b", "c"]


def test_a_log_that_is_behind_its_query_is_rejected(tmp_path):
    log = AdmissionLog(tmp_path / "log")
    admit(log, 0, "a")
    with pytest.raises(StateError) as caught:
        admit(log, 7, "b")
    assert (
        caught.value.code,
        "records files up to batch 1, but the query has already read batch 7" in caught.value.cause,
    ) == (
        "MS-STATE-LOST",
        True,
    )


def test_a_file_that_is_no_log_and_a_log_of_a_later_version_are_rejected(tmp_path):
    (tmp_path / "text").write_text("no database" * 100)
    with pytest.raises(StateError, match="is damaged"):
        AdmissionLog(tmp_path / "text").last  # noqa: B018
    later = sqlite3.connect(tmp_path / "later")
    later.execute("PRAGMA user_version = 2")
    later.close()
    with pytest.raises(StateError) as caught:
        AdmissionLog(tmp_path / "later").last  # noqa: B018
    assert caught.value.code == "MS-STATE-FORMAT"


_WRITER = """
import sys
from pathlib import Path
from millstream.connectors.file.admission_log import AdmissionLog, Item
log = AdmissionLog(Path(sys.argv[1]))
print(log.last, flush=True)
number = log.last
while True:
    items = [Item(f"{number}-{each}", 0, None, 1, 0) for each in range(50)]
    number = log.admit(number, lambda _: (items, None))
    print(number, flush=True)
"""


def test_a_killed_process_leaves_whole_batches(tmp_path):
    path = tmp_path / "log"
    last = 0
    for printed in (3, 20, 7):
        command = [sys.executable, "-c", _WRITER, str(path)]
        writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        numbers = [int(writer.stdout.readline()) for _ in range(printed)]
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        log = AdmissionLog(path)
        assert numbers[0] >= last
        assert log.last >= numbers[-1]
        last = log.last
        expected = [f"{batch}-{number}" for batch in range(last) for number in range(50)]
        assert paths(log, 1, last) == expected
        assert log.unseen([*expected, f"{last}-0"]) == [f"{last}-0"]
