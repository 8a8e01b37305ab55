"""The account as batches go by, kept beside the checkpoint so that a restart goes on counting.

State counts for itself and exactly once, since counts live in it. What is counted outside it (rows
written, rows of stateless queries) is added batch by batch; a batch that is written again takes the
place of its first try.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from millstream.observe.account import Account, input_names, of_join, of_select
from millstream.plan.nodes import IntervalJoin, Pipeline
from millstream.plan.walk import joins_of, sources_of
from millstream.run.checkpoint import write_json


@dataclass(slots=True)
class Tally:
    pipeline: Pipeline
    file: Path
    batch: int = -1
    stats: list[dict[str, Any]] = field(default_factory=list)
    before: dict[str, int] = field(default_factory=dict)  # sums up to the batch before the last
    sums: dict[str, int] = field(default_factory=dict)

    @classmethod
    def open(cls, pipeline: Pipeline, file: Path) -> Tally:
        if not file.exists():
            return cls(pipeline, file)
        held = json.loads(file.read_text(encoding="utf-8"))
        return cls(pipeline, file, held["batch"], held["stats"], held["before"], held["sums"])

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
        held = {"batch": batch, "stats": self.stats, "before": self.before, "sums": self.sums}
        write_json(self.file, held)

    @property
    def account(self) -> Account:
        rows_out = self.sums.get("rows_out", 0)
        if self._join is None:
            return of_select(sources_of(self.pipeline.root)[0].name, self.sums, rows_out)
        return of_join(input_names(self._join), self.stats, rows_out)

    @property
    def _join(self) -> IntervalJoin | None:
        joins = joins_of(self.pipeline.root)
        return joins[0] if joins else None

    @property
    def watermarks(self) -> dict[str, int]:
        """The watermark of each input: its greatest time, less its delay, as the groups know it."""
        if self._join is None or not self.stats:
            return {}
        tops = self.stats[0]["tops"]
        delays = (self._join.left.delay, self._join.right.delay)
        return {
            name: tops[name] - delay
            for name, delay in zip(input_names(self._join), delays, strict=True)
        }
