"""A stream that several sinks read is computed once: each sink gets what it gets alone."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from pathlib import Path

import pytest
from tests.run.trial import Trial

from millstream.errors import PlanError, StateError
from millstream.observe.ledger import Ledger

SOURCES = """
CREATE SOURCE a (k BIGINT, v INT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 2 SECONDS)
  WITH ('connector' = 'file', 'path' = 'in/a', 'format' = 'json', 'max.files.per.batch' = '1');
CREATE SOURCE b (k BIGINT, w INT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 2 SECONDS)
  WITH ('connector' = 'file', 'path' = 'in/b', 'format' = 'json', 'max.files.per.batch' = '1');
SET 'key_groups' = '2';
"""
JOINED = """
CREATE STREAM m AS SELECT a.k, a.v, b.w, a.at FROM a LEFT JOIN b
  ON a.k = b.k AND b.at BETWEEN a.at AND a.at + INTERVAL 5 SECONDS
  WITH ('late.policy' = 'side_output');
"""


def sink(name: str, query: str, form: str = "json") -> str:
    return (
        f"CREATE SINK {name} WITH ('connector' = 'file', 'path' = 'out/{name}', "
        f"'format' = '{form}') AS {query};\n"
    )


OUTPUTS = {
    "every": sink("every", "SELECT * FROM m", "parquet"),
    "matched": sink("matched", "SELECT k, v + w AS total FROM m WHERE w IS NOT NULL", "csv"),
    "parts": sink("parts", "SELECT k, explode(sequence(0, v % 3)) AS part FROM m WHERE v > 2"),
    "windows": sink(
        "windows",
        "SELECT k, count(*) AS n, sum(v) AS v, _WINDOW_END AS until FROM m "
        "WINDOW TUMBLING(INTERVAL 10 SECONDS) GROUP BY k",
    ),
    "sums": sink(
        "sums",
        "SELECT v, count(w) AS n, _WINDOW_END AS until FROM m "
        "WINDOW TUMBLING(INTERVAL 20 SECONDS) GROUP BY v",
    ),
}


def rows(seed: int, column: str) -> list[str]:
    """Lines of JSON in an order of their own, some of them late."""
    rng = random.Random(f"{seed} {column}")
    now, lines = 0.0, []
    for _ in range(120):
        now += rng.random()
        second = max(0.0, now - (30 if rng.random() < 0.05 else rng.random()))
        at = f"2026-01-15T10:{int(second // 60):02d}:{second % 60:06.3f}Z"
        lines.append(json.dumps({"k": rng.randrange(4), column: rng.randrange(6), "at": at}))
    return lines


def fill(trial: Trial, seed: int) -> None:
    """Adds the rows of both sources in files of random sizes."""
    for source, column in (("a", "v"), ("b", "w")):
        lines = rows(seed, column)
        cuts = sorted(random.Random(seed).sample(range(1, len(lines)), 3))
        for number, (start, end) in enumerate(zip([0, *cuts], [*cuts, None], strict=True)):
            trial.add(source, f"{number}.json", lines[start:end])
            os.utime(trial.folder / "in" / source / f"{number}.json", (number + 1, number + 1))


def run(spark: object, folder: Path, sql: str, seed: int = 1) -> tuple[Trial, Ledger]:
    trial = Trial(spark, folder, SOURCES + sql)  # type: ignore[arg-type]
    fill(trial, seed)
    return trial, trial.flushed()


def late(trial: Trial, query: str) -> Counter[tuple[str, ...]]:
    return trial.rows(f"checkpoint/{query}/late")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_each_sink_of_a_shared_stream_gets_the_same_rows_as_in_a_query_of_its_own(
    spark, tmp_path, seed
):
    together, ledger = run(spark, tmp_path / "all", JOINED + "".join(OUTPUTS.values()), seed)
    first = next(iter(OUTPUTS))
    assert len(late(together, first)) > 3
    for name, sql in OUTPUTS.items():
        separately, own = run(spark, tmp_path / name, JOINED + sql, seed)
        assert together.rows(f"out/{name}") == separately.rows(f"out/{name}")
        assert late(together, first) == late(separately, name)
        assert ledger.outputs[name] == own.rows_out > 10
        join, counted = ledger.operators[0].inputs, own.operators[0].inputs
        assert [each.counts for each in join] == [each.counts for each in counted]
    assert ledger.operators[0].name == "left join of a and b"
    assert len(ledger.operators) == 3
    assert ledger.total_in == 240


@pytest.mark.slow
def test_a_query_with_several_outputs_is_resumed(spark, tmp_path):
    sql = JOINED + OUTPUTS["windows"] + OUTPUTS["every"] + OUTPUTS["sums"]
    whole, ledger = run(spark, tmp_path / "whole", sql)
    halves = Trial(spark, tmp_path / "halves", SOURCES + sql)
    fill(halves, 1)
    later = list((halves.folder / "in").glob("*/[23].json"))
    hidden = {path: path.rename(path.with_name(f".{path.name}")) for path in later}
    halves.once()
    for path, stored in hidden.items():
        stored.rename(path)
    resumed = halves.flushed()
    for name in ("windows", "every", "sums"):
        assert halves.rows(f"out/{name}") == whole.rows(f"out/{name}")
    assert resumed.outputs == ledger.outputs
    halves.sql = SOURCES + JOINED + OUTPUTS["windows"] + OUTPUTS["every"]
    with pytest.raises(StateError) as caught:
        halves.start()
    assert caught.value.code == "MS-STATE-CHANGED"
    assert "sums" in caught.value.cause


@pytest.mark.slow
def test_a_batch_that_was_written_but_not_committed_is_written_again_to_all_outputs(
    spark, tmp_path
):
    sql = JOINED + OUTPUTS["every"] + OUTPUTS["windows"]
    trial, first = run(spark, tmp_path, sql)
    found = {name: trial.rows(f"out/{name}") for name in ("every", "windows")}
    commits = tmp_path / "checkpoint/every/spark/commits"
    last = max(int(path.name) for path in commits.glob("[0-9]*"))
    (commits / str(last)).unlink()
    (commits / f".{last}.crc").unlink()
    (tmp_path / "checkpoint/every/ended").unlink()
    again = trial.flushed()
    assert {name: trial.rows(f"out/{name}") for name in found} == found
    assert again.as_data() == first.as_data()


@pytest.mark.slow
def test_queries_with_and_without_state_write_to_one_sink(spark, tmp_path):
    sql = (
        sink("events", "SELECT k, v AS n FROM a WHERE v > 1")
        + "INSERT INTO events SELECT k, w AS n FROM b;\n"
        + "INSERT INTO events SELECT k, CAST(count(*) AS INT) AS n FROM a "
        + "WINDOW TUMBLING(INTERVAL 10 SECONDS) GROUP BY k;\n"
    )
    trial, ledger = run(spark, tmp_path, sql)
    has_progress_column = (
        sink("one", "SELECT k, v AS n FROM a WHERE v > 1")
        + sink("two", "SELECT k, w AS n FROM b")
        + sink(
            "three",
            "SELECT k, CAST(count(*) AS INT) AS n FROM a "
            "WINDOW TUMBLING(INTERVAL 10 SECONDS) GROUP BY k",
        )
    )
    other = Trial(spark, tmp_path / "apart", SOURCES + has_progress_column)
    fill(other, 1)
    started = other.start()
    try:
        started.process_available()
        started.flush()
    finally:
        started.stop()
    found = trial.rows("out/events")
    # Late rows depend on micro-batches, which separate queries choose for themselves.
    assert found == other.rows("out/one") + other.rows("out/two") + other.rows("out/three")
    filtered = {each.name: each["filtered"] for each in ledger.inputs if each["filtered"]}
    assert list(filtered) == ["a without operator"]
    assert ledger.rows_out == found.total()


CHANGES = """
CREATE STREAM totals AS SELECT k, sum(v) AS total, count(*) AS n FROM a GROUP BY k
  WITH ('state.ttl' = '1 day');
"""
CHANGING = {
    "high": sink(
        "high", "SELECT k, total FROM totals WHERE total > 40 WITH ('output.mode' = 'retract')"
    ),
    "odd": sink("odd", "SELECT k, n FROM totals WHERE n % 2 = 1 WITH ('output.mode' = 'retract')"),
    "every": sink("every", "SELECT * FROM totals WITH ('output.mode' = 'retract')"),
}


@pytest.mark.slow
def test_results_that_change_are_filtered_for_each_output(spark, tmp_path):
    together, ledger = run(spark, tmp_path / "all", CHANGES + "".join(CHANGING.values()))
    assert len(ledger.operators) == 1
    for name, sql in CHANGING.items():
        separately, own = run(spark, tmp_path / name, CHANGES + sql)
        assert together.rows(f"out/{name}") == separately.rows(f"out/{name}")
        assert ledger.outputs[name] == own.rows_out > 3
    # A count that a filter no longer keeps is a delete, one that it keeps again an insert.
    assert {row["_OP"] for row in together.read("out/odd")} >= {"+I", "-D"}


STATELESS = (
    """
CREATE TABLE names (k BIGINT PRIMARY KEY, name STRING)
  WITH ('connector' = 'file', 'path' = 'in/names', 'format' = 'csv');
CREATE STREAM tagged AS SELECT k, v, uuid() AS id FROM a WHERE v < 5;
"""
    + sink("every", "SELECT k, id FROM tagged")
    + sink("named", "SELECT t.id, n.name FROM tagged t JOIN names n ON t.k = n.k WHERE t.v > 0")
)


@pytest.mark.slow
def test_a_stream_without_state_is_computed_once_and_its_rows_are_counted(spark, tmp_path):
    trial = Trial(spark, tmp_path, SOURCES + STATELESS)
    fill(trial, 1)
    trial.add("a", "bad.json", ['{"k": 1, "v": "x"'])
    trial.add("names", "1.csv", ["k,name", "0,zero", "1,one", "2,two"])
    ledger = trial.once()
    given = [json.loads(line) for line in rows(1, "v")]
    every, named = trial.read("out/every"), trial.read("out/named")
    assert Counter(row["k"] for row in every) == Counter(r["k"] for r in given if r["v"] < 5)
    ids = {row["id"]: row["k"] for row in every}
    expected = Counter(r["k"] for r in given if 0 < r["v"] < 5 and r["k"] < 3)
    assert Counter(ids[row["id"]] for row in named) == expected
    [[a]] = [each.inputs for each in ledger.operators]
    assert (a["in"], a["malformed"], a["processed"]) == (121, 1, len(every) + len(named))
    assert ledger.outputs == {"every": len(every), "named": len(named)}
    assert len(trial.read("checkpoint/every/dead-letter/a")) == 1


@pytest.mark.slow
def test_outputs_of_the_native_engine_share_its_join(spark, tmp_path):
    sql = "SET 'engine' = 'native';" + JOINED.replace("side_output", "drop")
    sql += OUTPUTS["every"] + OUTPUTS["matched"]
    trial = Trial(spark, tmp_path / "native", SOURCES + sql)
    fill(trial, 1)
    started = trial.start()
    try:
        started.process_available()
        started.flush()
        (running,) = started.running
    finally:
        started.stop()
    every = trial.read("out/every")
    matched = [row for row in every if row["w"] is not None]
    assert len(every) > 100
    total = Counter((str(row["k"]), str(row["v"] + row["w"])) for row in matched)
    assert trial.rows("out/matched") == total
    assert running.ledger_store.ledger.outputs == {"every": len(every), "matched": len(matched)}


@pytest.mark.slow
def test_a_column_of_two_types_in_one_sink_is_rejected(spark, tmp_path):
    sql = sink("out", "SELECT k, v FROM a") + "INSERT INTO out SELECT k, w * 0.5 AS v FROM b;"
    trial = Trial(spark, tmp_path, SOURCES + sql)
    fill(trial, 1)
    with pytest.raises(PlanError) as caught:
        trial.start()
    assert caught.value.code == "MS-PLAN-SHARED-SINK"
    assert "column v to the sink out, one as INT, the other as DECIMAL" in caught.value.cause


@pytest.mark.slow
def test_late_rows_of_an_operator_that_is_computed_twice_are_written_once(spark, tmp_path):
    both = sink(
        "both",
        "SELECT l.k, r.v FROM m l JOIN m r ON l.k = r.k "
        "AND r.at BETWEEN l.at AND l.at + INTERVAL 1 SECOND",
    )
    _, separately = run(spark, tmp_path / "alone", JOINED + OUTPUTS["every"])
    trial, ledger = run(spark, tmp_path / "both", JOINED + OUTPUTS["every"] + both)
    joins = [each for each in ledger.operators if each.name.startswith("left join of a")]
    assert len(joins) == 2
    assert late(trial, "every").total() == separately.written["late rows in late"] > 3


@pytest.mark.slow
def test_inputs_of_a_ledger_have_names_of_their_own(spark, tmp_path):
    sql = sink("pairs", "SELECT k, v FROM a") + (
        "INSERT INTO pairs SELECT a.k, b.w AS v FROM a JOIN b "
        "ON a.k = b.k AND b.at BETWEEN a.at AND a.at + INTERVAL 1 SECOND;\n"
    )
    _, ledger = run(spark, tmp_path, sql)
    assert list(ledger.as_data()["inputs"]) == ["a", "b", "a without operator"]
