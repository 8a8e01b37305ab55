"""Versions of a table: which one a micro-batch reads, and how long they are kept."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from millstream.connectors.versions import Versions
from millstream.errors import RunError

MINUTE = 60_000_000


def rows(*values: int) -> pa.Table:
    return pa.table({"id": list(values)})


def test_the_first_version_is_in_force_from_the_beginning(tmp_path: Path) -> None:
    versions = Versions("t", tmp_path / "t")
    versions.publish(rows(1), now=1000)
    assert versions.rows(versions.at(0)) == rows(1)


def test_a_version_is_in_force_only_after_it_could_be_seen(tmp_path: Path) -> None:
    versions = Versions("t", tmp_path / "t")
    versions.publish(rows(1), now=0)
    second = versions.publish(rows(1, 2), now=1000, activation_delay=500)
    assert (second.number, second.since, second.rows) == (2, 1500, 2)
    assert versions.rows(versions.at(1499)) == rows(1)
    assert versions.rows(versions.at(1500)) == rows(1, 2)


def test_a_batch_that_is_tried_again_reads_what_it_read_first(tmp_path: Path) -> None:
    versions = Versions("t", tmp_path / "t")
    versions.publish(rows(0), now=0)
    for number in range(1, 4):
        versions.publish(rows(number), now=number * MINUTE, activation_delay=0)
    assert [versions.rows(versions.at(n * MINUTE))["id"][0].as_py() for n in range(4)] == [
        *(0, 1, 2, 3)
    ]


def test_old_versions_are_removed_and_a_batch_that_needs_one_fails(tmp_path: Path) -> None:
    versions = Versions("rates", tmp_path / "t")
    for number in range(20):
        versions.publish(rows(number), now=number * 60 * MINUTE, activation_delay=0)
    assert [version.number for version in versions.all()] == [*range(16, 21)]
    assert len(list((tmp_path / "t").glob("*.arrow"))) == 5
    with pytest.raises(RunError, match=r"MS-RUN-TABLE-VERSION.*table rates"):
        versions.at(MINUTE)


def test_after_a_step_back_of_the_clock_a_batch_reads_the_oldest_version(tmp_path: Path) -> None:
    versions = Versions("rates", tmp_path / "t")
    for number in range(20):
        versions.publish(rows(number), now=number * 60 * MINUTE, activation_delay=0)
    versions.record_clock_step_back()
    assert versions.rows(versions.at(MINUTE)) == rows(15)
    assert versions.rows(versions.at(19 * 60 * MINUTE)) == rows(19)


def test_recent_versions_are_retained_whatever_their_number(tmp_path: Path) -> None:
    versions = Versions("t", tmp_path / "t")
    for number in range(20):
        versions.publish(rows(number), now=number * 1000, activation_delay=0)
    assert len(versions.all()) == 20


def test_a_version_that_was_not_finished_is_not_seen(tmp_path: Path) -> None:
    versions = Versions("t", tmp_path / "t")
    versions.publish(rows(1), now=0)
    (tmp_path / "t" / "000002.arrow").write_bytes(b"half of it")
    assert versions.rows(versions.at(10)) == rows(1)
    third = versions.publish(rows(7), now=10, activation_delay=0)
    assert third.number == 2
    assert versions.rows(versions.at(10)) == rows(7)
