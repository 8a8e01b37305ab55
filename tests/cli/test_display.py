"""Progress as lines: one a batch, at most every few seconds."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import UTC, datetime

from rich.console import Console

from millstream.cli.display import Lines, table
from millstream.cli.words import behind, size
from millstream.run.progress import Progress
from millstream.temporal import StateLimit

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


def test_lines_do_not_come_faster_than_they_can_be_read():
    out, seconds = io.StringIO(), 0.0
    lines = Lines(out, clock=lambda: seconds, now=lambda: NOW)
    for batch in range(12):
        lines.update("running", [replace(ONE, batch=batch)])
        seconds += 1.0
    lines.update("running", [replace(ONE, batch=11)])
    told = [line.split(";")[0].split()[-1] for line in out.getvalue().splitlines()[1:]]
    assert told == ["0", "5", "10"]


def test_before_the_first_batch_there_is_no_line():
    out = io.StringIO()
    Lines(out, clock=lambda: 0.0, now=lambda: NOW).update("running", [replace(ONE, batch=None)])
    assert out.getvalue() == "12:00:00  running\n"


def test_the_table_shows_the_same():
    console = Console(file=io.StringIO(), width=160)
    console.print(table([ONE, replace(ONE, name="other", ended=True)], NOW))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "orders at 2026-01-15T10:00:00Z, 2h 0m behind" in shown
    assert "end of input" in shown
    assert "75% of its limit" in shown


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
