"""Runs cases with a Spark that is started when the first of them needs it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from millstream.testing.case import Case, Engine
from millstream.testing.runner import Outcome

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(slots=True)
class LazyRunner:
    """Cases whose plan is refused are judged without Spark."""

    cores: int
    log: Path
    _spark: SparkSession | None = None
    _own: bool = False

    @classmethod
    @contextmanager
    def started(cls, cores: int) -> Iterator[LazyRunner]:
        with tempfile.TemporaryDirectory(prefix="millstream-test-") as folder:
            runner = cls(cores, Path(folder) / "spark.log")
            try:
                yield runner
            finally:
                if runner._spark is not None and runner._own:
                    runner._spark.stop()

    def run(self, case: Case, engine: Engine) -> Outcome:
        from millstream.errors import MillstreamError
        from millstream.plan.build import build_job
        from millstream.testing.sources import given_sources

        try:
            build_job(case.sql, variables=case.variables, sources=given_sources(case))
        except MillstreamError as error:
            return Outcome(error=error)
        from millstream.testing.spark_runner import SparkRunner

        return SparkRunner(self._session()).run(case, engine)

    def _session(self) -> SparkSession:
        from millstream.spark.session import active_session, local_session

        if self._spark is None:
            self._spark = active_session()
            self._own = self._spark is None
            if self._spark is None:
                self._spark = local_session(self.cores, log=self.log)
        return self._spark
