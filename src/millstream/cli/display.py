"""Shows the progress of a run: a live table on a terminal, otherwise plain lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table

from millstream.cli.formats import MAX_TIME, behind, moment, size, span
from millstream.run.progress import Progress

EVERY = 5.0  # minimum seconds between lines of a pipeline
HEARTBEAT = 60.0  # seconds without a batch after which a line is printed


class Display(Protocol):
    """Shows the phase of a run, the progress of its pipelines, and warnings."""

    def update(self, phase: str, pipelines: Sequence[Progress]) -> None: ...
    def warn(self, text: str) -> None: ...
    def close(self) -> None: ...


class NoDisplay:
    """Shows nothing, for `--quiet`."""

    def update(self, phase: str, pipelines: Sequence[Progress]) -> None: ...
    def warn(self, text: str) -> None: ...
    def close(self) -> None: ...


@dataclass(slots=True)
class BatchAges:
    """Measures how long ago this process saw each pipeline complete a batch."""

    clock: Callable[[], float] = time.monotonic
    _seen: dict[str, tuple[int | None, float]] = field(default_factory=dict)

    def seconds(self, each: Progress) -> float:
        batch, since = self._seen.get(each.name, (None, -1.0))
        if since < 0 or batch != each.batch:
            since = self.clock()
            self._seen[each.name] = (each.batch, since)
        return self.clock() - since


@dataclass(slots=True)
class Lines:
    """Prints a line for each phase and batch, at most every few seconds, and a heartbeat if no
    batch completes."""

    out: TextIO
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    _phase: str = ""
    _phase_at: float = 0.0
    _printed: float = 0.0  # when a line of the phase was last printed
    _last_lines: dict[str, tuple[float, int]] = field(default_factory=dict)  # time and batch
    _ages: BatchAges = field(init=False)

    def __post_init__(self) -> None:
        self._ages = BatchAges(self.clock)

    def update(self, phase: str, pipelines: Sequence[Progress]) -> None:
        now = self.clock()
        if phase != self._phase:
            self._phase, self._phase_at, self._printed = phase, now, now
            self._line(phase)
        elif not pipelines and now - self._printed >= HEARTBEAT:
            self._printed = now
            self._line(f"{phase}, for {_seconds(now - self._phase_at)}")
        for each in pipelines:
            self._pipeline(each, now)

    def _pipeline(self, each: Progress, now: float) -> None:
        age = self._ages.seconds(each)
        printed, batch = self._last_lines.setdefault(each.name, (now - EVERY, -1))
        if each.batch is not None and each.batch > batch and now - printed >= EVERY:
            self._last_lines[each.name] = (now, each.batch)
            self._line(line(each, self.now()))
        elif min(age, now - printed) >= HEARTBEAT:
            self._last_lines[each.name] = (now, batch)
            self._line(heartbeat(each, age, self.now()))

    def warn(self, text: str) -> None:
        self._line(f"Warning: {text}")

    def close(self) -> None: ...

    def _line(self, text: str) -> None:
        self.out.write(f"{self.now():%H:%M:%S}  {text}\n")
        self.out.flush()


def heartbeat(each: Progress, age: float, now: datetime) -> str:
    """Describes what a pipeline is doing if it has not completed a batch for a while."""
    return "; ".join([f"{each.name} {activity(each, age)}", *_figures(each, now)])


def activity(each: Progress, age: float) -> str:
    if each.busy:
        number = 0 if each.batch is None else each.batch + 1
        return f"batch {number} running for {_seconds(age)}"
    return f"waiting for input for {_seconds(age)}"


def _seconds(seconds: float) -> str:
    return span(int(seconds * 1_000_000))


def line(each: Progress, now: datetime) -> str:
    parts = [
        f"{each.name} batch {each.batch}",
        f"{each.rows_in:,} rows in, {each.rows_out:,} out",
        f"{each.rate:,.0f} rows/s, batch {each.seconds:.1f} s",
        *_figures(each, now),
    ]
    return "; ".join(parts)


def _figures(each: Progress, now: datetime) -> list[str]:
    state = _state(each)
    return [*_watermarks(each, now), *([f"state {state}"] if state else [])]


def _watermarks(each: Progress, now: datetime) -> list[str]:
    if each.ended:
        return ["end of input"]
    return [_watermark(name, micros, now) for name, micros in each.watermarks.items()]


def _watermark(name: str, micros: int | None, now: datetime) -> str:
    if micros is None:
        return f"{name}: no row yet"
    if micros > MAX_TIME:  # one input may end before others
        return f"{name}: end of input"
    return f"{name} at {moment(micros)}, {behind(micros, now)} behind"


def _state(each: Progress) -> str:
    if not each.watermarks:
        return ""
    full = "" if each.pressure is None else f", {each.pressure:.0%} of its limit"
    return f"{each.state_rows:,} rows, {size(each.state_bytes)}{full}"


class LiveTable:
    """Shows progress as a table that is updated on the terminal."""

    def __init__(self, console: Console) -> None:
        # If both are on the terminal, rows of a console sink are printed above the table.
        self._live = Live(
            console=console,
            transient=True,
            refresh_per_second=4,
            redirect_stdout=sys.stdout.isatty(),
            redirect_stderr=False,
        )
        self._spinner = Spinner("dots")
        self._ages = BatchAges()
        self._live.start()

    def update(self, phase: str, pipelines: Sequence[Progress]) -> None:
        self._spinner.update(text=phase)
        parts: list[RenderableType] = [self._spinner]
        if pipelines:
            ages = {each.name: self._ages.seconds(each) for each in pipelines}
            parts.insert(0, table(pipelines, datetime.now(UTC), ages))
        self._live.update(Group(*parts))

    def warn(self, text: str) -> None:
        """Prints a warning above the table."""
        self._live.console.print(f"Warning: {text}", markup=False, highlight=False)

    def close(self) -> None:
        self._live.stop()


def table(pipelines: Sequence[Progress], now: datetime, ages: Mapping[str, float]) -> Table:
    drawn = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("pipeline", "batch", "rows in", "rows out", "rows/s", "batch time"):
        drawn.add_column(name, justify="left" if name == "pipeline" else "right", no_wrap=True)
    drawn.add_column("watermark")
    drawn.add_column("state")
    drawn.add_column("activity", no_wrap=True)
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
            activity(each, ages[each.name]),
        )
    return drawn
