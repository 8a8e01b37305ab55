"""`Stream.write` runs a query as a job: exactly-once sinks, side outputs, resume, ledger."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.engine.joins import moment

import millstream as ms
from millstream.connectors.memory import MemoryStream
from millstream.errors import MillstreamError, PlanError, PropertyError, StateError

SCHEMA = "k string, n bigint, t timestamp"


def source(spark, *batches: list[tuple[str, int, int]]) -> MemoryStream:
    made = MemoryStream(spark, SCHEMA)
    for batch in batches:
        add(made, *batch)
    return made


def add(made: MemoryStream, *values: tuple[str, int, int]) -> None:
    made.add([{"k": k, "n": n, "t": moment(t)} for k, n, t in values])


def totals(made: MemoryStream, **options: Any) -> ms.Stream:
    stream = ms.stream(made.frame(), time="t", name="s")
    windowed = stream.window(ms.tumbling("10s"), **options)
    return windowed.aggregate(by="k", total="sum(n)")


def written(folder: Path) -> list[dict[str, Any]]:
    lines = [line for file in folder.glob("*.json") for line in file.read_text().splitlines()]
    return sorted(map(json.loads, lines), key=str)


def test_a_run_resumes_from_its_checkpoint_and_writes_each_row_once(spark, tmp_path) -> None:
    made = source(spark, [("a", 1, 0), ("a", 2, 5)], [("b", 5, 12)])
    stream, out, checkpoint = totals(made), tmp_path / "out", tmp_path / "checkpoint"
    first = stream.write(out, checkpoint=checkpoint, once=True, key_groups=2)
    assert first.wait(120)
    assert [(row["k"], row["total"]) for row in written(out)] == [("a", 3)]
    add(made, ("a", 10, 13), ("a", 1, 25))
    second = stream.write(out, checkpoint=checkpoint, flush=True)
    assert second.wait(120)
    found = sorted((row["k"], row["total"]) for row in written(out))
    assert found == [("a", 1), ("a", 3), ("a", 10), ("b", 5)]
    ledger = second.ledger
    assert ledger is not None
    assert (ledger.total_in, ledger.rows_out, ledger.balanced) == (5, 4, True)
    assert repr(second).startswith("StreamRun result: ended\nresult")
    with pytest.raises(StateError, match="MS-STATE-ENDED"):
        stream.write(out, checkpoint=checkpoint, once=True)


def test_a_changed_query_is_rejected_by_the_checkpoint(spark, tmp_path) -> None:
    made = source(spark, [("a", 1, 0)])
    checkpoint = tmp_path / "checkpoint"
    assert totals(made).write(ms.sink("noop"), checkpoint=checkpoint, once=True).wait(120)
    stream = ms.stream(made.frame(), time="t", name="s")
    longer = stream.window(ms.tumbling("20s")).aggregate(by="k", total="sum(n)")
    with pytest.raises(StateError, match="MS-STATE-CHANGED"):
        longer.write(ms.sink("noop"), checkpoint=checkpoint, once=True)
    renamed = ms.stream(made.frame(), time="t", name="other")
    with pytest.raises(StateError, match="MS-STATE-CHANGED"):
        renamed.window(ms.tumbling("10s")).aggregate(by="k", total="sum(n)").write(
            ms.sink("noop"), checkpoint=checkpoint, once=True
        )


def test_late_rows_go_to_their_sink_or_to_the_checkpoint(spark, tmp_path) -> None:
    made = source(spark, [("a", 1, 0), ("a", 2, 30)], [("a", 99, 1)])
    stream = totals(made, late=ms.side_output("too_late"))
    named = stream.write(
        tmp_path / "out",
        checkpoint=tmp_path / "named",
        late={"too_late": tmp_path / "late"},
        flush=True,
    )
    assert named.wait(120)
    assert [row["n"] for row in written(tmp_path / "late")] == [99]
    own = stream.write(ms.sink("noop"), checkpoint=tmp_path / "own", flush=True)
    assert own.wait(120)
    assert [row["n"] for row in written(tmp_path / "own/result/late")] == [99]
    with pytest.raises(PlanError, match="MS-PLAN-UNKNOWN-SINK: late is not a side output"):
        stream.write(ms.sink("noop"), checkpoint=tmp_path / "x", late={"late": "l"})


def test_rows_ahead_of_time_go_to_the_dead_letters(spark, tmp_path) -> None:
    made = MemoryStream(spark, SCHEMA)
    far = moment(0).replace(year=2100)
    made.add([{"k": "a", "n": 1, "t": moment(0)}, {"k": "a", "n": 2, "t": far}])
    stream = ms.stream(made.frame(), time="t", name="s", max_ahead="1 day")
    run = stream.deduplicate("n", within="1 hour").write(
        tmp_path / "out",
        checkpoint=tmp_path / "checkpoint",
        dead_letters={"s": tmp_path / "rejected"},
        flush=True,
    )
    assert run.wait(120)
    assert [row["n"] for row in written(tmp_path / "out")] == [1]
    assert len(written(tmp_path / "rejected")) == 1


def test_rows_for_which_an_expression_fails_go_to_the_dead_letters(spark, tmp_path) -> None:
    made = source(spark, [("1", 1, 0), ("x", 2, 1), ("3", 0, 2)])
    stream = ms.stream(made.frame(), time="t", name="s").where("CAST(k AS INT) > 0")
    shares = stream.select("6 DIV n AS share", "t")
    run = shares.write(
        tmp_path / "out",
        checkpoint=tmp_path / "checkpoint",
        dead_letters={"s": tmp_path / "rejected"},
        once=True,
        on_error="dead_letter",
    )
    assert run.wait(120)
    assert [row["share"] for row in written(tmp_path / "out")] == [6]
    found = {row["_column"]: row["_message"] for row in written(tmp_path / "rejected")}
    assert found == {
        "6 DIV n": "6 DIV n failed: division by zero.",
        "CAST(k AS INT)": "CAST(k AS INT) failed: the value cannot be cast to INT.",
    }
    assert run.ledger is not None
    assert run.ledger.balanced is True
    with pytest.raises(PlanError, match="MS-PLAN-ON-ERROR: 'ignore' is not an action"):
        shares.write(tmp_path / "out", checkpoint=tmp_path / "x", on_error="ignore")
    written_sql = ms.sql("SELECT 6 DIV n AS n FROM s WITH ('on.error' = 'dead_letter')", s=stream)
    with pytest.raises(PlanError, match="MS-PLAN-ON-ERROR: a DataFrame has no dead-letter queue"):
        written_sql.to_df()


def test_a_dataframe_is_a_table_of_a_run(spark, tmp_path) -> None:
    names = spark.createDataFrame([("a", "Ada")], "k string, name string")
    stream = ms.stream(source(spark, [("a", 1, 0), ("b", 2, 1)]).frame(), time="t")
    named = stream.lookup_join(names, on="k", how="left")
    assert named.write(tmp_path / "out", checkpoint=tmp_path / "checkpoint", once=True).wait(120)
    assert [(row["n"], row.get("name")) for row in written(tmp_path / "out")] == [
        (1, "Ada"),
        (2, None),
    ]


def test_a_run_is_stopped_and_its_checkpoint_is_free(spark, tmp_path) -> None:
    stream = totals(source(spark, [("a", 1, 0)]))
    with stream.write(ms.sink("noop"), checkpoint=tmp_path / "c", every="100ms") as run:
        assert run.active is True
        with pytest.raises(StateError, match="MS-STATE-IN-USE"):
            stream.write(ms.sink("noop"), checkpoint=tmp_path / "c")
    ended = run.wait(0)
    assert ended
    assert stream.write(ms.sink("noop"), checkpoint=tmp_path / "c", once=True).wait(120)


def test_a_failed_run_raises_its_error(spark, tmp_path) -> None:
    stream = ms.stream(source(spark, [("a", 1, 0)]).frame(), time="t")
    failing = stream.select("raise_error('boom') AS x", "t")
    run = failing.write(tmp_path / "out", checkpoint=tmp_path / "checkpoint", once=True)
    with pytest.raises(MillstreamError, match="boom"):
        run.wait(120)


def test_mistakes_are_rejected_before_the_query_starts(spark, tmp_path) -> None:
    stream = totals(source(spark, [("a", 1, 0)]), lateness="1s")
    with pytest.raises(PropertyError, match="MS-PROP-"):
        stream.write(ms.sink("file", path="x", nonsense="1"), checkpoint=tmp_path / "c")
    with pytest.raises(PlanError, match="`every` and `once` exclude each other"):
        stream.write(ms.sink("noop"), checkpoint=tmp_path / "c", every="1s", once=True)
    with pytest.raises(PlanError, match="`every` and `flush` exclude each other"):
        stream.write(ms.sink("noop"), checkpoint=tmp_path / "c", every="1s", flush=True)
    with pytest.raises(PlanError, match="MS-PLAN-SHARED-SINK"):
        totals(source(spark), late=ms.side_output("result")).write(
            ms.sink("noop"), checkpoint=tmp_path / "c", late={"result": "l"}
        )
    assert not (tmp_path / "c").exists()
