"""Rows of a period: the filters of both temporal modes, compared with a plain oracle."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from tests.catalog.execution.snapshots import dataset, joined, snapshot

from millstream.catalog.execution.loaders import period_filter
from millstream.catalog.execution.result_frame import result_frame
from millstream.catalog.model import (
    Assignment,
    Cardinality,
    DatasetSnapshot,
    Period,
    RuntimeJoin,
    TemporalMode,
    UpdateOperation,
)
from millstream.errors import ProjectRunError

DAYS = st.dates(date(2025, 1, 1), date(2026, 12, 31))
SCHEMA = "id INT, segment STRING, _period_from DATE, _period_to DATE"
ONE = RuntimeJoin("c", "customers", "t.id = c.id", expected_cardinality=Cardinality.MANY_TO_ONE)
OPERATION = UpdateOperation((ONE,), (Assignment("segment", "c.segment"),))


def period_of(start: date) -> Period:
    return Period(f"p-{start}", start, start + timedelta(days=30))


@pytest.fixture(scope="module")
def working(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DatasetSnapshot:
    return dataset(spark, tmp_path_factory.mktemp("t"), "t", "id INT", [(1,)])


def is_valid(start: date | None, end: date | None, at: date) -> bool:
    return start is not None and start <= at and (end is None or end > at)


@settings(max_examples=20)
@given(rows=st.lists(st.tuples(st.none() | DAYS, st.none() | DAYS), max_size=30), at=DAYS)
def test_the_bitemporal_filter_selects_what_is_valid_at_the_start_of_the_period(
    spark: SparkSession, rows: list[tuple[date | None, date | None]], at: date
) -> None:
    table = [(number, *row) for number, row in enumerate(rows)]
    frame = spark.createDataFrame(table, "n INT, _period_from DATE, _period_to DATE")
    condition = period_filter(TemporalMode.BITEMPORAL, period_of(at))
    assert condition is not None
    found = [row.n for row in frame.where(condition).collect()]
    assert found == [number for number, row in enumerate(rows) if is_valid(*row, at)]


@settings(max_examples=15)
@given(cuts=st.lists(DAYS, min_size=1, max_size=6, unique=True), at=DAYS)
def test_adjacent_intervals_have_no_gap_and_no_overlap(
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    working: DatasetSnapshot,
    cuts: list[date],
    at: date,
) -> None:
    days = sorted(cuts)
    rows = [(1, f"from {a}", a, b) for a, b in [*pairwise(days), (days[-1], None)]]
    found = joined_segments(spark, tmp_path_factory.mktemp("c"), working, rows, at)
    valid = [day for day in days if day <= at]
    assert found == [f"from {valid[-1]}" if valid else None]


@settings(max_examples=10)
@given(cuts=st.lists(DAYS, min_size=2, max_size=4, unique=True), inside=st.data())
def test_an_overlap_in_the_period_of_a_run_is_detected(
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    working: DatasetSnapshot,
    cuts: list[date],
    inside: st.DataObject,
) -> None:
    days = sorted(cuts)
    rows = [(1, f"from {a}", a, b) for a, b in [*pairwise(days), (days[-1], None)]]
    at = inside.draw(st.dates(days[0], days[-1] + timedelta(days=9)))
    overlap = (1, "twice", at - timedelta(days=inside.draw(st.integers(0, 20))), None)
    with pytest.raises(ProjectRunError, match=r"MS-PROJECT-CARDINALITY.*id = 1 \(2 rows\)"):
        joined_segments(spark, tmp_path_factory.mktemp("c"), working, [*rows, overlap], at)


def joined_segments(
    spark: SparkSession,
    folder: Path,
    working: DatasetSnapshot,
    rows: list[tuple[int, str, date, date | None]],
    at: date,
) -> list[str | None]:
    customers = dataset(spark, folder, "customers", SCHEMA, rows, TemporalMode.BITEMPORAL)
    given = snapshot(working, [joined(customers, "c")], OPERATION, period=period_of(at))
    return [row.segment for row in result_frame(spark, "p", given).collect()]


def test_the_filter_of_a_period_compares_its_identifier(spark: SparkSession) -> None:
    rows = [("2026-01",), ("2026-01 ",), ("2026-1",), (None,)]
    frame = spark.createDataFrame(rows, "_period STRING")
    january = Period("2026-01", date(2026, 1, 1), date(2026, 1, 31))
    condition = period_filter(TemporalMode.PERIOD, january)
    assert condition is not None
    assert [tuple(row) for row in frame.where(condition).collect()] == [("2026-01",)]
    assert period_filter(TemporalMode.NONE, january) is None
