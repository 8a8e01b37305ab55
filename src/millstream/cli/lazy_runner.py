"""Runs test cases and starts Spark when the first of them needs it."""

from __future__ import annotations

import atexit
import shutil
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
    """Runs cases; those whose plan is rejected need no Spark. All files are below `folder`."""

    cores: int
    folder: Path
    _spark: SparkSession | None = None
    _own: bool = False

    @classmethod
    @contextmanager
    def started(cls, cores: int) -> Iterator[LazyRunner]:
        runner = cls(cores, Path(tempfile.mkdtemp(prefix="millstream-test-")))
        # An interrupt exits the process while the thread that runs the cases is still active.
        atexit.register(runner.close)
        try:
            yield runner
        finally:
            runner.close()
            atexit.unregister(runner.close)

    def close(self) -> None:
        """Stops Spark, which writes to the folder until then, and removes the folder."""
        if self._spark is not None and self._own:
            from millstream.engine.runtime.jvm import end_jvm

            end_jvm()
            self._spark = None
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, case: Case, engine: Engine) -> Outcome:
        from millstream.errors import MillstreamError
        from millstream.testing.sources import case_job

        try:
            case_job(case)
        except MillstreamError as error:
            return Outcome(error=error)
        from millstream.testing.spark_runner import SparkRunner

        return SparkRunner(self._session(), self.folder).run(case, engine)

    def _session(self) -> SparkSession:
        from millstream.engine.runtime.jvm import active_session
        from millstream.engine.runtime.session import local_session

        if self._spark is None:
            self._spark = active_session()
            self._own = self._spark is None
            if self._spark is None:
                self._spark = local_session(self.cores, log=self.folder / "spark.log")
        return self._spark
