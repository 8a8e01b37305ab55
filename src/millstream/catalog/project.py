"""Projects in Python: activate, run and replay."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from millstream.catalog.model import CatalogReader, CatalogWriter, Project, Run
from millstream.errors import ProjectError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.catalog.execution.resolvers import Resolvers
    from millstream.catalog.execution.runner import ProjectRunner


# Joins of files gain by adaptive execution; only streams must do without.
SPARK = {"spark.sql.adaptive.enabled": "true"}


@dataclass(frozen=True, slots=True)
class CatalogProject:
    """A project of a catalog.

    Without `spark`, the active session is used, or one is started. Relative paths of outputs and
    resolvers begin at `base`, by default the working directory.
    """

    name: str
    reader: CatalogReader
    writer: CatalogWriter
    spark: SparkSession | None = None
    base: Path = field(default_factory=Path.cwd)
    resolvers: Resolvers | None = None

    def activate(self) -> Project:
        """Validates the project and makes it active. Raises InvalidProjectError, whose `problems`
        are all that is wrong."""
        return self._runner().activate(self.name)

    def run(self, period: str, *, verify: bool = False) -> Run:
        """Executes the project for a period and replaces its output. With `verify`, the content of
        all files is hashed first."""
        return self._runner().run(self.name, period, verify_content=verify)

    def replay(self, run: Run | UUID | str, *, verify: bool = False) -> Run:
        """Executes a run again with the versions it has recorded. Raises MS-PROJECT-REPLAY if the
        result is another one."""
        run_id = run.id if isinstance(run, Run) else _run_id(run)
        return self._runner().replay(run_id, verify_content=verify)

    def runs(self, period: str | None = None) -> list[Run]:
        """Returns the runs and replays of the project, the newest first."""
        return self.reader.runs(project=self.name, period=period)

    def _runner(self) -> ProjectRunner:
        from millstream.catalog.execution.resolvers import Resolvers
        from millstream.catalog.execution.runner import ProjectRunner
        from millstream.spark.runtime.session import session

        spark = self.spark or session(SPARK)
        resolvers = self.resolvers or Resolvers(self.base)
        return ProjectRunner(spark, self.reader, self.writer, resolvers, self.base)


def _run_id(text: UUID | str) -> UUID:
    try:
        return UUID(str(text))
    except ValueError:
        raise ProjectError(
            "MS-PROJECT-RUN-UNKNOWN",
            f"{text!r} is not the ID of a run.",
            fix="List runs: millstream project runs",
        ) from None
