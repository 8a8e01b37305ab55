"""The progress of a query: its last batch, its watermarks, its state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from millstream.observe.ledger import SparkLedger
from millstream.plan.facts.output_groups import query_operators
from millstream.run.query import RunningQuery
from millstream.temporal import StateLimit

SPARK_WATERMARK = "all inputs"


@dataclass(frozen=True, slots=True)
class Progress:
    """`watermarks` are microseconds by input, None before the first row."""

    name: str
    batch: int | None  # the last batch of this run
    rows_in: int  # since the checkpoint began
    rows_out: int
    rate: float  # rows a second in the last batch
    seconds: float  # that the last batch took
    watermarks: Mapping[str, int | None] = field(default_factory=dict)
    ended: bool = False
    state_rows: int = 0
    state_bytes: int = 0
    limit: StateLimit = StateLimit()
    busy: bool = False  # a batch with input is being processed

    @property
    def pressure(self) -> float | None:
        """The part of the state limit that is used, for the limit that is closer; None without
        limit."""
        parts = []
        if self.limit.max_rows:
            parts.append(self.state_rows / self.limit.max_rows)
        if self.limit.max_bytes:
            parts.append(self.state_bytes / self.limit.max_bytes)
        return max(parts, default=None)


def progress_of(running: RunningQuery) -> Progress:
    running.update_ledger()
    ledger, last = running.ledger_store.ledger, running.progress
    operators = query_operators(running.plan)
    watermarks = running.ledger_store.watermarks
    text = last.eventTime.get("watermark") if last else None
    if isinstance(ledger, SparkLedger) and text:
        watermarks = {SPARK_WATERMARK: _micros(text)}
    seconds = last.batchDuration / 1000 if last else 0.0
    rows = last.numInputRows if last else 0
    if last and (counted := running.ledger_store.rows_in(last.batchId)) is not None:
        rows = counted
    return Progress(
        name=running.plan.title,
        batch=last.batchId if last else None,
        rows_in=ledger.total_in,
        rows_out=ledger.rows_out,
        rate=rows / seconds if seconds else 0.0,
        seconds=seconds,
        watermarks=watermarks,
        ended=running.ledger_store.ended,
        state_rows=ledger.state.get("state_rows", 0),
        state_bytes=ledger.state.get("state_bytes", 0),
        limit=operators[0].limit if len(operators) == 1 else StateLimit(),
        busy=running.busy,
    )


def _micros(text: str) -> int | None:
    moment = datetime.fromisoformat(text)
    micros = int((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1_000_000)
    return micros or None  # Spark begins at 1970
