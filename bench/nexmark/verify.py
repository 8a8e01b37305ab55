"""Every query against the oracle: other seeds, sizes, orders and cuts into micro-batches.

The final rows, with all changes applied, must equal those of the oracle; every row must be
accounted for and none may be late.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl
import pyarrow as pa
from pyspark.sql import SparkSession

from bench.nexmark.differences import Difference, difference
from bench.nexmark.expected import answers
from bench.nexmark.options import Options
from bench.nexmark.suite import QUERIES, Query, job_of
from bench.nexmark.write import Data, Say, write
from millstream.connectors.memory import MemorySink
from millstream.connectors.registry import open_sink
from millstream.connectors.sink import Sink
from millstream.errors import MillstreamError
from millstream.observe.ledger import Ledger
from millstream.plan.installed_connectors import installed_connectors
from millstream.plan.nodes import Job, SinkDef
from millstream.run.job import JobRun

_SECOND = 1_000_000
_HALF_PAST_MIDNIGHT = 1_767_313_800 * _SECOND  # on 2026-01-02


@dataclass(frozen=True, slots=True)
class Shape:
    """How events arrive: `size` is how many of the requested ones, `cuts` the number of files,
    `together` how many of them make a micro-batch."""

    name: str
    rate: int = 2_000
    size: float = 1.0
    disorder: int = 0
    cuts: int = 4
    together: int = 1
    form: str = "parquet"
    over_midnight: bool = False

    def options(self, events: int, seed: int) -> Options:
        options = Options(max(50, int(events * self.size)), seed, self.rate, self.disorder)
        if self.over_midnight:
            begin = _HALF_PAST_MIDNIGHT - options.events * _SECOND // self.rate
            return replace(options, begin=begin)
        return options


SHAPES = {
    shape.name: shape
    for shape in (
        Shape("in-order"),
        # As late as the watermark allows, and every cut falls into the middle of it.
        Shape("out-of-order", size=1.5, disorder=4 * _SECOND, cuts=7),
        # An event a second: sessions end, auctions run for an hour, and the day turns.
        Shape("over-midnight", rate=1, disorder=4 * _SECOND, cuts=6, together=2, form="csv",
              over_midnight=True),
        Shape("at-once", size=0.5, disorder=_SECOND, cuts=3, together=3, form="json"),
    )
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Verdict:
    """`state` is passed, failed or skipped; `detail` says why."""

    query: str
    engine: str
    shape: str
    seed: int
    state: str
    detail: str = ""
    rows: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        text = f"{self.state.upper():7} {self.query:4} {self.engine:9} {self.seconds:5.1f} s"
        if self.state == "passed":
            return f"{text}  {self.rows:,} rows as expected"
        return "  ".join([text, self.detail.replace("\n", "\n        ")])

    def as_data(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def verify(
    spark: SparkSession,
    queries: Sequence[Query],
    seeds: Sequence[int],
    shapes: Sequence[Shape],
    events: int,
    engines: Sequence[str],
    say: Say,
) -> Iterator[Verdict]:
    """One verdict a query, engine, seed and shape."""
    for seed in seeds:
        for shape in shapes:
            options = shape.options(events, seed)
            say(f"{shape.name}, seed {seed}: {options.events:,} events in {shape.cuts} files")
            with tempfile.TemporaryDirectory(prefix="millstream-nexmark-") as folder:
                data = write(options, Path(folder) / "data", files=shape.cuts, form=shape.form)
                expected = answers(data, queries, Path(folder) / "expected")
                for query in queries:
                    for engine in engines:
                        wanted = expected[query.name]
                        check = _Check(spark, query, engine, shape, data, wanted, Path(folder))
                        yield check.verdict()


@dataclass(slots=True)
class _Check:
    spark: SparkSession
    query: Query
    engine: str
    shape: Shape
    data: Data
    expected: pl.DataFrame
    folder: Path

    def verdict(self) -> Verdict:
        began = time.monotonic()
        try:
            job = job_of(
                self.query, self.data, self._out, files=self.shape.together, engine=self.engine
            )
        except MillstreamError as error:
            state = "skipped" if error.code == "MS-PLAN-ENGINE" else "failed"
            return self._said(state, str(error))
        try:
            came, wrong = self._run(job)
        except MillstreamError as error:
            return self._said("failed", str(error))
        differs = self._difference(came)
        detail = "\n".join([*wrong, *([str(differs)] if differs else [])])
        state = "failed" if detail else "passed"
        verdict = self._said(state, detail)
        return replace(
            verdict, rows=self.expected.height, seconds=round(time.monotonic() - began, 1)
        )

    def _said(self, state: str, detail: str) -> Verdict:
        return Verdict(
            self.query.name, self.engine, self.shape.name, self.data.options.seed, state, detail
        )

    @property
    def _out(self) -> Path:
        return self.folder / f"{self.query.name}-{self.engine}" / "out"

    def _run(self, job: Job) -> tuple[pl.DataFrame, list[str]]:
        """The rows that came, and what is wrong with the ledger of them."""
        collected = MemorySink()
        run = JobRun(
            self.spark,
            job,
            checkpoint=self._out.with_name("checkpoint"),
            base=self.folder,
            sinks=lambda sink: collected if sink.connector == "noop" else self._sink(sink),
        )
        try:
            run.start({"processingTime": "0 seconds"})
            run.process_available()
            run.flush()
        finally:
            run.stop()
        wrong = []
        for each in run.running:
            ledger = each.ledger_store.ledger
            if isinstance(ledger, Ledger):
                wrong += ledger.errors
                late = sum(side["late"] for side in ledger.inputs)
                wrong += [f"{late} rows were late"] if late else []
        came = (
            pl.DataFrame(pa.concat_tables(collected.tables))
            if collected.tables
            else self._partitions()
        )
        return came, wrong

    def _sink(self, sink: SinkDef) -> Sink:
        """The files of query 10; dead letters and late rows, of which there are none."""
        if sink.connector == "memory":
            return MemorySink()
        return open_sink(installed_connectors(), sink, self.folder)

    def _partitions(self) -> pl.DataFrame:
        """What query 10 wrote, with what the names of its folders say."""
        frames = []
        for path in sorted(self._out.glob("*/*/*.csv")):
            folders = (unquote(part.name).split("=", 1) for part in (path.parents[1], path.parent))
            said = [pl.lit(value).alias(name) for name, value in folders]
            rows = pl.read_csv(path, schema_overrides={"dateTime": pl.String})
            time = pl.col("dateTime").str.to_datetime(time_unit="us", time_zone="UTC")
            frames.append(rows.with_columns(time, *said))
        return pl.concat(frames)

    def _difference(self, came: pl.DataFrame) -> Difference:
        if self.query.name == "q12":
            # The window of a bid depends on processing time; that each is counted once does not.
            came = came.group_by("bidder").agg(pl.col("bid_count").sum())
        return difference(self.expected, came)


def chosen(names: Sequence[str]) -> list[Query]:
    return [QUERIES[name] for name in names]
