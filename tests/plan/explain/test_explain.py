"""What `explain` says, as text and as data."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.golden.cases import HERE
from tests.plan.plans import job

from millstream.plan.build.job import build_job
from millstream.plan.document import Section
from millstream.plan.explain.document import build_document
from millstream.plan.explain.render import explain, explain_json
from millstream.plan.installed_connectors import installed_connectors
from millstream.plan.secrets import mask_secret

FILES = sorted((HERE / "explain").glob("*.sql"))


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_explain_gives_the_tree_of_its_golden_file(file: Path) -> None:
    given = explain(build_job(file.read_text(encoding="utf-8")))
    golden = file.with_suffix(".txt")
    if os.environ.get("MILLSTREAM_GOLDEN") == "write":
        golden.write_text(given, encoding="utf-8")
    assert given == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_explain_fits_into_100_columns(file: Path) -> None:
    text = explain(build_job(file.read_text(encoding="utf-8")))
    assert max(len(line) for line in text.splitlines()) <= 100


def sections_of(section: Section) -> Iterator[Section]:
    yield section
    for child in section.children:
        for each in child.sections:
            yield from sections_of(each)


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_every_fact_of_a_section_has_a_field_of_its_own(file: Path) -> None:
    job = build_job(file.read_text(encoding="utf-8"))
    for query in build_document(job, installed_connectors()).queries:
        for section in sections_of(query.root):
            fields = [fact.name for fact in section.facts if fact.name is not None]
            fields += [child.field for child in section.children]
            assert sorted(set(fields)) == sorted(fields), section.title
            assert all(fact.name or fact.lines for fact in section.facts), section.title


def test_explain_json_carries_the_same_facts_as_data() -> None:
    file = HERE / "explain" / "orders_shipments.sql"
    facts = explain_json(build_job(file.read_text(encoding="utf-8")))
    pipeline = facts["pipelines"][0]
    join = pipeline["root"]["input"]
    assert json.loads(json.dumps(facts)) == facts
    assert (pipeline["engine"], pipeline["strategy"]["kind"]) == ("columnar", "hash")
    assert pipeline["root"]["watermark_delay_us"] == 86_400_000_000
    assert join["bounds_us"] == [0, 86_400_000_000]
    assert [side["expires_after_us"] for side in join["sides"]] == [
        172_800_000_000,
        172_800_000_000,
    ]
    assert join["late"] == {"action": "side_output", "sink": "late"}
    assert join["limit"] == {"max_rows": 1_000_000, "max_bytes": None, "on_limit": "evict"}
    assert join["sides"][1]["node"]["dead_letter"] == "bad"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:p/w@h/db", "postgresql://***@h/db"),
        ("postgresql://u:p@w@h/db?sslpassword=x&a=b", "postgresql://***@h/db?sslpassword=***&a=b"),
        ("host=h password=pw dbname=d", "host=h password=*** dbname=d"),
        ("password = 'p w' host=h", "password = *** host=h"),
        ("jdbc:postgresql://h/db", "jdbc:postgresql://h/db"),
    ],
)
def test_logins_in_urls_are_masked(url: str, shown: str) -> None:
    assert mask_secret("url", url) == shown


def test_no_secret_is_explained() -> None:
    plan = job(
        """SET 'spark.hadoop.fs.s3a.secret.key' = 'hidden1'; SET 'key_groups' = '8';
        CREATE TABLE t (k STRING) WITH ('connector' = 'postgresql',
          'url' = 'postgresql://me:hidden3@db/shop', 'password' = 'hidden4');
        CREATE SINK out WITH ('connector' = 'file', 'path' = 's3://me:hidden2@bucket/x') AS
        SELECT o.* FROM orders o JOIN t ON t.k = o.order_id"""
    )
    for text in (explain(plan), json.dumps(explain_json(plan))):
        assert "hidden" not in text
        assert "s3://***@bucket/x" in text
    assert "key_groups 8" in explain(plan)


def test_explain_json_has_every_operator() -> None:
    file = HERE / "explain" / "windows.sql"
    facts = explain_json(build_job(file.read_text(encoding="utf-8")))
    assert json.loads(json.dumps(facts)) == facts
    hourly, _, best, _ = facts["pipelines"]
    aggregate = hourly["root"]["input"]
    assert hourly["mode"] == "upsert"
    assert (aggregate["kind"], aggregate["emit"], aggregate["retracts"]) == (
        "aggregate",
        "final",
        True,
    )
    assert aggregate["window"] == {
        "kind": "sliding",
        "size_us": 3_600_000_000,
        "slide_us": 600_000_000,
        "offset_us": 0,
        "wall_clock": False,
    }
    assert (aggregate["lateness_us"], aggregate["late"]["sink"]) == (300_000_000, "late")
    source = aggregate["input"]["node"]["input"]
    assert (source["idle_us"], source["watermark"]["every_rows"]) == (60_000_000, 100)
    top = best["root"]["input"]["input"]
    assert (top["kind"], top["n"], top["due"]) == ("top_n", 3, "counted._window_end")


READINGS = """
CREATE SOURCE readings (id STRING, at TIMESTAMP, WATERMARK FOR at AS at)
  WITH ('connector' = 'file', 'path' = 'in'{properties});
CREATE SINK out WITH ('connector' = '{sink}') AS {query};
"""
COUNTED = "SELECT count(*) AS n FROM readings WINDOW TUMBLING(INTERVAL 1 HOUR)"
PASSED = "SELECT id FROM readings"
DAY = 86_400_000_000
TWO_DAYS = ", 'watermark.max_ahead' = '2d'"
OFF = ", 'watermark.max_ahead' = 'off'"


def source_in(node: dict[str, Any]) -> dict[str, Any]:
    while node["kind"] != "source":
        node = node["input"]
        node = node.get("node", node)
    return node


@pytest.mark.parametrize(
    ("query", "properties", "sink", "shown", "limit"),
    [
        (COUNTED, "", "console", "a row more than 1d ahead of processing time is rejected", DAY),
        (
            COUNTED,
            TWO_DAYS,
            "noop",
            "a row more than 2d ahead of processing time is rejected",
            2 * DAY,
        ),
        (COUNTED, "", "noop", None, None),
        (COUNTED, OFF, "console", "off", None),
        (f"{COUNTED} WITH ('engine' = 'native')", "", "console", None, None),
        (f"{COUNTED} ON PROCTIME()", "", "console", None, None),
        (PASSED, "", "console", None, None),
        (PASSED, TWO_DAYS, "console", "not applied: no operator uses the watermark", None),
    ],
)
def test_explain_states_max_ahead_where_run_applies_it(
    query: str, properties: str, sink: str, shown: str | None, limit: int | None
) -> None:
    plan = build_job(READINGS.format(query=query, properties=properties, sink=sink))
    lines = [line.split("max ahead  ")[1] for line in explain(plan).splitlines() if "max a" in line]
    assert lines == ([shown] if shown else [])
    [pipeline] = explain_json(plan)["pipelines"]
    assert source_in(pipeline["root"])["max_ahead_us"] == limit


def test_explain_reports_that_rows_without_a_time_pass_a_stateless_query() -> None:
    texts = {
        missing: explain(
            build_job(
                READINGS.format(
                    query=PASSED, properties=f", 'event.missing' = '{missing}'", sink="console"
                )
            )
        )
        for missing in ("error", "skip", "wall_clock")
    }
    passes = "no time    rows without an event time pass: the query is stateless"
    assert passes in texts["error"]
    assert passes in texts["skip"]
    assert (
        "no time    wall_clock: a row without an event time gets the processing time"
        in (texts["wall_clock"])
    )


def test_explain_names_the_query_that_writes_the_malformed_records_of_a_shared_source() -> None:
    made = build_job("""
    CREATE SOURCE s (id INT) WITH ('connector' = 'file', 'path' = 'in', 'dead_letter.sink' = 'bad');
    CREATE SINK bad WITH ('connector' = 'file', 'path' = 'bad');
    CREATE SINK one WITH ('connector' = 'console') AS SELECT id FROM s;
    CREATE SINK two WITH ('connector' = 'console') AS SELECT id FROM s WHERE id > 1;
    """)
    assert explain(made).count("dead_letter to bad, written by the query one") == 2
    read = [source_in(each["root"]) for each in explain_json(made)["pipelines"]]
    assert [each["dead_letter_query"] for each in read] == ["one", "one"]
    assert made.text is not None
    text = made.text.written
    alone = build_job(text[: text.index("CREATE SINK two")])
    assert "written by" not in explain(alone)
