"""Tables and regular joins from Python."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.api.test_joins import stream
from tests.api.test_windows import rows

import millstream as ms
from millstream.errors import PlanError

pytestmark = pytest.mark.slow


def names(spark):
    return spark.createDataFrame(
        [("a", "Ada"), ("b", "Bob"), ("b", "Ben")], "k string, name string"
    )


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("inner", [(1, "Ada"), (2, "Ben"), (2, "Bob")]),
        ("left", [(1, "Ada"), (2, "Ben"), (2, "Bob"), (3, None)]),
        ("semi", [(1,), (2,)]),
        ("anti", [(3,)]),
    ],
)
def test_a_static_frame_is_a_table(spark, tmp_path: Path, how, expected) -> None:
    left = stream(spark, ("a", 1, 0), ("b", 2, 1), ("c", 3, 2))
    frame = left.lookup_join(names(spark), on="k", how=how).to_df()
    shown = ["n", *(["name"] if len(expected[0]) == 2 else [])]
    found = [tuple(row[name] for name in shown) for row in rows(frame, tmp_path)]
    assert sorted(found, key=str) == expected


def test_a_database_is_asked_and_sql_takes_both(spark, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as database, database:
        database.execute("CREATE TABLE users (k, country)")
        database.execute("INSERT INTO users VALUES ('a', 'AT'), ('b', 'BE')")
    users = ms.database(
        "sqlite", "k STRING, country STRING", key="k", path=str(tmp_path / "shop.db"), table="users"
    )
    frame = ms.sql(
        "SELECT o.n, u.country, x.name FROM orders o JOIN users u ON o.k = u.k "
        "LEFT JOIN names x ON o.k = x.k AND x.name = 'Ben'",
        orders=stream(spark, ("a", 1, 0), ("b", 2, 1), ("c", 3, 2)),
        users=users,
        names=names(spark),
    ).to_df()
    found = sorted((row["n"], row["country"], row["name"]) for row in rows(frame, tmp_path))
    assert found == [(1, "AT", None), (2, "BE", "Ben")]


def test_a_streaming_frame_is_no_table(spark) -> None:
    with pytest.raises(PlanError, match="MS-PLAN-TABLE"):
        ms.table(stream(spark, ("a", 1, 0)).to_df())


def test_rows_meet_whenever_they_came(spark, tmp_path: Path) -> None:
    left = stream(spark, ("a", 1, 0), ("b", 2, 5))
    right = stream(spark, ("a", 10, 900), ("a", 20, 0))
    frame = left.join(right, on="k", ttl=None, how="left").to_df(control=tmp_path)
    signs = {"+I": 1, "+U": 1, "-U": -1, "-D": -1}
    total: dict[tuple[int, int | None], int] = {}
    for row in rows(frame, tmp_path):
        key = (row["n"], row["n_right"])
        total[key] = total.get(key, 0) + signs[row["_OP"]]
    assert {key: count for key, count in total.items() if count} == {
        (1, 10): 1,
        (1, 20): 1,
        (2, None): 1,
    }
