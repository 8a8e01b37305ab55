"""Malformed records and rows without an event time: dead letters, counted, or an error."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from tests.run.trial import Trial, at

from millstream.errors import RunError


def sql(orders: str, shipments: str = "'format' = 'csv'", sinks: str = "") -> str:
    return f"""
CREATE SOURCE orders (id INT, at TIMESTAMP, WATERMARK FOR at AS at)
  WITH ('connector' = 'file', 'path' = 'in/orders', {orders});
CREATE SOURCE shipments (id INT, carrier STRING, at TIMESTAMP, WATERMARK FOR at AS at)
  WITH ('connector' = 'file', 'path' = 'in/shipments', {shipments});
{sinks}
CREATE SINK out WITH ('connector' = 'file', 'path' = 'out', 'format' = 'json') AS
SELECT o.id, s.carrier, o.at FROM orders o LEFT JOIN shipments s
  ON o.id = s.id AND s.at BETWEEN o.at AND o.at + INTERVAL 10 MINUTES;
"""


GARBAGE = [
    *("no row at all", "1,2,3,4,5", "x,2026-01-15T10:00:00Z", "7,yesterday", "{"),
    *('"', "7;2026-01-15T10:00:00Z", "1e9,2026-01-15T10:00:00Z", "at,id", "\\"),
]
GARBAGE_JSON = [
    *("no row at all", "{", '{"id": "x"}', '{"id": 7, "at": "yesterday"}', "[1, 2"),
    *('"', "7", '{"id": 7 "at": 1}', "{'id': [}", '{"id": 7,}'),
]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_hundredth_of_garbage_is_set_aside_line_by_line(spark, tmp_path, form):
    trial = Trial(spark, tmp_path, sql(f"'format' = '{form}', 'event.missing' = 'skip'"))
    times = [(number, at(number % 60)) for number in range(989)]
    if form == "csv":
        bad, lines = GARBAGE, [f"{number},{time}" for number, time in times] + ["7,"]
    else:
        bad, lines = (
            GARBAGE_JSON,
            [json.dumps({"id": n, "at": t}) for n, t in times] + ['{"id": 7}'],
        )
    for number, line in enumerate(bad):
        lines.insert(number * 100 + 50, line)
    assert (len(lines), len(bad)) == (1000, 10)
    trial.add("orders", f"1.{form}", (["id,at"] if form == "csv" else []) + lines)
    trial.add("shipments", "1.csv", ["id,carrier,at", f"5,UPS,{at(6)}"])
    ledger = trial.flushed()
    orders = ledger.inputs[0]
    assert (orders["in"], orders["malformed"], orders["missing_event_time"]) == (1000, 10, 1)
    letters = trial.read("checkpoint/out/dead-letter/orders")
    assert sorted(letter["_raw"] for letter in letters) == sorted(bad)
    found = {(letter["_source"], letter["_reason"]) for letter in letters}
    assert found == {("orders", "malformed")}
    assert ledger.rows_out == len(trial.read("out")) == 989


@pytest.mark.slow
def test_dead_letters_of_two_sources_share_a_sink(spark, tmp_path):
    options = "'format' = 'csv', 'dead_letter.sink' = 'bad'"
    sink = "CREATE SINK bad WITH ('connector' = 'file', 'path' = 'bad', 'format' = 'json');"
    trial = Trial(spark, tmp_path, sql(options, options, sink))
    trial.add("orders", "1.csv", ["id,at", f"1,{at(0)}", "garbage"])
    trial.add("shipments", "1.csv", ["id,carrier,at", "rubbish", f"1,UPS,{at(1)}"])
    ledger = trial.flushed()
    assert [each["malformed"] for each in ledger.inputs] == [1, 1]
    letters = {(letter["_source"], letter["_raw"]) for letter in trial.read("bad")}
    assert letters == {("orders", "garbage"), ("shipments", "rubbish")}


def failing(spark, folder, options: str, line: str) -> RunError:
    trial = Trial(spark, folder, sql(options))
    trial.add("orders", "1.csv", ["id,at", f"1,{at(0)}", line])
    trial.add("shipments", "1.csv", ["id,carrier,at"])
    with pytest.raises(RunError) as caught:
        trial.once()
    return caught.value


def test_a_row_without_a_time_stops_the_job_by_default(spark, tmp_path):
    error = failing(spark, tmp_path, "'format' = 'csv'", "2,")
    assert error.code == "MS-RUN-MISSING-TIME"
    assert error.cause == "source orders has 1 row(s) without an event time."
    assert error.fix.startswith("Set 'event.missing' = 'skip' to leave them out")


def test_a_bad_record_stops_the_job_if_asked_to(spark, tmp_path):
    error = failing(spark, tmp_path, "'format' = 'csv', 'malformed' = 'fail'", "two,today")
    assert error.code == "MS-RUN-MALFORMED"
    assert error.cause == (
        f"source orders: {tmp_path}/in/orders/1.csv, line 3: column id: 'two' is not an INT."
    )
    assert error.fix.startswith("Correct the input, or set 'malformed' = 'dead_letter'")


@pytest.mark.slow
def test_a_row_without_a_time_may_get_that_of_its_batch(spark, tmp_path):
    trial = Trial(spark, tmp_path, sql("'format' = 'csv', 'event.missing' = 'wall_clock'"))
    before = datetime.now(UTC)
    trial.add("orders", "1.csv", ["id,at", f"1,{at(0)}", "2,"])
    trial.add("shipments", "1.csv", ["id,carrier,at"])
    ledger = trial.flushed()
    assert ledger.inputs[0]["accepted"] == 2
    times = {row["id"]: datetime.fromisoformat(row["at"]) for row in trial.read("out")}
    assert times[1] == datetime.fromisoformat(at(0))
    assert before.replace(microsecond=0) <= times[2] <= datetime.now(UTC)
