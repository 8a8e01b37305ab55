"""`millstream project`: activate, run and replay the projects of a catalog."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from millstream.cli import fail
from millstream.cli.fail import print_json, reported
from millstream.cli.options import AsJson, CatalogOption

if TYPE_CHECKING:
    from millstream.catalog.model import Run
    from millstream.catalog.project import CatalogProject

EPILOG = """
Examples:

  millstream project activate month-end

  millstream project run month-end --period 2026-01

  millstream project runs month-end

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
    name: Name, catalog: CatalogOption = None, cores: Cores = None, as_json: AsJson = False
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
    catalog: CatalogOption = None,
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
    catalog: CatalogOption = None,
    verify: Verify = False,
    cores: Cores = None,
    as_json: AsJson = False,
) -> None:
    """Repeat a run with the versions it has recorded, and compare the results."""
    with _all_problems(as_json), _opened("", catalog, cores) as project:
        found = project.replay(run_id, verify=verify)
        _show(found, as_json=as_json)
        if not as_json:
            print("The result is the same.")


@app.command()
def runs(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="A project.")] = None,
    period: Annotated[str | None, typer.Option("--period", help="Only of this period.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 20,
    catalog: CatalogOption = None,
    as_json: AsJson = False,
) -> None:
    """List runs, the newest first. Runs whose process is gone are shown as failed."""
    with reported(as_json):
        from millstream.catalog.store.open import open_catalog

        opened = open_catalog(catalog)
        try:
            opened.writer.expire_runs()
            found = opened.reader.runs(project=name, period=period, limit=limit)
        finally:
            opened.close()
        if as_json:
            print_json({"runs": [run_data(each) for each in found]})
            return
        for each in found:
            why = f"  {each.failure.code}" if each.failure else ""
            kind = "  replay" if each.replay_of else ""
            when = f"{each.started_at:%Y-%m-%d %H:%M:%S}"
            print(f"{each.id}  {each.project}  {each.period}  {when}  {each.status}{kind}{why}")


def run_data(run: Run) -> dict[str, Any]:
    """Returns a run as JSON data, with its snapshot."""
    from pydantic import TypeAdapter

    data: dict[str, Any] = TypeAdapter(type(run)).dump_python(run, mode="json")
    return data


@contextmanager
def _opened(name: str, url: str | None, cores: int | None) -> Iterator[CatalogProject]:
    from millstream.catalog.project import CatalogProject
    from millstream.catalog.store.open import open_catalog
    from millstream.spark.runtime.jvm import active_session
    from millstream.spark.runtime.session import session

    opened = open_catalog(url)
    try:
        before = active_session()
        # Joins of files gain by adaptive execution; only streams must do without.
        spark = before or session({"spark.sql.adaptive.enabled": "true"}, cores, ends=True)
        try:
            yield CatalogProject(name, opened.reader, opened.writer, spark, Path.cwd())
        finally:
            if before is None:
                spark.stop()
    finally:
        opened.close()


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


def _show(run: Run, *, as_json: bool) -> None:
    if as_json:
        print_json(run_data(run))
        return
    assert run.result is not None
    assert run.snapshot is not None
    print(f"run {run.id}: {run.project}, {run.period}, {run.result.row_count:,} rows")
    given = run.snapshot.input
    print(f"  input  {given.dataset_name} v{given.dataset_version} ({given.resolver_source})")
    for join in run.snapshot.join_datasets:
        print(
            f"  {join.alias}  {join.dataset_name} v{join.dataset_version} ({join.resolver_source})"
        )
    print(f"  output {run.result.location}")
    print(f"  hash   {run.result.content_hash}")
    if not run.snapshot.reproducible:
        print("  not reproducible: a dataset is read from a database")
