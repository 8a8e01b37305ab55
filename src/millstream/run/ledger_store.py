"""Stores the ledger: row counts after each batch, in a file of the checkpoint.

Operators count in their own state, so a retried batch does not count twice. Every report of a key
group has all counts since its state began. After a batch without packets for an operator, its last
report is still exact. Counts outside state (rows written, rows of stateless queries) are summed; a
retried batch replaces its first attempt.

The ledger is written before Spark commits the batch. Only where Spark writes to the sink itself
do counts arrive after the commit; batches whose counts a crash has lost are listed in `lost`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from millstream.engine.compile.native import READ
from millstream.observe.ledger import (
    Ledger,
    OperatorLedger,
    SparkLedger,
    ledger_of_operators,
    ledger_of_select,
)
from millstream.observe.operator_names import names_of
from millstream.plan.build.query_groups import choose_query_engine
from millstream.plan.facts.output_groups import (
    operator_order,
    output_groups_of,
    query_operators,
    query_sources,
)
from millstream.plan.facts.union import physical_inputs
from millstream.plan.nodes import Engine, Operator, Query
from millstream.run.checkpoint import write_json
from millstream.temporal import BEGIN_OF_TIME, END_OF_TIME

_RECENT_BATCHES = 8
_VERSION = 5  # of the file
_WRITTEN, _READ, _OUTPUT = "written: ", "read: ", "output: "  # prefixes of keys of sums
_SAVED = ("batch", "stats", "before", "sums", "spark_counts", "lost")


@dataclass(slots=True)
class LedgerStore:
    """The ledger of one query and its file."""

    query: Query
    file: Path
    batch: int = -1
    stats: dict[str, dict[str, Any]] = field(default_factory=dict)  # last, by operator and group
    before: dict[str, int] = field(default_factory=dict)  # sums up to the batch before the last
    sums: dict[str, int] = field(default_factory=dict)
    spark_counts: dict[str, Any] = field(default_factory=dict)  # by Spark, of the native engine
    lost: list[list[int]] = field(default_factory=list)  # first and last of batches without counts
    _rows_by_batch: dict[int, int] = field(
        default_factory=dict
    )  # rows in, of the last batches of a run
    _saving: Lock = field(default_factory=Lock, repr=False, compare=False)

    @classmethod
    def open(cls, query: Query, file: Path, first_batch: int = 0) -> LedgerStore:
        """Opens the ledger in `file`, or a new one. `first_batch` is the first batch of the run;
        all batches before it are committed."""
        saved = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        made = cls(query, file)
        # If it is ahead by more than the batch to retry, it belongs to another checkpoint.
        if saved.get("version") == _VERSION and saved["batch"] <= first_batch:
            made = cls(query, file, **{name: saved[name] for name in _SAVED})
        made._record_lost(first_batch - 1)
        return made

    def add(
        self,
        batch: int,
        stats: list[dict[str, Any]],
        rows_out: Mapping[int, int],
        tables: Iterable[Mapping[str, Any]] = (),
        written: Mapping[str, int] | None = None,
    ) -> None:
        """Adds a batch.

        Args:
            batch: The number of the batch.
            stats: The reports of key groups, and counts of sources without operator.
            rows_out: The rows written by each output, by number.
            tables: The reports of table joins.
            written: The rows written to sinks of late rows and dead letters, by the keys of
                `Ledger.written`.
        """
        known, again = self.ledger.total_in, batch <= self.batch
        if not again:
            self._record_lost(batch - 1)
            self.before, self.batch = self.sums, batch
        names = self.query.output_names
        added = {f"{_OUTPUT}{names[number]}": rows for number, rows in rows_out.items()}
        added |= {f"{_WRITTEN}{key}": count for key, count in (written or {}).items()}
        for report in tables:
            for what, count in report["counts"].items():
                name = f"{report['table']}/{what}"
                added[name] = added.get(name, 0) + count
        for each in stats:
            if "operator" in each:
                self.stats[f"{each['operator']}/{each['group']}"] = each
                continue
            for source, input_counts in each["input_counts"].items():  # which no operator counts
                for what, count in input_counts.items():
                    added[f"{_READ}{source}: {what}"] = count
        self.sums = {
            what: self.before.get(what, 0) + added.get(what, 0) for what in {*self.before, *added}
        }
        if not again and not self.is_native:
            self._rows_by_batch[batch] = self.ledger.total_in - known
            self._rows_by_batch.pop(batch - _RECENT_BATCHES, None)
        self._save()

    def _record_lost(self, last: int) -> None:
        """Records that batches up to `last` are committed: the counts of those not yet added are
        lost."""
        if last > self.batch:
            self.lost = [*self.lost, [self.batch + 1, last]]
            self.before, self.batch = self.sums, last

    def rows_in(self, batch: int) -> int | None:
        """Returns the input rows of one of the last batches, else None. If workers read files,
        Spark counts files, not rows."""
        return self._rows_by_batch.get(batch)

    def add_spark_progress(self, batches: Iterable[Mapping[str, Any]]) -> None:
        """Adds Spark's progress of micro-batches, oldest first; each counts once."""
        names = [source.name for source in query_sources(self.query)]
        spark_counts = {"batch": -1, "in": {}, "late": 0, **self.spark_counts}
        for progress in batches:
            read = [each for each in progress["sources"] if "/control]" not in each["description"]]
            rows = [each["numInputRows"] for each in read]
            operators = progress["stateOperators"]
            # A trigger without new rows reports the number of the next batch.
            if progress["batchId"] > spark_counts["batch"] and sum(rows):
                seen = progress.get("observedMetrics", {})
                counted = zip(names, rows, strict=False)
                spark_counts["batch"] = progress["batchId"]
                # If executors read files, Spark counts files, not rows.
                spark_counts["in"] = {
                    name: spark_counts["in"].get(name, 0)
                    + seen.get(f"{READ} {name}", {READ: count})[READ]
                    for name, count in counted
                }
                spark_counts["late"] += sum(each["numRowsDroppedByWatermark"] for each in operators)
            if operators:
                spark_counts["state_rows"] = sum(each["numRowsTotal"] for each in operators)
                spark_counts["state_bytes"] = sum(each["memoryUsedBytes"] for each in operators)
        if spark_counts != self.spark_counts:
            self.spark_counts = spark_counts
            self._save()

    def _save(self) -> None:
        with self._saving:  # one thread adds batches, another reports
            saved = {name: getattr(self, name) for name in _SAVED}
            write_json(self.file, {"version": _VERSION, **saved})

    @property
    def ledger(self) -> Ledger | SparkLedger:
        rows_out = self.rows_out
        total = sum(rows_out.values())
        if self.is_native:
            state = {what: self.spark_counts.get(what, 0) for what in ("state_rows", "state_bytes")}
            rows_in, late = self.spark_counts.get("in", {}), self.spark_counts.get("late", 0)
            return SparkLedger(rows_in, late, total, state, self._sinks(rows_out))
        ledger = Ledger([], total)
        if self._operators:
            numbers = operator_order(self.query)
            ledger = ledger_of_operators(names_of(self.query), numbers, self.stats.values(), total)
        if self.batch < 0:  # nothing was read, so there is nothing to report
            for each in ledger.operators:
                each.reported = True
        for group in output_groups_of(self.query):
            if group.source is not None:
                written = [rows_out.get(number, 0) for number in group.outputs]
                select = self._select(group.source.name, written)
                read = [each for each in ledger.inputs if each.name == group.source.name]
                if read:  # names of inputs are unique
                    select.inputs[0].name += " without operator"
                ledger.operators.append(select)
        ledger.outputs = self._sinks(rows_out)
        ledger.tables = self._tables
        ledger.lost, ledger.written = self.lost, self._written
        return ledger

    def _select(self, source: str, written: Sequence[int]) -> OperatorLedger:
        """The rows of a source that outputs read without an operator."""
        prefix = f"{_READ}{source}: "
        counts = {
            key.removeprefix(prefix): count
            for key, count in self.sums.items()
            if key.startswith(prefix)
        }
        copies = failed = 0
        if not self._operators:  # otherwise operators count what tables did with their rows
            copies, failed = (
                sum(counts.get(what, 0) for counts in self._tables.values())
                for what in ("copies", "failed_rows")
            )
        return ledger_of_select(source, counts, written, extra_matches=copies, lookup_failed=failed)

    @property
    def rows_out(self) -> dict[int, int]:
        """Rows written by each output, by number."""
        return {
            number: self.sums.get(f"{_OUTPUT}{name}", 0)
            for number, name in enumerate(self.query.output_names)
        }

    def _sinks(self, rows_out: Mapping[int, int]) -> dict[str, int]:
        """Rows written to each sink."""
        found = {sink.name: 0 for sink in self.query.sinks}
        for number, output in enumerate(self.query.outputs):
            found[output.sink.name] += rows_out.get(number, 0)
        return found

    @property
    def _tables(self) -> dict[str, dict[str, int]]:
        """The counts of table joins, by table."""
        found: dict[str, dict[str, int]] = {}
        for key, count in self.sums.items():
            name, slash, what = key.rpartition("/")
            if slash and not key.startswith((_WRITTEN, _READ, _OUTPUT)):
                found.setdefault(name, {})[what] = count
        return found

    @property
    def _written(self) -> dict[str, int]:
        return {
            key.removeprefix(_WRITTEN): count
            for key, count in self.sums.items()
            if key.startswith(_WRITTEN)
        }

    @property
    def is_native(self) -> bool:
        """Whether the query runs on the native engine, whose counts only Spark reports."""
        return bool(self._operators) and choose_query_engine(self.query)[0] is Engine.NATIVE

    @property
    def _operators(self) -> tuple[Operator, ...]:
        return query_operators(self.query)

    @property
    def ended(self) -> bool:
        """Whether the input has ended, according to the reports of operators."""
        return bool(self.stats) and all(
            each["watermark_after"] >= END_OF_TIME for each in self.stats.values()
        )

    @property
    def watermarks(self) -> dict[str, int | None]:
        """The watermark of each input: greatest time less delay; None before its first row."""
        if not self.stats:
            return {}
        max_times: dict[str, int] = {}
        for each in self.stats.values():
            max_times |= each["max_times"]
        found = {}
        for operator, names in zip(self._operators, names_of(self.query), strict=True):
            for side, name in zip(physical_inputs(operator), names.physical, strict=True):
                top = max_times.get(name, BEGIN_OF_TIME)
                found[name] = top - side.delay if top > BEGIN_OF_TIME else None
        return found
