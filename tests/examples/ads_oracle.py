"""The results of examples/ads, computed by DuckDB from whole tables: no streams, no watermarks."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
from tests.examples.generated import Trial, dead_letters

SOURCES = {
    "impressions": "impression_id TEXT, campaign TEXT, cost DECIMAL(10, 4), event_time TIMESTAMPTZ",
    "clicks": "click_id TEXT, impression_id TEXT, event_time TIMESTAMPTZ",
    "conversions": "conversion_id TEXT, click_id TEXT, revenue DECIMAL(10, 2), "
    "event_time TIMESTAMPTZ",
}
_CLICKS = "(SELECT DISTINCT * FROM clicks)"
RESULTS = {
    "attributed_clicks": f"""
        SELECT c.click_id, c.event_time, c.impression_id, i.campaign
        FROM {_CLICKS} c LEFT JOIN impressions i
          ON i.impression_id = c.impression_id
         AND i.event_time BETWEEN c.event_time - INTERVAL 30 MINUTES AND c.event_time""",
    "attributed_conversions": f"""
        SELECT v.conversion_id, v.revenue, v.event_time, c.click_id, i.campaign
        FROM conversions v
        LEFT JOIN {_CLICKS} c
          ON c.click_id = v.click_id
         AND c.event_time BETWEEN v.event_time - INTERVAL 7 DAYS AND v.event_time
        LEFT JOIN impressions i
          ON i.impression_id = c.impression_id
         AND i.event_time BETWEEN c.event_time - INTERVAL 30 MINUTES AND c.event_time""",
    "click_through_rate": """
        SELECT campaign, date_trunc('day', event_time) AS day, count(*) AS impressions,
          count(*) FILTER (WHERE clicked) AS clicked,
          count(*) FILTER (WHERE clicked) / count(*) AS rate
        FROM (
          SELECT i.*, EXISTS (
            FROM clicks c WHERE c.impression_id = i.impression_id
              AND c.event_time BETWEEN i.event_time AND i.event_time + INTERVAL 30 MINUTES
          ) AS clicked
          FROM impressions i
        )
        GROUP BY ALL""",
}
# Lateness is relative to the operator's watermark: the minimum of its inputs, which are two
# minutes behind the last row on time.
_LATE = """
    SELECT '{source}' AS _source, {columns}, event_time,
      (epoch_us({watermark}) - epoch_us(event_time)) // 1000 AS _lateness_ms
    FROM late_{source}"""


def _watermark(*sources: str) -> str:
    lasts = ", ".join(f"(SELECT max(event_time) FROM {source})" for source in sources)
    return f"least({lasts}) - INTERVAL 2 MINUTES"


LATE = {
    "late_for_clicks": [
        _LATE.format(
            source="clicks", columns="click_id, impression_id", watermark=_watermark("clicks")
        ),
        _LATE.format(
            source="impressions",
            columns="impression_id, campaign, cost",
            watermark=_watermark("clicks", "impressions"),
        ),
    ],
    "late_for_conversions": [
        _LATE.format(
            source="conversions",
            columns="conversion_id, click_id, revenue",
            watermark=_watermark("clicks", "conversions"),
        ),
        _LATE.format(
            source="impressions",
            columns="impression_id, campaign, cost",
            watermark=_watermark("clicks", "conversions", "impressions"),
        ),
    ],
}
# The sources of each query; the second writes click_through_rate, too.
READS = {
    "attributed_clicks": ("clicks", "impressions"),
    "attributed_conversions": ("clicks", "conversions", "impressions"),
}


def assert_results(trial: Trial, checkpoint: str) -> None:
    """Asserts that sinks have exactly the rows that DuckDB computes, and every dead letter once."""
    with trial.database() as database:
        for sink, query in RESULTS.items():
            assert trial.assert_rows(database, sink, query, "json") > 0
        for sink, queries in LATE.items():
            union = " UNION ALL BY NAME ".join(queries)
            trial.assert_rows(database, sink, union, "json")
    for query, sources in READS.items():
        for source in sources:
            folder = dead_letter_folder(trial, checkpoint, query, source)
            assert dead_letters(folder) == trial.malformed(source), (query, source)
            ahead = dead_letters(folder, "ahead_of_time")
            assert _click_ids(ahead) == _click_ids(trial.ahead(source)), (query, source)


def _click_ids(lines: Counter[str]) -> Counter[str]:
    return Counter(json.loads(line)["click_id"] for line in lines.elements())


def dead_letter_folder(trial: Trial, checkpoint: str, query: str, source: str) -> Path:
    if source == "conversions":
        return trial.folder / "out/bad_conversions"
    return trial.folder / checkpoint / query / "dead-letter" / source


def assert_ledger(trial: Trial, report: dict[str, Any]) -> None:
    """Asserts that the ledger counts the rows of the input files and of the written files."""
    with trial.database() as database:
        duplicates = _count(
            database, "(SELECT * FROM clicks EXCEPT ALL SELECT DISTINCT * FROM clicks)"
        )
        late = {source: _count(database, f"late_{source}") for source in SOURCES}
    assert [pipeline["name"] for pipeline in report["queries"]] == list(READS)
    sinks = [sink["name"] for pipeline in report["queries"] for sink in pipeline["sinks"]]
    assert sinks == list(RESULTS)
    for pipeline in report["queries"]:
        assert pipeline["ledger"]["balanced"], pipeline["name"]
        inputs = pipeline["ledger"]["inputs"]
        for source in READS[pipeline["name"]]:
            # A source that two operators read is an input of each.
            read = [
                counts for name, counts in inputs.items() if f"{name} ".startswith(f"{source} ")
            ]
            assert read
            for counts in read:
                counted = {
                    name: counts[name]
                    for name in ("in", "late", "malformed", "duplicate", "ahead_of_time")
                }
                assert counted == {
                    "in": len(trial.records(source)),
                    "late": late[source],
                    "malformed": trial.malformed(source).total(),
                    "duplicate": duplicates if source == "clicks" else 0,
                    "ahead_of_time": trial.ahead(source).total(),
                }, (pipeline["name"], source)
        written: Counter[str] = Counter()
        for output in (*pipeline["sinks"], *pipeline["side_outputs"]):
            written[output["path"]] += output["rows"]
        assert written == {path: _lines(trial, path) for path in written}


def _count(database: duckdb.DuckDBPyConnection, table: str) -> int:
    [(count,)] = database.execute(f"SELECT count(*) FROM {table}").fetchall()
    return int(count)


def _lines(trial: Trial, path: str) -> int:
    files = (trial.folder / path).glob("*.json")
    return sum(len(file.read_text().splitlines()) for file in files)
