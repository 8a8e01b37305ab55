"""Window and temporal joins from Python."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.api.test_windows import rows
from tests.engine.joins import moment

import millstream as ms
from millstream.connectors.memory import MemoryStream
from millstream.errors import PlanError


def stream(spark, *values: tuple[str, int, int]) -> ms.Stream:
    """A row is a key, a number and a time in seconds."""
    made = MemoryStream(spark, "k string, n bigint, t timestamp")
    made.add([{"k": k, "n": n, "t": moment(t)} for k, n, t in values])
    return ms.stream(made.frame(), time="t")


def test_pairs_of_one_window(spark, tmp_path: Path) -> None:
    left = stream(spark, ("a", 1, 0), ("a", 2, 11), ("b", 3, 5))
    right = stream(spark, ("a", 10, 9), ("a", 20, 30))
    joined = left.window_join(right, ms.tumbling("10s"), on="k", how="left", emit="final")
    frame = joined.to_df(control=tmp_path)
    assert frame.columns == ["k", "n", "t", "n_right", "t_right"]
    found = sorted((row["n"], row["n_right"]) for row in rows(frame, tmp_path))
    assert found == [(1, 10), (2, None), (3, None)]


def test_the_version_in_force(spark, tmp_path: Path) -> None:
    orders = stream(spark, ("a", 1, 5), ("a", 2, 15), ("b", 3, 5))
    rates = stream(spark, ("a", 10, 0), ("a", 20, 10))
    frame = orders.temporal_join(rates, on="k", how="left").to_df(control=tmp_path)
    found = sorted((row["n"], row["n_right"]) for row in rows(frame, tmp_path))
    assert found == [(1, 10), (2, 20), (3, None)]


def test_the_nearest_version(spark, tmp_path: Path) -> None:
    orders = stream(spark, ("a", 1, 4), ("a", 2, 7), ("a", 3, 50))
    rates = stream(spark, ("a", 10, 0), ("a", 20, 10))
    joined = orders.temporal_join(rates, on="k", direction="nearest", tolerance="10s")
    frame = joined.to_df(control=tmp_path)
    found = sorted((row["n"], row["n_right"]) for row in rows(frame, tmp_path))
    assert found == [(1, 10), (2, 20)]


def test_looking_ahead_needs_a_tolerance(spark) -> None:
    orders, rates = stream(spark), stream(spark)
    with pytest.raises(PlanError, match="tolerance"):
        orders.temporal_join(rates, on="k", direction="forward")
