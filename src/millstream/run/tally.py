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
from typing import Any

from millstream.observe.account import Account, SparkAccount, input_names, of_join, of_select
from millstream.plan.check import choose_engine
from millstream.plan.nodes import Engine, IntervalJoin, Pipeline
from millstream.plan.walk import joins_of, sources_of
from millstream.run.checkpoint import write_json
from millstream.temporal import BEGIN_OF_TIME, END_OF_TIME


@dataclass(slots=True)
class Tally:
    pipeline: Pipeline
    file: Path
    batch: int = -1
    stats: list[dict[str, Any]] = field(default_factory=list)
    before: dict[str, int] = field(default_factory=dict)  # sums up to the batch before the last
    sums: dict[str, int] = field(default_factory=dict)
    told: dict[str, Any] = field(default_factory=dict)  # by Spark, of its own join

    @classmethod
    def open(cls, pipeline: Pipeline, file: Path) -> Tally:
        if not file.exists():
            return cls(pipeline, file)
        held = json.loads(file.read_text(encoding="utf-8"))
        return cls(pipeline, file, **held)

    def add(self, batch: int, stats: list[dict[str, Any]], rows_out: int) -> None:
        if batch > self.batch:
            self.before, self.batch = self.sums, batch
        added = {"rows_out": rows_out}
        if self._join is None:
            for each in stats:
                for tally in each["tally"].values():
                    for what, count in tally.items():
                        added[what] = added.get(what, 0) + count
        elif stats:
            self.stats = stats
        self.sums = {
            what: self.before.get(what, 0) + added.get(what, 0) for what in {*self.before, *added}
        }
        self._save()

    def hear(self, reports: Iterable[Mapping[str, Any]]) -> None:
        """Take in what Spark reports of micro-batches, oldest first; each counts once."""
        heard = False
        names = [source.name for source in sources_of(self.pipeline.root)]
        for report in reports:
            rows = [
                s["numInputRows"] for s in report["sources"] if "/control]" not in s["description"]
            ]
            if report["batchId"] <= self.told.get("batch", -1) or not sum(rows):
                continue
            heard = True
            counted = self.told.get("in", {})
            operators = report["stateOperators"]
            dropped = sum(each["numRowsDroppedByWatermark"] for each in operators)
            self.told = {
                "batch": report["batchId"],
                "in": {n: counted.get(n, 0) + r for n, r in zip(names, rows, strict=False)},
                "late": self.told.get("late", 0) + dropped,
                "state_rows": sum(each["numRowsTotal"] for each in operators),
                "state_bytes": sum(each["memoryUsedBytes"] for each in operators),
            }
        if heard:
            self._save()

    def _save(self) -> None:
        names = ("batch", "stats", "before", "sums", "told")
        write_json(self.file, {name: getattr(self, name) for name in names})

    @property
    def account(self) -> Account | SparkAccount:
        rows_out = self.sums.get("rows_out", 0)
        if self._join is None:
            return of_select(sources_of(self.pipeline.root)[0].name, self.sums, rows_out)
        if self.by_spark:
            state = {what: self.told.get(what, 0) for what in ("state_rows", "state_bytes")}
            return SparkAccount(self.told.get("in", {}), self.told.get("late", 0), rows_out, state)
        return of_join(input_names(self._join), self.stats, rows_out)

    @property
    def by_spark(self) -> bool:
        """Is this a join of Spark's own, of which only Spark can tell?"""
        return self._join is not None and choose_engine(self.pipeline)[0] is Engine.NATIVE

    @property
    def _join(self) -> IntervalJoin | None:
        joins = joins_of(self.pipeline.root)
        return joins[0] if joins else None

    @property
    def ended(self) -> bool:
        """Has the input ended, as far as the state knows?"""
        return bool(self.stats) and self.stats[0]["after"] >= END_OF_TIME

    @property
    def watermarks(self) -> dict[str, int | None]:
        """The watermark of each input: its greatest time less its delay; None if no row came yet."""
        if self._join is None or not self.stats:
            return {}
        tops = self.stats[0]["tops"]
        delays = (self._join.left.delay, self._join.right.delay)
        return {
            name: tops[name] - delay if tops[name] > BEGIN_OF_TIME else None
            for name, delay in zip(input_names(self._join), delays, strict=True)
        }
