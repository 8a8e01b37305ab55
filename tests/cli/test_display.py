"""Progress as lines: one a batch, at most every few seconds."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from rich.console import Console

from millstream.cli.display import Lines, line, table
from millstream.cli.formats import behind, size
from millstream.run.progress import Progress
from millstream.temporal import END_OF_TIME, StateLimit

NOW = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)
TEN = 1_768_471_200_000_000  # 10:00 on that day
ONE = Progress(
    "shipped",
    batch=3,
    rows_in=12_000,
    rows_out=900,
    rate=4000,
    seconds=0.75,
    watermarks={"orders": TEN, "shipments": None},
    state_rows=1500,
    state_bytes=36_000,
    limit=StateLimit(max_rows=2000),
)


def test_a_line_tells_batch_rows_rate_watermarks_and_state():
    out = io.StringIO()
    Lines(out, clock=lambda: 0.0, now=lambda: NOW).update("running", [ONE])
    assert out.getvalue() == (
        "12:00:00  running\n"
        "12:00:00  shipped batch 3; 12,000 rows in, 900 out; 4,000 rows/s, batch 0.8 s; "
        "orders at 2026-01-15T10:00:00Z, 2h 0m behind; shipments: no row yet; "
        "state 1,500 rows, 36.0 kB, 75% of its limit\n"
    )


def test_an_input_that_has_ended_before_the_others_has_no_time():
    watermarks = {"orders": TEN, "v_c": END_OF_TIME, "c": END_OF_TIME - 120_000_000}
    shown = line(replace(ONE, watermarks=watermarks), NOW)
    assert (
        "; orders at 2026-01-15T10:00:00Z, 2h 0m behind; v_c: end of input; c: end of input; "
    ) in shown


def test_lines_do_not_come_faster_than_they_can_be_read():
    out, seconds = io.StringIO(), 0.0
    lines = Lines(out, clock=lambda: seconds, now=lambda: NOW)
    for batch in range(12):
        lines.update("running", [replace(ONE, batch=batch)])
        seconds += 1.0
    lines.update("running", [replace(ONE, batch=11)])
    message = [line.split(";")[0].split()[-1] for line in out.getvalue().splitlines()[1:]]
    assert message == ["0", "5", "10"]


def test_before_the_first_batch_there_is_no_line():
    out = io.StringIO()
    Lines(out, clock=lambda: 0.0, now=lambda: NOW).update("running", [replace(ONE, batch=None)])
    assert out.getvalue() == "12:00:00  running\n"


def test_the_table_shows_the_same():
    console = Console(file=io.StringIO(), width=220)
    other = replace(ONE, name="other", ended=True, busy=True)
    console.print(table([ONE, other], NOW, {"shipped": 83.2, "other": 4}))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "orders at 2026-01-15T10:00:00Z, 2h 0m behind" in shown
    assert "end of input" in shown
    assert "75% of its limit" in shown
    assert "waiting for input for 1m 23s" in shown
    assert "batch 4 running for 4s" in shown


def test_without_input_a_heartbeat_appears_every_minute_and_the_lag_grows():
    out, seconds = io.StringIO(), 0.0
    lines = Lines(out, clock=lambda: seconds, now=lambda: NOW + timedelta(seconds=seconds))
    for _ in range(4 * 150):
        lines.update("running", [ONE])
        seconds += 0.25
    assert out.getvalue().splitlines()[2:] == [
        "12:01:00  shipped waiting for input for 1m 0s; orders at 2026-01-15T10:00:00Z, 2h 1m "
        "behind; shipments: no row yet; state 1,500 rows, 36.0 kB, 75% of its limit",
        "12:02:00  shipped waiting for input for 2m 0s; orders at 2026-01-15T10:00:00Z, 2h 2m "
        "behind; shipments: no row yet; state 1,500 rows, 36.0 kB, 75% of its limit",
    ]


def test_a_heartbeat_tells_a_long_batch_from_a_pause():
    out, seconds = io.StringIO(), 0.0
    lines = Lines(out, clock=lambda: seconds, now=lambda: NOW)
    lines.update("running", [replace(ONE, batch=None, busy=True, watermarks={})])
    seconds = 61.0
    lines.update("running", [replace(ONE, batch=None, busy=True, watermarks={})])
    assert out.getvalue().splitlines()[1:] == ["12:00:00  shipped batch 0 running for 1m 1s"]


def test_a_slow_start_is_not_silent():
    out, seconds = io.StringIO(), 0.0
    lines = Lines(out, clock=lambda: seconds, now=lambda: NOW)
    for _ in range(130):
        lines.update("starting Spark", [])
        seconds += 1.0
    assert out.getvalue().splitlines() == [
        "12:00:00  starting Spark",
        "12:00:00  starting Spark, for 1m 0s",
        "12:00:00  starting Spark, for 2m 0s",
    ]


def test_words():
    assert behind(TEN, NOW) == "2h 0m"
    assert behind(TEN, datetime(2026, 1, 18, 13, 0, tzinfo=UTC)) == "3d 3h"
    assert behind(TEN + 10**12, NOW) == "0s"
    assert [size(count) for count in (0, 999, 1500, 250_000, 3_200_000)] == [
        "0 B",
        "999 B",
        "1.5 kB",
        "250 kB",
        "3.2 MB",
    ]
