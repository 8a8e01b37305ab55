"""The ledger continues across restarts, and a retried batch counts once."""

from __future__ import annotations

from typing import Any

from tests.cli.jobs import JOIN, SOURCES

from millstream.observe.ledger import Ledger, SparkLedger
from millstream.plan.build.job import build_job
from millstream.plan.build.query_groups import group_into_queries
from millstream.plan.nodes import Query
from millstream.run.ledger_store import LedgerStore
from millstream.temporal import BEGIN_OF_TIME, END_OF_TIME

SELECT = "CREATE SINK out WITH ('connector' = 'console') AS SELECT id FROM orders;"


def query(text: str = JOIN, engine: str = "columnar") -> Query:
    return group_into_queries(build_job(f"SET 'engine' = '{engine}';\n{SOURCES}{text}"))[0]


def read(rows: int, malformed: int = 0) -> list[dict[str, Any]]:
    return [{"input_counts": {"orders": {"in": rows, "malformed": malformed}}, "counts": {}}]


def test_a_batch_that_is_written_again_takes_the_place_of_its_first_try(tmp_path):
    file = tmp_path / "ledger.json"
    ledger_store = LedgerStore.open(query(SELECT), file)
    ledger_store.add(0, read(10, malformed=1), {0: 9})
    ledger_store.add(1, read(5), {0: 5})
    again = LedgerStore.open(query(SELECT), file, first_batch=1)
    again.add(1, read(6), {0: 4})
    again.add(2, read(1), {0: 1})
    [orders] = again.ledger.as_data()["inputs"].values()
    assert (orders["in"], orders["malformed"], orders["filtered"]) == (17, 1, 2)
    assert again.ledger.rows_out == 14
    assert again.ledger.errors == []


def test_rows_of_the_last_batches_are_remembered(tmp_path):
    ledger_store = LedgerStore.open(query(SELECT), tmp_path / "ledger.json")
    for batch in range(10):
        ledger_store.add(batch, read(10 + batch), {0: 9})
    assert [ledger_store.rows_in(batch) for batch in (0, 8, 9, 10)] == [None, 18, 19, None]
    again = LedgerStore.open(query(SELECT), tmp_path / "ledger.json", first_batch=9)
    again.add(9, read(19), {0: 9})
    again.add(10, read(3), {0: 3})
    assert [again.rows_in(batch) for batch in (9, 10)] == [None, 3]
    native = LedgerStore.open(query(engine="native"), tmp_path / "native.json")
    native.add(0, [], {0: 2})
    assert native.rows_in(0) is None


DISTINCT = """
CREATE STREAM o AS SELECT DISTINCT ON (id) id, at FROM orders WITH ('state.ttl' = '1h');
CREATE STREAM s AS SELECT DISTINCT ON (id) id, at FROM shipments WITH ('state.ttl' = '1h');
CREATE SINK out WITH ('connector' = 'console') AS SELECT o.id FROM o JOIN s
  ON o.id = s.id AND s.at BETWEEN o.at AND o.at + INTERVAL 1 HOUR;
"""
JOINED, ORDERS, SHIPMENTS = 0, 1, 2  # operators, from the sink


def stats(operator: int, group: int, accepted: int, *names: str) -> dict[str, Any]:
    """The report of a key group: all counts since its state began."""
    sides = ("input",) if len(names) == 1 else ("left", "right")
    outcomes = ("accepted", "in_state")
    return {
        "operator": operator,
        "group": group,
        "input_counts": {name: {"in": accepted} for name in names},
        "counts": {f"{side}.{outcome}": accepted for side in sides for outcome in outcomes},
    }


def rows_in(ledger_store: LedgerStore) -> dict[str, int]:
    return {name: each["in"] for name, each in ledger_store.ledger.as_data()["inputs"].items()}


def test_an_operator_without_new_rows_keeps_its_counts(tmp_path):
    file = tmp_path / "ledger.json"
    ledger_store = LedgerStore.open(query(DISTINCT), file, first_batch=0)
    first = [stats(ORDERS, group, 3 + group, "orders") for group in (0, 1)]
    first += [stats(SHIPMENTS, group, 20, "shipments") for group in (0, 1)]
    ledger_store.add(0, [*first, *(stats(JOINED, group, 0, "o", "s") for group in (0, 1))], {0: 0})
    again = LedgerStore.open(query(DISTINCT), file, first_batch=1)
    again.add(1, [stats(ORDERS, 0, 10, "orders"), stats(ORDERS, 1, 11, "orders")], {0: 0})
    assert rows_in(again) == {"orders": 21, "shipments": 40, "o": 0, "s": 0}
    assert again.ledger.total_in == 61
    assert (again.ledger.errors, again.ledger.balanced) == ([], True)


def test_a_retried_batch_replaces_the_reports_of_its_first_try(tmp_path):
    file = tmp_path / "ledger.json"
    ledger_store = LedgerStore.open(query(DISTINCT), file, first_batch=0)
    ledger_store.add(
        0, [stats(ORDERS, 0, 5, "orders"), stats(SHIPMENTS, 0, 2, "shipments")], {0: 1}
    )
    again = LedgerStore.open(query(DISTINCT), file, first_batch=0)
    again.add(0, [stats(ORDERS, 0, 5, "orders"), stats(SHIPMENTS, 0, 2, "shipments")], {0: 1})
    assert rows_in(again) == {"orders": 5, "shipments": 2, "o": 0, "s": 0}
    assert again.ledger.rows_out == 1


def test_rows_written_to_side_outputs_are_counted_as_often_as_their_sinks_contain_them(tmp_path):
    file = tmp_path / "ledger.json"
    ledger_store = LedgerStore.open(query(SELECT), file, first_batch=0)
    ledger_store.add(0, read(10, malformed=1), {0: 9}, written={"dead letters of a/b": 1})
    ledger_store.add(1, read(5, malformed=2), {0: 3}, written={"dead letters of a/b": 2})
    again = LedgerStore.open(query(SELECT), file, first_batch=1)
    again.add(1, read(5, malformed=2), {0: 3}, written={"dead letters of a/b": 2})
    again.add(2, read(5), {0: 5})
    assert isinstance(again.ledger, Ledger)
    assert again.ledger.written == {"dead letters of a/b": 3}
    assert again.ledger.tables == {}


def test_an_operator_that_never_reported_is_not_called_balanced(tmp_path):
    ledger_store = LedgerStore.open(query(DISTINCT), tmp_path / "ledger.json", first_batch=0)
    assert ledger_store.ledger.balanced is True  # nothing was read
    ledger_store.add(0, [stats(ORDERS, 0, 5, "orders")], {0: 0})
    ledger = ledger_store.ledger
    assert isinstance(ledger, Ledger)
    assert ledger.balanced is None
    assert ledger.unreported == ["deduplication of shipments", "inner join of o and s"]


def test_counts_that_a_crash_has_lost_are_said_to_be_lost(tmp_path):
    file = tmp_path / "ledger.json"
    ledger_store = LedgerStore.open(query(SELECT), file, first_batch=0)
    ledger_store.add(0, read(10), {0: 9})
    after_crash = LedgerStore.open(query(SELECT), file, first_batch=3)
    after_crash.add(3, read(5), {0: 5})
    after_crash.add(5, read(1), {0: 1})
    assert after_crash.ledger.errors == [
        "the counts of batches 1 to 2 were lost in a crash; no row of the sink was",
        "the counts of batch 4 were lost in a crash; no row of the sink was",
    ]
    assert rows_in(after_crash) == {"orders": 16}
    again = LedgerStore.open(query(SELECT), file, first_batch=6)
    assert again.ledger.errors == after_crash.ledger.errors


def test_a_ledger_that_is_missing_is_not_called_balanced(tmp_path):
    ledger_store = LedgerStore.open(query(SELECT), tmp_path / "ledger.json", first_batch=2)
    assert ledger_store.ledger.balanced is False


def test_a_ledger_of_a_removed_checkpoint_is_not_continued(tmp_path):
    file = tmp_path / "ledger.json"
    ledger_store = LedgerStore.open(query(SELECT), file, first_batch=0)
    for batch in range(3):
        ledger_store.add(batch, read(10), {0: 9})
    anew = LedgerStore.open(query(SELECT), file, first_batch=0)
    assert (rows_in(anew), anew.ledger.balanced) == ({"orders": 0}, True)


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
    file = tmp_path / "ledger.json"
    ledger_store = LedgerStore.open(query(engine="native"), file)
    ledger_store.add(0, [], {0: 2})
    ledger_store.add_spark_progress([report(0, (3, 2)), report(1, (0, 0))])
    ledger_store.add_spark_progress(
        [report(0, (3, 2)), report(1, (0, 0)), report(1, (1, 0), dropped=1)]
    )
    again = LedgerStore.open(query(engine="native"), file, first_batch=1)
    again.add_spark_progress([report(1, (1, 0), dropped=1), report(2, (0, 4))])
    ledger = again.ledger
    assert isinstance(ledger, SparkLedger)
    assert ledger.as_data() == {
        "inputs": {"orders": {"in": 4}, "shipments": {"in": 6}},
        "late": 1,
        "rows_out": 2,
        "state": {"state_rows": 7, "state_bytes": 100},
        "balanced": None,
        "errors": [],
    }


def test_watermarks_are_greatest_times_less_delays(tmp_path):
    ledger_store = LedgerStore(query(), tmp_path / "ledger.json")
    assert ledger_store.watermarks == {}
    max_times = {"orders": 60_000_000, "shipments": BEGIN_OF_TIME}
    ledger_store.stats = {"0/0": {"watermark_after": BEGIN_OF_TIME, "max_times": max_times}}
    assert ledger_store.watermarks == {"orders": 55_000_000, "shipments": None}
    assert not ledger_store.ended
    ledger_store.stats["0/0"]["watermark_after"] = END_OF_TIME
    assert ledger_store.ended
