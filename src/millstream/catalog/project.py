"""Projects in Python: activate, run and replay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from millstream.catalog.model import CatalogReader, CatalogWriter, Project, Run
from millstream.errors import ProjectError
from millstream.suggestions import same

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.catalog.execution.built_in_resolvers import ResolverFactory
    from millstream.catalog.execution.runner import ProjectRunner


# Adaptive execution speeds up batch joins; streaming queries run without it.
SPARK = {"spark.sql.adaptive.enabled": "true"}


@dataclass(frozen=True, slots=True)
class CatalogProject:
    """A project of a catalog, as `Catalog.project` returns it.

    Without `spark`, the active session is used, or one is started. Relative paths of outputs and
    resolvers begin at `base`, by default the working directory. `resolvers` are those given in
    Python, by name.

    Example:
        >>> catalog.project("month-end").name
        'month-end'
    """

    name: str
    reader: CatalogReader
    writer: CatalogWriter
    spark: SparkSession | None = None
    base: Path = field(default_factory=Path.cwd)
    resolvers: Mapping[str, ResolverFactory] | None = None

    def activate(self) -> Project:
        """Validates the project and makes it active.

        Returns:
            The project. If it is not valid, InvalidProjectError has all `problems`.

        Example:
            >>> catalog.project("month-end").activate().status.value  # doctest: +SKIP
            'active'
        """
        return self._runner().activate(self.name)

    def run(self, period: str, *, verify: bool = False) -> Run:
        """Executes the project for a period and replaces its output.

        Args:
            period: The identifier of the period.
            verify: Hash the content of all files first, and not only compare sizes and times.

        Returns:
            The run with its snapshot and result.

        Example:
            >>> catalog.project("month-end").run("2026-01").result.row_count  # doctest: +SKIP
            4
        """
        return self._runner().run(self.name, period, verify_content=verify)

    def replay(self, run: Run | UUID | str, *, verify: bool = False) -> Run:
        """Executes a run of the project again with the versions that it has recorded.

        Args:
            run: The run or its ID.
            verify: Hash the content of all files first, and not only compare sizes and times.

        Returns:
            The replay. A result that differs is the error MS-PROJECT-REPLAY.

        Example:
            >>> project.replay(project.runs()[0]).status.value  # doctest: +SKIP
            'succeeded'
        """
        run_id = run.id if isinstance(run, Run) else parse_run_id(run)
        found = self.reader.find_run(run_id)
        if found is not None and not same(found.project, self.name):
            raise ProjectError(
                "MS-PROJECT-RUN-UNKNOWN",
                f"{run_id} is a run of the project {found.project}, not of {self.name}.",
                fix=f"List runs: millstream project runs {self.name}",
            )
        return self._runner().replay(run_id, verify_content=verify)

    def runs(self, period: str | None = None) -> list[Run]:
        """Lists the runs and replays of the project. Runs whose process is gone are failed.

        Args:
            period: Only those of the period with this identifier.

        Returns:
            The runs, the newest first.

        Example:
            >>> catalog.project("month-end").runs("2026-01")
            []
        """
        self.writer.expire_runs()
        return self.reader.runs(project=self.name, period=period)

    def _runner(self) -> ProjectRunner:
        from millstream.catalog.execution.resolver_registry import ResolverRegistry
        from millstream.catalog.execution.runner import ProjectRunner
        from millstream.engine.runtime.session import session

        spark = self.spark or session(SPARK)
        resolvers = ResolverRegistry(self.base).with_factories(self.resolvers or {})
        return ProjectRunner(spark, self.reader, self.writer, resolvers, self.base)


def parse_run_id(text: UUID | str) -> UUID:
    """Returns the ID of a run. Raises MS-PROJECT-RUN-UNKNOWN."""
    try:
        return UUID(str(text))
    except ValueError:
        raise ProjectError(
            "MS-PROJECT-RUN-UNKNOWN",
            f"{text!r} is not the ID of a run.",
            fix="List runs: millstream project runs",
        ) from None
