"""Runs a stream with the exactly-once sinks, the checkpoint and the ledger of a job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from millstream.api.datasets import versions_of
from millstream.api.display import Text
from millstream.api.frames import pipeline_of, session_of
from millstream.api.plan_steps import Names, Step, datasets_of, names_of, with_versions
from millstream.api.sources import SourceFrame
from millstream.api.tables import DATAFRAME, properties_text, read_rows
from millstream.api.values import Duration, span_text
from millstream.engine.runtime.user_session import check_state_store
from millstream.engine.shuffle.control_stream import has_ended
from millstream.errors import PlanError, StateError
from millstream.observe.ledger import Ledger, SparkLedger
from millstream.observe.ledger_text import format_ledger
from millstream.plan.build.job import build_sink
from millstream.plan.build.query_groups import choose_query_engine, group_into_queries
from millstream.plan.build.union_branches import branch_pipelines
from millstream.plan.facts.output_groups import query_operators
from millstream.plan.nodes import Engine, Job, Pipeline, ReferenceTable, SinkDef, Source
from millstream.plan.nodes.traversal import operators_of, with_sources
from millstream.run.checkpoint import Checkpoint, locked
from millstream.run.dataset_versions import record_versions, recorded_versions
from millstream.run.outputs import reject_foreign_files
from millstream.run.progress import Progress, progress_of
from millstream.run.resumed_changes import describe_resumed_changes
from millstream.run.runner import Runner
from millstream.run.settings import RunSettings, settings_of
from millstream.suggestions import nearest
from millstream.temporal import LateAction

_PATIENCE = 30.0  # seconds


@dataclass(frozen=True, slots=True, repr=False)
class Sink:
    """A sink for `Stream.write`, made by `sink`.

    Example:
        >>> ms.sink("console")
        Sink(connector = console)
    """

    properties: tuple[tuple[str, str], ...]

    def __repr__(self) -> str:
        return f"Sink({properties_text(self.properties)})"


def sink(
    connector: str, *, properties: Mapping[str, str] | None = None, **options: str | Path
) -> Sink:
    """Describes a sink as CREATE SINK does.

    Args:
        connector: "file", "console", …
        properties: Properties whose names are not words of Python, such as "partition.by".
        **options: Other properties, such as `path` and `format`.

    Returns:
        A sink for `Stream.write`. Its repr has no passwords.

    Example:
        >>> ms.sink("file", path="out", format="parquet", properties={"partition.by": "country"})
        Sink(connector = file, path = out, format = parquet, partition.by = country)
    """
    given = {"connector": connector, **options, **(properties or {})}
    return Sink(tuple((name, str(value)) for name, value in given.items()))


class StreamRun:
    """A run that `Stream.write` started. Used in a `with` statement, it is stopped at the end.

    Example:
        >>> with orders.write(ms.sink("noop"), checkpoint=folder / "run", once=True) as run:
        ...     ended = run.wait()
        >>> run.active
        False
    """

    __slots__ = ("_at_start", "_pipeline", "_runner")

    def __init__(self, runner: Runner, pipeline: Pipeline, warnings: Sequence[str] = ()) -> None:
        self._runner = runner
        self._pipeline = pipeline
        self._at_start = warnings

    def wait(self, seconds: float | None = None) -> bool:
        """Waits until the run has ended.

        Args:
            seconds: How long to wait at most; by default until the end.

        Returns:
            Whether it has ended.

        Raises:
            MillstreamError: The run has failed.

        Example:
            >>> run = orders.write(ms.sink("noop"), checkpoint=folder / "wait", once=True)
            >>> run.wait()
            True
        """
        if seconds is not None:
            ended = self._runner.done(seconds)
        else:
            while not (ended := self._runner.done(1.0)):
                pass  # so that Ctrl-C is noticed
        if ended and self._runner.error is not None:
            raise self._runner.error
        return ended

    def stop(self) -> None:
        """Stops the run. A batch in progress is given up; the next run processes it again.

        Example:
            >>> run = orders.write(ms.sink("noop"), checkpoint=folder / "stop")
            >>> run.stop()
            >>> run.active
            False
        """
        if self.active:
            self._runner.stop()
            self._runner.done(_PATIENCE)  # it may still be starting

    @property
    def active(self) -> bool:
        """Whether the run has not ended yet.

        Example:
            >>> with orders.write(ms.sink("noop"), checkpoint=folder / "active") as run:
            ...     run.active
            True
        """
        return not self._runner.done(0)

    @property
    def phase(self) -> str:
        """What the run is doing: "starting queries", "running", …

        Example:
            >>> run = orders.write(ms.sink("noop"), checkpoint=folder / "phase", once=True)
            >>> isinstance(run.phase, str) and run.wait()
            True
        """
        return self._runner.phase

    @property
    def warnings(self) -> list[str]:
        """The warnings so far, oldest first.

        Example:
            >>> run = orders.write(ms.sink("noop"), checkpoint=folder / "warnings", once=True)
            >>> run.wait() and run.warnings
            []
        """
        return [*self._at_start, *(self._runner.run.warnings if self._runner.run else ())]

    @property
    def query(self) -> StreamingQuery | None:
        """Spark's query; None before it has started.

        Example:
            >>> run = orders.write(ms.sink("noop"), checkpoint=folder / "query", once=True)
            >>> run.wait() and run.query.isActive
            False
        """
        running = self._runner.run.running if self._runner.run else []
        return running[0].streaming_query if running else None

    @property
    def ledger(self) -> Ledger | SparkLedger | None:
        """How many rows each operator read, and what happened to them; None before the start.

        Example:
            >>> run = orders.write(ms.sink("noop"), checkpoint=folder / "ledger", once=True)
            >>> run.wait() and run.ledger.total_in
            2
        """
        running = self._runner.run.running if self._runner.run else []
        if not running:
            return None
        with suppress(Py4JError, PySparkException, OSError):
            running[0].update_ledger()
        return running[0].ledger_store.ledger

    @property
    def progress(self) -> Progress | None:
        """The last batch, watermarks and size of state; None before the start.

        Example:
            >>> run = orders.write(ms.sink("noop"), checkpoint=folder / "progress", once=True)
            >>> run.wait() and run.progress.rows_in
            2
        """
        running = self._runner.run.running if self._runner.run else []
        with suppress(Py4JError, PySparkException, OSError):
            return progress_of(running[0]) if running else None
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        head = f"StreamRun {self._pipeline.name}: {self.phase if self.active else 'ended'}"
        ledger = self.ledger
        return head if ledger is None else f"{head}\n{format_ledger(self._pipeline.name, ledger)}"

    def _repr_html_(self) -> str:
        return Text(repr(self))._repr_html_()


def start_run(
    root: Step | SourceFrame,
    names: Names,
    to: str | Path | Sink,
    checkpoint: Path,
    *,
    name: str,
    mode: str | None,
    late: Mapping[str, str | Path | Sink],
    dead_letters: Mapping[str, str | Path | Sink],
    every: Duration | None,
    once: bool,
    flush: bool,
    engine: str,
    key_groups: int | None,
    on_error: str | None,
) -> StreamRun:
    """Starts a job of one pipeline in a thread of its own."""
    if every is not None and (once or flush):
        given = "once" if once else "flush"
        raise PlanError(
            "MS-PROP-TRIGGER",
            f"`every` and `{given}` exclude each other: a run with `{given}` ends after the "
            "available input.",
            fix="Leave one out.",
        )
    if datasets := datasets_of([root]):
        assert isinstance(root, Step)
        # A run keeps the versions of datasets that its checkpoint began with.
        recorded = recorded_versions(checkpoint.absolute()).chosen
        root = with_versions(root, {**versions_of(datasets).chosen, **recorded})
        names = names_of(root)
    pipeline = pipeline_of(
        root, names, engine=engine, mode=mode, sink=_sink(name, to), on_error=on_error
    )
    versions = versions_of(datasets_of([root]))
    job = _job(pipeline, names, late, dead_letters, key_groups)
    settings = settings_of(
        job,
        Path.cwd() / "query.py",  # only its folder is used: relative paths start there
        checkpoint=checkpoint.absolute(),
        once=once or flush,
        flush=flush,
        every=None if every is None else span_text(every),
    )
    with ExitStack() as stack:
        stack.enter_context(locked(settings.checkpoint))
        spark = session_of(names)
        _check(spark, job, settings)
        changed = record_versions(settings.checkpoint, versions)
        changed += describe_resumed_changes(job, settings)
        runner = Runner(
            job,
            settings,
            lambda: spark,
            sources=lambda _, source: _frame_of(source, names),
            read_table=lambda table: _rows_of(spark, table, names),
            at_end=stack.pop_all().close,
        )
    runner.start()
    return StreamRun(runner, job.pipelines[0], changed)


def _sink(name: str, given: str | Path | Sink) -> SinkDef:
    made = given if isinstance(given, Sink) else sink("file", path=given, format="json")
    return build_sink(name, dict(made.properties))


def _job(
    pipeline: Pipeline,
    names: Names,
    late: Mapping[str, str | Path | Sink],
    dead_letters: Mapping[str, str | Path | Sink],
    key_groups: int | None,
) -> Job:
    side_outputs = [
        operator.late.sink or "late"
        for operator in operators_of(pipeline.root)
        if operator.late.action is LateAction.SIDE_OUTPUT
    ]
    _reject_unknown(late, side_outputs, "side output")
    diverts = pipeline.errors.diverts
    known = [*names.sources, *([pipeline.name] if diverts else [])]
    _reject_unknown(dead_letters, known, "source")
    sinks = [pipeline.sink, *(_sink(key, to) for key, to in late.items())]
    rejected = {key: f"{key}-dead-letters" for key in dead_letters}
    sinks += [_sink(rejected[key], to) for key, to in dead_letters.items()]
    settings = () if key_groups is None else (("key_groups", str(key_groups)),)
    if len({each.name.lower() for each in sinks}) < len(sinks):
        raise PlanError(
            "MS-PLAN-SHARED-SINK",
            f"the sink {pipeline.name} and a side output have the same name.",
            fix="Give write() another `name`.",
        )
    if diverts and pipeline.name in rejected and pipeline.name not in names.sources:
        policy = replace(pipeline.errors, sink=rejected[pipeline.name])
        pipeline = replace(pipeline, errors=policy)
    job = Job(branch_pipelines(pipeline), tuple(sinks), settings)
    return with_sources(job, lambda source: replace(source, dead_letter=rejected.get(source.name)))


def _reject_unknown(given: Mapping[str, object], known: list[str], what: str) -> None:
    for name in given:
        if name not in known:
            raise PlanError(
                "MS-PLAN-UNKNOWN-SINK",
                f"{name} is not a {what} of the query.",
                fix=nearest(name, known) or f"The query has no {what}.",
            )


def _check(spark: SparkSession, job: Job, settings: RunSettings) -> None:
    """Rejects what can be rejected before the query starts."""
    [query] = group_into_queries(job)
    if query_operators(query) and choose_query_engine(query)[0] is Engine.COLUMNAR:
        check_state_store(spark)
    folder = Checkpoint(settings.checkpoint / query.name)
    folder.check(query, job.sinks)
    flushed = folder.ended or (has_ended(folder.control) and not settings.flush)
    if query_operators(query) and flushed:
        raise StateError(
            "MS-STATE-ENDED",
            f"an earlier run with flush=True ended the input of {folder.folder}: every row that "
            "arrives now would be late.",
            fix="Use another checkpoint. Leave flush out of runs that are to be resumed.",
        )
    reject_foreign_files(job, settings)


def _frame_of(source: Source, names: Names) -> DataFrame | None:
    """Returns the DataFrame of a source; None for the versioned table of a dataset."""
    return names.sources[source.name].frame if source.connector == DATAFRAME else None


def _rows_of(spark: SparkSession, table: ReferenceTable, names: Names) -> pa.Table:
    """Returns the rows of a table that workers have whole."""
    if table.connector != DATAFRAME:
        return read_rows(spark, table)
    frame = names.tables[table.name].frame
    assert frame is not None
    return frame.toArrow()
