"""Random pipelines over random rows, compared with DuckDB.

Without late rows, the result does not depend on micro-batches and restarts, and equals a batch
query over all rows. With late rows, a run with restarts must equal a run without, and an inner join
must not emit rows that are not in the batch query's result.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tests.fuzz.campaign import CaseResult, Finding, finding_of
from tests.fuzz.generate import SOURCES, TABLE, Pipeline, random_pipeline
from tests.fuzz.oracle import Bag, by_duckdb, difference, left_over
from tests.fuzz.streams import Data, Row, random_data

from millstream.errors import MillstreamError
from millstream.plan.build.job import build_job
from millstream.plan.facts.pipeline import derive_job_facts
from millstream.plan.nodes import Job

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ATTEMPTS = 60  # to find fewer rows that show the same
_WORDS = (
    *("WINDOW TUMBLING", "WINDOW SLIDING", "WINDOW SESSION", "ROW_NUMBER", "ROWS BETWEEN"),
    *("FULL JOIN", "LEFT JOIN", "RIGHT JOIN", "SEMI JOIN", "ANTI JOIN", "SYSTEM_TIME"),
    *("BETWEEN l.", "DISTINCT", "HAVING", "EMIT CHANGES", "forever"),
)


@dataclass(frozen=True, slots=True)
class Case:
    pipeline: Pipeline
    data: Data
    table: list[Row]
    restarts: list[int]
    late: bool

    def __str__(self) -> str:
        sizes = {
            name: [len(batch) for batch in batches] for name, batches in self.data.batches.items()
        }
        return (
            f"{self.pipeline.queries}\n  batches {sizes}, restarts {self.restarts}, "
            f"late {self.late}"
        )


@dataclass(slots=True)
class PipelineFuzzer:
    name: str = "pipelines"
    verbose: bool = False  # shows the case, and reduces it if something is found
    spark: SparkSession | None = None

    def try_case(self, seed: int) -> CaseResult:
        case = case_of(seed)
        if self.verbose:
            print(case, "\noracle:", *case.pipeline.views, case.pipeline.query, sep="\n")
        tried = self._try(case)
        if self.verbose and tried.finding:
            self._reduce(case, tried.finding)
        return tried

    def _try(self, case: Case) -> CaseResult:
        try:
            job = build_job(case.pipeline.sql)
            derive_job_facts(job)
        except MillstreamError as error:
            return CaseResult(f"rejected {error.code}")
        try:
            found = self._compare(case, job)
        except MillstreamError as error:
            finding = Finding(f"{error.code}: {_generic(error.cause)}", f"{case}\n  {error}")
            return CaseResult("failed", finding)
        except Exception as error:  # noqa: BLE001 -- any other error is a finding
            return CaseResult("crashed", finding_of(error, str(case)))
        if found:
            kind = ", ".join(word for word in _WORDS if word in case.pipeline.queries)
            return CaseResult("different", Finding(f"wrong rows: {kind}", f"{case}\n{found}"))
        return CaseResult("equal")

    def _compare(self, case: Case, job: Job) -> str:
        tables = {**{name: case.data.rows(name) for name in SOURCES}, TABLE: case.table}
        wanted = by_duckdb(tables, case.pipeline.views, case.pipeline.query)
        first = self._run(case, job, case.restarts)
        if not case.late:
            return difference(first, wanted)
        others = [n for n in range(1, case.data.count) if n not in case.restarts]
        again = self._run(case, job, others)
        if first != again:
            return f"restarts change the result:\n{difference(first, again)}"
        if case.pipeline.grows and first - wanted:
            return f"rows that no batch query has:\n{difference(first, wanted & first)}"
        return ""

    def _run(self, case: Case, job: Job, restarts: list[int]) -> Bag:
        from tests.fuzz.on_spark import OnSpark

        rows, errors = OnSpark(self._spark(), job, case.data, case.table).run(restarts)
        if errors:
            raise AssertionError(f"the ledger is not balanced: {errors}")
        return left_over(rows)

    def _reduce(self, case: Case, finding: Finding) -> None:
        """Print a smaller case that shows the same, found by leaving out rows."""
        left = ATTEMPTS
        progress = True
        while progress and left > 0:
            progress = False
            for smaller in _smaller(case):
                left -= 1
                again = self._try(smaller).finding
                if again and again.signature == finding.signature:
                    case, finding, progress = smaller, again, True
                    break
                if left <= 0:
                    break
        print("reduced:", finding.detail)
        for name, batches in case.data.batches.items():
            for number, batch in enumerate(batches):
                for row in batch:
                    print(f"  {name}, batch {number}: {row}")

    def _spark(self) -> SparkSession:
        if self.spark is None:
            from millstream.engine.runtime.session import local_session

            self.spark = local_session()
        return self.spark


def case_of(seed: int) -> Case:
    rng = random.Random(f"pipeline {seed}")
    late = rng.random() < 0.12
    pipeline = random_pipeline(rng)
    data = random_data(rng, SOURCES, late=late, ties=pipeline.ties)
    table = random_data(rng, (TABLE,)).rows(TABLE)[:12]
    restarts = [n for n in range(1, data.count) if rng.random() < 0.3]
    return Case(pipeline, data, table, restarts, late)


def _smaller(case: Case) -> Iterator[Case]:
    """Without restarts, without half of a stream's rows, at last without one of them."""
    if case.restarts:
        yield replace(case, restarts=[])
    for parts in (1, 2, 4, 16):
        for name, batches in case.data.batches.items():
            rows = case.data.rows(name)
            size = -(-len(rows) // parts)
            for start in range(0, len(rows), size or 1):
                gone = {id(row) for row in rows[start : start + size]}
                remaining = [[row for row in batch if id(row) not in gone] for batch in batches]
                yield replace(case, data=Data({**case.data.batches, name: remaining}))


def _generic(cause: str) -> str:
    """A cause without the values that differ from case to case."""
    return "".join("#" if letter.isdigit() else letter for letter in cause)[:160]
