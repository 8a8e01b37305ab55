"""`millstream project`: activate, run and replay the projects of a catalog."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from millstream.cli import errors as fail
from millstream.cli.catalog.context import data_of, moment, open_catalog, print_table
from millstream.cli.errors import print_json, reported
from millstream.cli.formats import count
from millstream.cli.interrupt import signals_as_interrupts
from millstream.cli.options import AsJson, CatalogUrl

if TYPE_CHECKING:
    from millstream.catalog.model import Run
    from millstream.catalog.project import CatalogProject

EPILOG = """
Examples:

  millstream project activate month-end

  millstream project run month-end --period 2026-01

  millstream project runs month-end

  millstream project show 5f6c1b0e-…

  millstream project replay 5f6c1b0e-… --verify
"""

Name = Annotated[str, typer.Argument(metavar="NAME", help="The project.")]
Verify = Annotated[
    bool,
    typer.Option("--verify", help="Hash the content of all files, not only compare their times."),
]
Cores = Annotated[int | None, typer.Option(min=1, help="Cores of a local Spark.")]

app = typer.Typer(
    help="Activate, run and replay the projects of a catalog.",
    no_args_is_help=True,
    epilog=EPILOG,
)


@app.command()
def activate(
    name: Name, catalog: CatalogUrl = None, cores: Cores = None, as_json: AsJson = False
) -> None:
    """Validate a project; only an active project can be run. All problems are shown."""
    with _all_problems(as_json), _opened(name, catalog, cores) as project:
        active = project.activate()
        if as_json:
            print_json({"project": active.name, "status": active.status})
        else:
            print(f"{active.name} is active.")


@app.command()
def run(
    name: Name,
    period: Annotated[str, typer.Option("--period", help="The period, such as 2026-01.")],
    catalog: CatalogUrl = None,
    verify: Verify = False,
    cores: Cores = None,
    as_json: AsJson = False,
) -> None:
    """Run an active project for a period and replace its output."""
    with _all_problems(as_json), _opened(name, catalog, cores) as project:
        _show(project.run(period, verify=verify), as_json=as_json)


@app.command()
def replay(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="The ID of a run.")],
    catalog: CatalogUrl = None,
    verify: Verify = False,
    cores: Cores = None,
    as_json: AsJson = False,
) -> None:
    """Repeat a run with the versions it has recorded, and compare the results."""
    with _all_problems(as_json), _replayed_project(run_id, catalog, cores) as project:
        found = project.replay(run_id, verify=verify)
        _show(found, as_json=as_json)


@app.command()
def runs(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="A project.")] = None,
    period: Annotated[
        str | None, typer.Option("--period", help="Only runs of this period.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="The maximum number of runs.")] = 20,
    catalog: CatalogUrl = None,
    as_json: AsJson = False,
) -> None:
    """List runs, the newest first. Runs whose process is gone are shown as failed."""
    from millstream.catalog.lookup import require_project

    with open_catalog(catalog, as_json) as found:
        found.writer.expire_runs()
        if name is not None:
            require_project(found.reader, name)
        listed = found.reader.runs(project=name, period=period, limit=limit)
        if as_json:
            print_json({"runs": [data_of(each) for each in listed]})
            return
        names = ("run", "project", "period", "started (UTC)", "status", "kind", "error")
        print_table(*names, rows=[_row(each) for each in listed])


@app.command()
def show(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="The ID of a run.")],
    catalog: CatalogUrl = None,
    as_json: AsJson = False,
) -> None:
    """Show a run: its status or error, and the versions, locations and hashes that it has read."""
    from millstream.cli.run_snapshot import print_run

    with open_catalog(catalog, as_json) as found:
        from millstream.catalog.lookup import require_run
        from millstream.catalog.project import parse_run_id

        found.writer.expire_runs()
        run = require_run(found.reader, parse_run_id(run_id))
        if as_json:
            print_json(data_of(run))
        else:
            print_run(run)


@contextmanager
def _opened(name: str, url: str | None, cores: int | None) -> Iterator[CatalogProject]:
    from millstream.catalog.catalog import Catalog
    from millstream.catalog.project import SPARK
    from millstream.engine.runtime.jvm import active_session
    from millstream.engine.runtime.session import session

    with Catalog.open(url, create=False) as catalog:
        before = active_session()
        spark = before or session(SPARK, cores, ends=True)
        try:
            with signals_as_interrupts():  # so that the catalog records that a run has ended
                yield catalog.project(name, spark=spark)
        except KeyboardInterrupt:
            sys.stderr.write("\nInterrupted. A run that had not ended is recorded as failed.\n")
            raise
        finally:
            if before is None:
                spark.stop()


@contextmanager
def _replayed_project(run_id: str, url: str | None, cores: int | None) -> Iterator[CatalogProject]:
    """Opens the project of a run."""
    from millstream.catalog.catalog import Catalog
    from millstream.catalog.project import parse_run_id

    with Catalog.open(url, create=False) as catalog:
        found = catalog.reader.find_run(parse_run_id(run_id))
    with _opened(found.project if found else "", url, cores) as project:
        yield project


@contextmanager
def _all_problems(as_json: bool) -> Iterator[None]:
    """Shows each problem of a project that is not valid, with its place in YAML."""
    with reported(as_json):
        from millstream.catalog.execution.validation import InvalidProjectError

        try:
            yield
        except InvalidProjectError as error:
            if as_json:
                problems = [fail.as_data(each) for each in error.problems]
                print_json({"error": {**fail.as_data(error), "problems": problems}})
            for problem in error.problems:
                fail.show(problem)
            count = len(error.problems)
            sys.stderr.write(f"{error.code}: {count} problem{'s' if count > 1 else ''}.\n")
            raise typer.Exit(fail.exit_code(error)) from None


def _row(run: Run) -> tuple[str, ...]:
    kind = "replay" if run.replay_of else "run"
    why = run.failure.code if run.failure else ""
    started = moment(run.started_at)
    return (str(run.id), run.project, run.period, started, run.status.value, kind, why)


def _show(run: Run, *, as_json: bool) -> None:
    if as_json:
        print_json(data_of(run))
        return
    assert run.result is not None
    assert run.snapshot is not None
    kind = "replay" if run.replay_of else "run"
    rows = count(run.result.row_count, "row")
    print(f"{kind} {run.id}: {run.project}, {run.period}, {rows}")
    joined = [(each.alias, each) for each in run.snapshot.join_datasets]
    changing = []
    for what, read in (("input", run.snapshot.input), *joined):
        version = f"{read.dataset_name} v{read.dataset_version}"
        print(f"  {what:<8} {version} ({read.resolver_source})")
        if not read.reproducible:
            changing.append(version)
    if run.replay_of is None:
        print(f"  output   {run.result.location}")
    print(f"  hash     {run.result.content_hash}")
    if changing:
        names = ", ".join(dict.fromkeys(changing))
        print(f"  not reproducible: the rows of these tables may change: {names}")
    if run.result.row_count == 0:
        name = run.snapshot.input.dataset_name
        print(f"The result is empty: no row of {name} belongs to {run.period}, or no row matches.")
    if run.replay_of is not None:
        print(f"The result is the same as that of the run {run.replay_of}. No output was written.")
