"""'on.error' = 'dead_letter': a row for which an expression fails is a dead letter."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from tests.run.trial import Trial, at, ledger

from millstream.errors import RunError

SOURCE = """
CREATE SOURCE orders (id BIGINT, kind STRING, price STRING, parts BIGINT, at TIMESTAMP,
                      WATERMARK FOR at AS at {computed})
  WITH ('connector' = 'file', 'path' = 'in/orders', 'format' = 'json',
        'max.files.per.batch' = '1' {properties});
"""
FILE_SINK = "CREATE SINK {name} WITH ('connector' = 'file', 'path' = '{name}', 'format' = 'json')"


def job(*statements: str, computed: str = "", properties: str = "") -> str:
    return SOURCE.format(computed=computed, properties=properties) + ";\n".join(statements) + ";"


def sink(name: str) -> str:
    return FILE_SINK.format(name=name)


def order(number: int, price: str | None, parts: int | None = 1, kind: str = "a") -> str:
    row = {"id": number, "kind": kind, "price": price, "parts": parts, "at": at(number)}
    return json.dumps(row)


def letters(trial: Trial, folder: str) -> list[dict[str, Any]]:
    found = trial.read(folder)
    for each in found:
        assert (each["_reason"], each["_file"], each["_line"]) == ("failed_expression", None, None)
        assert each["_time"] is not None
        each["_raw"] = json.loads(each["_raw"])
    return sorted(found, key=lambda each: str(each["_raw"]))


def place_of(text: str, part: str) -> str:
    before = text[: text.index(part)]
    return f"line {before.count(chr(10)) + 1}, column {len(before) - before.rfind(chr(10))}"


STATELESS = job(
    sink("out") + " AS\n"
    "SELECT id, CASE WHEN kind = 'n' THEN NULL ELSE CAST(price AS INT) END AS price,\n"
    "  100 / parts AS share\n"
    "FROM orders WHERE CAST(price AS DOUBLE) <> 7 OR kind = 'n'\n"
    "WITH ('on.error' = 'dead_letter')"
)
ROWS = [
    order(1, "10", 4),
    order(2, "x"),  # WHERE fails
    order(3, "1.5"),  # only the SELECT fails
    order(4, "3", 0),
    order(5, "7", 0),  # the WHERE removes it before the SELECT fails
    order(6, None, None),  # a NULL is no failure
    order(7, None, None, "n"),
]


def test_a_row_for_which_an_expression_fails_is_a_dead_letter_and_the_others_continue(
    spark, tmp_path
):
    trial = Trial(spark, tmp_path, STATELESS)
    trial.add("orders", "1.json", [*ROWS, "broken"])
    counted = trial.once()
    assert trial.rows() == Counter([("1", "10", "25.0"), ("7", "None", "None")])
    [read] = counted.inputs
    found = {name: read[name] for name in ("in", "malformed", "failed_expression", "filtered")}
    assert found == {"in": 8, "malformed": 1, "failed_expression": 3, "filtered": 2}
    assert (counted.rows_out, counted.balanced) == (2, True)
    found_letters = trial.read("checkpoint/out/dead-letter/orders")
    assert Counter(each["_reason"] for each in found_letters) == {
        "malformed": 1,
        "failed_expression": 3,
    }
    failed = {
        json.loads(each["_raw"])["id"]: (each["_column"], each["_value"], each["_message"])
        for each in found_letters
        if each["_reason"] == "failed_expression"
    }
    places = [
        place_of(STATELESS, part)
        for part in ("CAST(price AS DOUBLE)", "CAST(price AS INT)", "100 / parts")
    ]
    assert failed == {
        2: (
            "CAST(price AS DOUBLE)",
            "x",
            f"{places[0]}: CAST(price AS DOUBLE) failed: the value cannot be cast to DOUBLE.",
        ),
        3: (
            "CAST(price AS INT)",
            "1.5",
            f"{places[1]}: CAST(price AS INT) failed: the value cannot be cast to INT.",
        ),
        4: ("100 / parts", None, f"{places[2]}: 100 / parts failed: division by zero."),
    }
    [raw] = [json.loads(each["_raw"]) for each in found_letters if each["_column"] == "100 / parts"]
    expected = {"id": 4, "kind": "a", "price": "3", "parts": 0}
    assert {name: raw.get(name) for name in expected} == expected


@pytest.mark.slow
def test_a_query_that_a_row_has_stopped_resumes_with_dead_letters(spark, tmp_path):
    trial = Trial(spark, tmp_path, STATELESS.replace("dead_letter", "fail"))
    trial.add("orders", "1.json", ROWS)
    with pytest.raises(RunError, match="MS-RUN-VALUE"):
        trial.once()
    options = "'on.error' = 'dead_letter', 'dead_letter.sink' = 'bad'"
    trial.sql = STATELESS.replace("'on.error' = 'dead_letter'", options) + f"{sink('bad')};"
    assert trial.once().outputs == {"out": 2}
    before = letters(trial, "bad")
    assert [each["_raw"]["id"] for each in before] == [2, 3, 4]
    trial.forget_last_commit()
    counted = trial.once()
    assert trial.rows() == Counter([("1", "10", "25.0"), ("7", "None", "None")])
    assert letters(trial, "bad") == before  # with the same times
    [read] = counted.inputs
    assert (read["failed_expression"], counted.balanced) == (3, True)


STATEFUL = job(
    "SET 'on.error' = 'dead_letter'",
    sink("bad"),
    "CREATE STREAM cheap AS SELECT id, kind, CAST(price AS INT) AS price, unread, at\n"
    "FROM orders WHERE whole < 1000",
    sink("totals") + " AS SELECT kind, sum(100 DIV o.price) AS total, 10 DIV count(*) AS share,\n"
    "  5 DIV (sum(o.price) - 8) AS rest\n"
    "FROM cheap o WINDOW TUMBLING(INTERVAL 1 DAY)\n"
    "GROUP BY kind WITH ('dead_letter.sink' = 'bad')",
    computed=", whole AS CAST(price AS BIGINT), unread AS CAST(kind AS INT)",
)


@pytest.mark.slow
def test_computed_columns_arguments_of_aggregates_and_columns_above_them(spark, tmp_path):
    """Not read: `unread`, which would fail for every row."""
    trial = Trial(spark, tmp_path, STATEFUL)
    trial.add(
        "orders",
        "1.json",
        [
            order(1, "4"),
            order(2, "x"),  # the computed column
            order(3, "0"),  # the argument of the aggregate
            order(4, "5000000000"),  # removed before it is cast to INT
            order(5, "8", kind="b"),  # the column above the aggregate
        ],
    )
    trial.add("orders", "2.json", [order(6, "20"), order(7, "y")])
    run = trial.start()
    try:
        run.process_available()
        run.flush()
    finally:
        run.stop()
    counted = ledger(run)
    assert trial.rows("totals") == Counter([("a", "30", "5", "0")])
    [read] = counted.inputs
    found = {name: read[name] for name in ("in", "failed_expression", "filtered", "accepted")}
    assert found == {"in": 7, "failed_expression": 3, "filtered": 1, "accepted": 3}
    assert counted.balanced is True
    found_letters = letters(trial, "bad")
    assert [(each["_source"], each["_column"]) for each in found_letters] == [
        ("orders", "CAST(price AS BIGINT)"),
        ("orders", "100 DIV o.price"),
        ("orders", "CAST(price AS BIGINT)"),
        ("aggregate of orders", "5 DIV (sum(o.price) - 8)"),
    ]
    last = found_letters[-1]
    assert last["_message"].endswith("failed: division by zero.")
    assert (last["_raw"]["kind"], last["_raw"]["sum(price)"]) == ("b", 8)


JOIN = """
CREATE SOURCE l (id STRING, v BIGINT, at TIMESTAMP, WATERMARK FOR at AS at)
  WITH ('connector' = 'file', 'path' = 'in/l', 'format' = 'json');
CREATE SOURCE r (id BIGINT, w BIGINT, at TIMESTAMP, WATERMARK FOR at AS at)
  WITH ('connector' = 'file', 'path' = 'in/r', 'format' = 'json');
CREATE STREAM j AS SELECT l.id, l.v, r.w FROM l LEFT JOIN r WITHIN INTERVAL 1 HOUR
  ON CAST(l.id AS BIGINT) = r.id AND 10 / r.w > 1;
CREATE SINK out WITH ('connector' = 'file', 'path' = 'out', 'format' = 'json') AS
SELECT id, v / w AS q FROM j WITH ('on.error' = 'dead_letter');
CREATE SINK other WITH ('connector' = 'file', 'path' = 'other', 'format' = 'json') AS
SELECT id, w % v AS m FROM j WITH ('on.error' = 'dead_letter');
"""


@pytest.mark.slow
def test_keys_and_predicates_of_joins_and_columns_of_several_sinks_above_them(spark, tmp_path):
    trial = Trial(spark, tmp_path, JOIN)
    rows = [("1", 0), ("x", 1), ("2", 6), ("3", 5)]
    trial.add("l", "1.json", [json.dumps({"id": i, "v": v, "at": at(1)}) for i, v in rows])
    pairs = [(1, 4), (2, 0), (3, 2), (4, None)]
    trial.add("r", "1.json", [json.dumps({"id": i, "w": w, "at": at(2)}) for i, w in pairs])
    run = trial.start()
    try:
        run.process_available()
        run.flush()
    finally:
        run.stop()
    counted = ledger(run)
    assert counted.balanced is True
    assert {each.name: each["failed_expression"] for each in counted.inputs} == {"l": 1, "r": 1}
    assert trial.rows("out") == Counter([("1", "0.0"), ("2", "None"), ("3", "2.5")])
    assert trial.rows("other") == Counter([("2", "None"), ("3", "2")])
    folder = "checkpoint/out/"
    assert [each["_column"] for each in letters(trial, f"{folder}dead-letter/l")] == [
        "CAST(l.id AS BIGINT)"
    ]
    assert [each["_column"] for each in letters(trial, f"{folder}dead-letter/r")] == ["10 / r.w"]
    [above] = letters(trial, f"{folder}dead-letter-results")
    assert (above["_column"], above["_raw"]) == ("w % v", {"id": "1", "v": 0, "w": 4})
