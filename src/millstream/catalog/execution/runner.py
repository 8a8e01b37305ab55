"""Activates, runs and replays projects."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from pyspark.sql import SparkSession

from millstream.catalog.execution.environment import environment_of, session_with
from millstream.catalog.execution.failures import run_errors
from millstream.catalog.execution.inputs import datasets_of, require_unchanged, verify
from millstream.catalog.execution.lease import LEASE_SECONDS, LOST, LeaseKeeper, new_owner
from millstream.catalog.execution.output import (
    check_replaceable,
    output_path,
    reject_other_project,
    replace_output,
    staging_folder,
    write_rows,
)
from millstream.catalog.execution.resolver_registry import ResolverRegistry
from millstream.catalog.execution.result_frame import result_frame
from millstream.catalog.execution.result_hash import ObservedRows
from millstream.catalog.execution.snapshot import SnapshotBuilder, choose_versions
from millstream.catalog.execution.validation import validate
from millstream.catalog.lookup import require_period, require_project, require_run
from millstream.catalog.model import (
    CatalogReader,
    CatalogWriter,
    Project,
    ProjectStatus,
    ResolverSnapshot,
    Run,
    RunEnvironment,
    RunFailure,
    RunResult,
    RunStatus,
)
from millstream.errors import MillstreamError, ProjectError, ProjectRunError


@dataclass(frozen=True, slots=True)
class ProjectRunner:
    """Executes projects of a catalog on Spark. Relative output locations start at `base`."""

    spark: SparkSession
    reader: CatalogReader
    writer: CatalogWriter
    resolvers: ResolverRegistry
    base: Path
    lease_seconds: float = LEASE_SECONDS
    owner: str = field(default_factory=new_owner)

    def activate(self, name: str) -> Project:
        """Validates a project and makes it active. Raises InvalidProjectError."""
        project = require_project(self.reader, name)
        validate(self.spark, self.reader, project, self.resolvers, self.base)
        return self.writer.activate_project(project.name, project.revision)

    def run(self, name: str, period: str, *, verify_content: bool = False) -> Run:
        """Executes an active project for a period, and replaces its output."""
        with self.reader.at_one_time() as reader:
            project = require_project(reader, name)
            found = require_period(reader, period)
            if project.status is not ProjectStatus.ACTIVE:
                raise ProjectError(
                    "MS-PROJECT-DRAFT",
                    f"project {project.name} is not active.",
                    fix=f"Validate it first: millstream project activate {project.name}",
                )
            # Datasets and versions can have changed since the project was activated. Spark checks
            # types when it plans the run.
            validate(None, reader, project, self.resolvers, self.base)
            chosen = choose_versions(reader, project)
        path = output_path(project.output, self.base, found.identifier)
        check_replaceable(path)
        reject_other_project(path, project.name, self.reader)
        run = self.writer.create_run(
            project=project.name,
            project_revision=project.revision,
            period=found.identifier,
            owner=self.owner,
            lease_seconds=self.lease_seconds,
            output=str(path),
        )
        with self._lease(run) as lease, self._recorded_failure(run):
            snapshot = SnapshotBuilder(
                self.resolvers, project, found, environment_of(self.spark)
            ).build(chosen)
            self.writer.record_snapshot(run.id, self.owner, snapshot)
            result = self._write(run, snapshot, path, lease, verify_content=verify_content)
        # The output is replaced, so the run has not failed. If this cannot be recorded now, the run
        # counts as succeeded when its lease expires.
        return self.writer.finish_run(run.id, self.owner, result)

    def replay(self, run_id: UUID, *, verify_content: bool = False) -> Run:
        """Executes a run again from its snapshot and compares the results. Writes no output."""
        original = self._require_replayable(run_id)
        snapshot, expected = original.snapshot, original.result
        assert snapshot is not None
        assert expected is not None
        run = self.writer.create_run(
            project=original.project,
            project_revision=original.project_revision,
            period=original.period,
            owner=self.owner,
            lease_seconds=self.lease_seconds,
            replay_of=original.id,
        )
        with self._lease(run), self._recorded_failure(run):
            self.writer.record_snapshot(run.id, self.owner, snapshot)
            verified = verify(snapshot, content=verify_content)
            spark = session_with(self.spark, snapshot.environment)
            observed = ObservedRows(result_frame(spark, run.project, snapshot))
            observed.rows.write.format("noop").mode("overwrite").save()
            require_unchanged(verified)
            result = _result(observed, expected.location)
            if result.content_hash != expected.content_hash:
                before = snapshot.environment
                raise _differs(original, result, expected, before, environment_of(spark))
            return self.writer.finish_run(run.id, self.owner, result)

    def _write(
        self,
        run: Run,
        snapshot: ResolverSnapshot,
        path: Path,
        lease: LeaseKeeper,
        *,
        verify_content: bool,
    ) -> RunResult:
        verified = verify(snapshot, content=verify_content)
        observed = ObservedRows(result_frame(self.spark, run.project, snapshot))
        with staging_folder(path, run.id) as staged:
            write_rows(observed.rows, snapshot.output.format, staged, run.id)
            require_unchanged(verified)
            result = _result(observed, str(path))
            lease.require()
            self.writer.record_result(run.id, self.owner, result)
            replace_output(staged, path)
        return result

    def _lease(self, run: Run) -> LeaseKeeper:
        return LeaseKeeper(self.writer, run.id, self.owner, self.lease_seconds)

    @contextmanager
    def _recorded_failure(self, run: Run) -> Iterator[None]:
        """Records why a run failed."""
        try:
            with run_errors():
                yield
        except MillstreamError as error:
            self._fail(run, RunFailure(error.code, str(error)), error)
            raise
        except KeyboardInterrupt as error:
            self._fail(run, RunFailure("MS-PROJECT-FAILED", "The run was interrupted."), error)
            raise
        except BaseException as error:
            self._fail(run, RunFailure("MS-PROJECT-FAILED", type(error).__name__), error)
            raise

    def _fail(self, run: Run, failure: RunFailure, cause: BaseException) -> None:
        try:
            self.writer.fail_run(run.id, self.owner, failure)
        except MillstreamError as error:
            if error.code != LOST:  # else the run counts as failed already
                cause.add_note(f"The failure of the run {run.id} was not recorded: {error}")

    def _require_replayable(self, run_id: UUID) -> Run:
        run = require_run(self.reader, run_id)
        if run.status is not RunStatus.SUCCEEDED or run.snapshot is None or run.result is None:
            raise ProjectError(
                "MS-PROJECT-REPLAY-STATUS",
                f"run {run_id} has no result that a replay could be compared with: it is "
                f"{run.status}.",
                fix="Replay a run that succeeded.",
            )
        changing = [each for each in datasets_of(run.snapshot) if not each.reproducible]
        if changing:
            names = ", ".join(f"{each.dataset_name} v{each.dataset_version}" for each in changing)
            raise ProjectError(
                "MS-PROJECT-NOT-REPRODUCIBLE",
                f"run {run_id} has read rows that can have changed since: {names}.",
                fix="Export the tables to Parquet, publish the files, and run the project again.",
            )
        return run


def _result(observed: ObservedRows, location: str) -> RunResult:
    return RunResult(
        location=location,
        content_hash=observed.content_hash(),
        row_count=observed.count(),
        schema=observed.schema,
    )


def _differs(
    run: Run, found: RunResult, expected: RunResult, before: RunEnvironment, now: RunEnvironment
) -> ProjectRunError:
    versions = "" if now == before else f" The run used {_versions(before)}; now: {_versions(now)}."
    return ProjectRunError(
        "MS-PROJECT-REPLAY",
        f"the replay of run {run.id} has another result: {found.row_count:,} rows "
        f"({found.content_hash}), before {expected.row_count:,} rows ({expected.content_hash})."
        f"{versions}",
        fix="Use the versions of the run. --verify compares the content of all input files."
        if versions
        else "--verify compares the content of all input files.",
    )


def _versions(environment: RunEnvironment) -> str:
    return f"Spark {environment.spark_version}, Millstream {environment.millstream_version}"
