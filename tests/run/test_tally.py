"""The account goes on over restarts, and a batch that is written again counts once."""

from __future__ import annotations

from typing import Any

from tests.cli.jobs import JOIN, SOURCES

from millstream.observe.account import SparkAccount
from millstream.plan.build import build_job
from millstream.plan.nodes import Pipeline
from millstream.run.tally import Tally
from millstream.temporal import BEGIN_OF_TIME, END_OF_TIME

SELECT = "CREATE SINK out WITH ('connector' = 'console') AS SELECT id FROM orders;"


def pipeline(text: str = JOIN, engine: str = "columnar") -> Pipeline:
    return build_job(f"SET 'engine' = '{engine}';\n{SOURCES}{text}").pipelines[0]


def read(rows: int, malformed: int = 0) -> list[dict[str, Any]]:
    return [{"tally": {"orders": {"in": rows, "malformed": malformed}}, "counts": {}}]


def test_a_batch_that_is_written_again_takes_the_place_of_its_first_try(tmp_path):
    file = tmp_path / "account.json"
    tally = Tally.open(pipeline(SELECT), file)
    tally.add(0, read(10, malformed=1), 9)
    tally.add(1, read(5), 5)
    again = Tally.open(pipeline(SELECT), file)
    again.add(1, read(6), 4)
    again.add(2, read(1), 1)
    [orders] = again.account.as_data()["inputs"].values()
    assert (orders["in"], orders["malformed"], orders["filtered"]) == (17, 1, 2)
    assert again.account.rows_out == 14
    assert again.account.errors == []


def test_rows_of_the_last_batches_are_remembered(tmp_path):
    tally = Tally.open(pipeline(SELECT), tmp_path / "account.json")
    for batch in range(10):
        tally.add(batch, read(10 + batch), 9)
    assert [tally.rows_in(batch) for batch in (0, 8, 9, 10)] == [None, 18, 19, None]
    again = Tally.open(pipeline(SELECT), tmp_path / "account.json")
    again.add(9, read(19), 9)
    again.add(10, read(3), 3)
    assert [again.rows_in(batch) for batch in (9, 10)] == [None, 3]
    native = Tally.open(pipeline(engine="native"), tmp_path / "native.json")
    native.add(0, [], 2)
    assert native.rows_in(0) is None


def report(batch: int, rows: tuple[int, int], dropped: int = 0) -> dict[str, Any]:
    names = ("in/orders", "p/control", "in/shipments", "p/control")
    counts = (rows[0], 1, rows[1], 1)
    return {
        "batchId": batch,
        "sources": [
            {"description": f"FileStreamSource[file:/{name}]", "numInputRows": count}
            for name, count in zip(names, counts, strict=True)
        ],
        "stateOperators": [
            {"numRowsDroppedByWatermark": dropped, "numRowsTotal": 7, "memoryUsedBytes": 100}
        ],
    }


def test_of_its_own_join_spark_tells_rows_in_and_late_once_a_batch(tmp_path):
    file = tmp_path / "account.json"
    tally = Tally.open(pipeline(engine="native"), file)
    tally.add(0, [], 2)
    tally.hear([report(0, (3, 2)), report(1, (0, 0))])
    tally.hear([report(0, (3, 2)), report(1, (0, 0)), report(1, (1, 0), dropped=1)])
    again = Tally.open(pipeline(engine="native"), file)
    again.hear([report(1, (1, 0), dropped=1), report(2, (0, 4))])
    account = again.account
    assert isinstance(account, SparkAccount)
    assert account.as_data() == {
        "inputs": {"orders": {"in": 4}, "shipments": {"in": 6}},
        "late": 1,
        "rows_out": 2,
        "state": {"state_rows": 7, "state_bytes": 100},
        "adds_up": None,
    }


def test_watermarks_are_greatest_times_less_delays(tmp_path):
    tally = Tally(pipeline(), tmp_path / "account.json")
    assert tally.watermarks == {}
    tops = {"orders": 60_000_000, "shipments": BEGIN_OF_TIME}
    tally.stats = [{"after": BEGIN_OF_TIME, "tops": tops}]
    assert tally.watermarks == {"orders": 55_000_000, "shipments": None}
    assert not tally.ended
    tally.stats[0]["after"] = END_OF_TIME
    assert tally.ended
