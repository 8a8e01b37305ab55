"""What `explain` says, as text and as data."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.golden.cases import HERE
from tests.plan.plans import job

from millstream.plan.build import build_job
from millstream.plan.explain.secrets import masked
from millstream.plan.explain.text import explain, explain_json

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


def test_explain_json_carries_the_same_facts_as_data() -> None:
    file = HERE / "explain" / "orders_shipments.sql"
    facts = explain_json(build_job(file.read_text(encoding="utf-8")))
    pipeline = facts["pipelines"][0]
    join = pipeline["root"]["input"]
    assert json.loads(json.dumps(facts)) == facts
    assert (pipeline["engine"], pipeline["strategy"]["kind"]) == ("columnar", "hash")
    assert pipeline["root"]["hold_us"] == 86_400_000_000
    assert join["bounds_us"] == [0, 86_400_000_000]
    assert [side["held_us"] for side in join["sides"]] == [172_800_000_000, 172_800_000_000]
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
    assert masked("url", url) == shown


def test_no_secret_is_explained() -> None:
    plan = job(
        """SET 'spark.hadoop.fs.s3a.secret.key' = 'hidden1'; SET 'key_groups' = '8';
        CREATE SINK out WITH ('connector' = 'file', 'path' = 's3://me:hidden2@bucket/x',
          'password' = 'hidden3', 'kafka.sasl.jaas.config' = 'hidden4') AS SELECT * FROM orders"""
    )
    for text in (explain(plan), json.dumps(explain_json(plan))):
        assert "hidden" not in text
        assert "s3://***@bucket/x" in text
    assert "key_groups 8" in explain(plan)


def test_explain_json_tells_of_every_operator() -> None:
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
