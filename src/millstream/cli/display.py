"""Progress of a run: a table that renews itself on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table

from millstream.cli.words import behind, moment, size
from millstream.run.progress import Progress

EVERY = 5.0  # seconds between plain lines of a pipeline


class Display(Protocol):
    def update(self, phase: str, pipelines: Sequence[Progress]) -> None: ...
    def close(self) -> None: ...


class Silent:
    def update(self, phase: str, pipelines: Sequence[Progress]) -> None: ...
    def close(self) -> None: ...


@dataclass(slots=True)
class Lines:
    """A line when something new begins, and one a batch, at most every few seconds."""

    out: TextIO
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    _phase: str = ""
    _said: dict[str, tuple[float, int]] = field(default_factory=dict)

    def update(self, phase: str, pipelines: Sequence[Progress]) -> None:
        if phase != self._phase:
            self._phase = phase
            self._line(phase)
        for each in pipelines:
            said, batch = self._said.get(each.name, (-EVERY, -1))
            if each.batch is not None and each.batch > batch and self.clock() - said >= EVERY:
                self._said[each.name] = (self.clock(), each.batch)
                self._line(line(each, self.now()))

    def close(self) -> None: ...

    def _line(self, text: str) -> None:
        self.out.write(f"{self.now():%H:%M:%S}  {text}\n")
        self.out.flush()


def line(each: Progress, now: datetime) -> str:
    parts = [
        f"{each.name} batch {each.batch}",
        f"{each.rows_in:,} rows in, {each.rows_out:,} out",
        f"{each.rate:,.0f} rows/s, batch {each.seconds:.1f} s",
        *_watermarks(each, now),
    ]
    if state := _state(each):
        parts.append(f"state {state}")
    return "; ".join(parts)


def _watermarks(each: Progress, now: datetime) -> list[str]:
    if each.ended:
        return ["end of input"]
    return [
        f"{name} at {moment(micros)}, {behind(micros, now)} behind"
        if micros is not None
        else f"{name}: no row yet"
        for name, micros in each.watermarks.items()
    ]


def _state(each: Progress) -> str:
    if not each.watermarks:
        return ""
    full = "" if each.pressure is None else f", {each.pressure:.0%} of its limit"
    return f"{each.state_rows:,} rows, {size(each.state_bytes)}{full}"


class LiveTable:
    """The table, drawn anew while Spark works."""

    def __init__(self, console: Console) -> None:
        # Rows that a console sink prints go above the table, if both are on the terminal.
        self._live = Live(
            console=console,
            transient=True,
            refresh_per_second=4,
            redirect_stdout=sys.stdout.isatty(),
            redirect_stderr=False,
        )
        self._spinner = Spinner("dots")
        self._live.start()

    def update(self, phase: str, pipelines: Sequence[Progress]) -> None:
        self._spinner.update(text=phase)
        parts: list[RenderableType] = [self._spinner]
        if pipelines:
            parts.insert(0, table(pipelines, datetime.now(UTC)))
        self._live.update(Group(*parts))

    def close(self) -> None:
        self._live.stop()


def table(pipelines: Sequence[Progress], now: datetime) -> Table:
    drawn = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("pipeline", "batch", "rows in", "rows out", "rows/s", "batch time"):
        drawn.add_column(name, justify="left" if name == "pipeline" else "right", no_wrap=True)
    drawn.add_column("watermark")
    drawn.add_column("state")
    for each in pipelines:
        drawn.add_row(
            each.name,
            "" if each.batch is None else str(each.batch),
            f"{each.rows_in:,}",
            f"{each.rows_out:,}",
            f"{each.rate:,.0f}",
            f"{each.seconds:.1f} s",
            "\n".join(_watermarks(each, now)),
            _state(each),
        )
    return drawn
