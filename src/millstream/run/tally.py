"""The account as batches go by, kept beside the checkpoint so that a restart goes on counting.

State counts for itself and exactly once, since counts live in it. What is counted outside it (rows
written, rows of stateless queries) is added batch by batch; a batch that is written again takes the
place of its first try. Of a join of its own, Spark tells a little after each batch.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from millstream.observe.account import (
    Account,
    SparkAccount,
    derived_names,
    input_names,
    of_operators,
    of_select,
)
from millstream.plan.facts.check import choose_engine
from millstream.plan.nodes import Engine, Operator, Pipeline
from millstream.plan.walk import inputs_of, operators_of, sources_of
from millstream.run.checkpoint import write_json
from millstream.temporal import BEGIN_OF_TIME, END_OF_TIME

_REMEMBERED = 8


@dataclass(slots=True)
class Tally:
    pipeline: Pipeline
    file: Path
    batch: int = -1
    stats: list[dict[str, Any]] = field(default_factory=list)
    before: dict[str, int] = field(default_factory=dict)  # sums up to the batch before the last
    sums: dict[str, int] = field(default_factory=dict)
    told: dict[str, Any] = field(default_factory=dict)  # by Spark, of its own join
    _arrived: dict[int, int] = field(default_factory=dict)  # rows in, of the last batches of a run
    _saving: Lock = field(default_factory=Lock, repr=False, compare=False)

    @classmethod
    def open(cls, pipeline: Pipeline, file: Path) -> Tally:
        if not file.exists():
            return cls(pipeline, file)
        held = json.loads(file.read_text(encoding="utf-8"))
        return cls(pipeline, file, **held)

    def add(
        self,
        batch: int,
        stats: list[dict[str, Any]],
        rows_out: int,
        tables: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        known, again = self.account.total_in, batch <= self.batch
        if not again:
            self.before, self.batch = self.sums, batch
        added = {"rows_out": rows_out}
        for said in tables:
            for what, count in said["counts"].items():
                name = f"{said['table']}/{what}"
                added[name] = added.get(name, 0) + count
        if not self._operators:
            for each in stats:
                for tally in each["tally"].values():
                    for what, count in tally.items():
                        added[what] = added.get(what, 0) + count
        elif stats:
            self.stats = stats
        self.sums = {
            what: self.before.get(what, 0) + added.get(what, 0) for what in {*self.before, *added}
        }
        if not again and not self.by_spark:
            self._arrived[batch] = self.account.total_in - known
            self._arrived.pop(batch - _REMEMBERED, None)
        self._save()

    def rows_in(self, batch: int) -> int | None:
        """Rows that came in with a batch, as far as that is remembered. Spark's own count is one of
        files where workers read them."""
        return self._arrived.get(batch)

    def hear(self, reports: Iterable[Mapping[str, Any]]) -> None:
        """Take in what Spark reports of micro-batches, oldest first; each counts once."""
        names = [source.name for source in sources_of(self.pipeline.root)]
        told = {"batch": -1, "in": {}, "late": 0, **self.told}
        for report in reports:
            read = [each for each in report["sources"] if "/control]" not in each["description"]]
            rows = [each["numInputRows"] for each in read]
            operators = report["stateOperators"]
            # A trigger that finds no new rows reports under the number of the batch to come.
            if report["batchId"] > told["batch"] and sum(rows):
                counted = zip(names, rows, strict=False)
                told["batch"] = report["batchId"]
                told["in"] = {name: told["in"].get(name, 0) + count for name, count in counted}
                told["late"] += sum(each["numRowsDroppedByWatermark"] for each in operators)
            if operators:
                told["state_rows"] = sum(each["numRowsTotal"] for each in operators)
                told["state_bytes"] = sum(each["memoryUsedBytes"] for each in operators)
        if told != self.told:
            self.told = told
            self._save()

    def _save(self) -> None:
        names = ("batch", "stats", "before", "sums", "told")
        with self._saving:  # batches are written by one thread, reports heard by another
            write_json(self.file, {name: getattr(self, name) for name in names})

    @property
    def account(self) -> Account | SparkAccount:
        rows_out = self.sums.get("rows_out", 0)
        root = self.pipeline.root
        if not self._operators:
            copies = sum(counts.get("copies", 0) for counts in self._tables.values())
            made = of_select(sources_of(root)[0].name, self.sums, rows_out, copies)
            made.tables = self._tables
            return made
        if self.by_spark:
            state = {what: self.told.get(what, 0) for what in ("state_rows", "state_bytes")}
            return SparkAccount(self.told.get("in", {}), self.told.get("late", 0), rows_out, state)
        names = input_names(root)
        account = of_operators(names, derived_names(root, names), self.stats, rows_out)
        account.tables = self._tables
        return account

    @property
    def _tables(self) -> dict[str, dict[str, int]]:
        """What was asked of each table."""
        found: dict[str, dict[str, int]] = {}
        for key, count in self.sums.items():
            name, slash, what = key.rpartition("/")
            if slash:
                found.setdefault(name, {})[what] = count
        return found

    @property
    def by_spark(self) -> bool:
        """Is state kept by an operator of Spark's own, of which only Spark can tell?"""
        return bool(self._operators) and choose_engine(self.pipeline)[0] is Engine.NATIVE

    @property
    def _operators(self) -> tuple[Operator, ...]:
        return operators_of(self.pipeline.root)

    @property
    def ended(self) -> bool:
        """Has the input ended, as far as the state knows?"""
        return bool(self.stats) and all(each["after"] >= END_OF_TIME for each in self.stats)

    @property
    def watermarks(self) -> dict[str, int | None]:
        """The watermark of each input: greatest time less delay; None before its first row."""
        if not self.stats:
            return {}
        tops: dict[str, int] = {}
        for each in self.stats:
            tops |= each["tops"]
        found = {}
        for operator, names in zip(self._operators, input_names(self.pipeline.root), strict=True):
            for side, name in zip(inputs_of(operator), names, strict=True):
                top = tops.get(name, BEGIN_OF_TIME)
                found[name] = top - side.delay if top > BEGIN_OF_TIME else None
        return found
