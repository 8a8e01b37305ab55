"""How streams, plans, sinks and ledgers look in a console and in a notebook."""

from __future__ import annotations

from typing import Any

import pytest

import millstream as ms
from millstream.connectors.memory import MemoryStream
from millstream.observe.ledger import InputLedger, Ledger, OperatorLedger


@pytest.fixture(scope="module")
def stream(spark) -> ms.Stream:
    schema = "k string, `<n>` bigint, t timestamp"
    return ms.stream(MemoryStream(spark, schema).frame(), time="t", delay="5s", name="s")


def test_a_stream_shows_columns_time_and_operators(stream) -> None:
    assert repr(stream) == (
        "Stream[k: string, <n>: bigint, t: timestamp]\n"
        "  event time: t, watermark delay 5s\n"
        "  sources: s"
    )
    joined = stream.interval_join(stream, on="k", lower="-1m", upper="1h")
    totals = joined.window(ms.tumbling("1 hour")).aggregate(rows="count(*)")
    assert repr(totals) == (
        "Stream[_window_start: timestamp, _window_end: timestamp, rows: bigint]\n"
        "  event time: _window_time, watermark delay 1h 5s\n"
        "  sources: s\n"
        "  operators: inner join of s left and s right; aggregate of stream"
    )
    assert "event time: none" in repr(stream.select("k"))


def test_a_notebook_shows_a_table_with_names_escaped(stream) -> None:
    html = stream._repr_html_()
    assert "<td>&lt;n&gt;</td><td>bigint</td>" in html
    assert "<n>" not in html
    assert "watermark delay 5s" in html


def test_a_plan_is_shown_as_text(stream) -> None:
    plan = stream.where("k = 'a'").explain()
    assert repr(plan) == str(plan).rstrip("\n")
    assert plan.startswith("Job")
    assert plan._repr_html_().startswith("<pre>Job")


def test_passwords_are_not_shown() -> None:
    options: dict[str, Any] = {
        "url": "postgresql://me:secret@db/shop",
        "password": "secret",
        "table": "t",
    }
    assert "secret" not in repr(ms.database("postgresql", "id BIGINT", **options))
    assert "secret" not in repr(ms.sink("postgresql", **options))


def test_a_ledger_is_shown_as_a_table() -> None:
    counts = {"in": 2, "accepted": 2, "processed": 2}
    ledger = Ledger([OperatorLedger("rows of s", [InputLedger("s", counts)])], rows_out=2)
    assert repr(ledger).splitlines()[0].split() == ["ledger", "s"]
    assert "Ledger(" not in repr(ledger)
    assert ledger._repr_html_().startswith("<pre>ledger")
