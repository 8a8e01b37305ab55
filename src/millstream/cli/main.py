"""The command `millstream`; each subcommand has a module and imports Spark and Polars on use."""

from __future__ import annotations

from typing import Annotated

import typer

from millstream.cli import (
    bench,
    catalog,
    compact,
    connectors,
    dev,
    explain,
    init,
    nexmark,
    prepare,
    project,
    refresh,
    run,
    table,
    test,
)

HELP = "Streaming SQL for event-time joins on Apache Spark."
EPILOG = """
Quick start:

  millstream init shop            create a project: a job, data, a test

  millstream run shop/job.sql --once --flush

  millstream explain shop/job.sql

  millstream test shop

Exit codes: 0 success, 1 a run or test failed, 2 the job or command is invalid, 130 Ctrl-C.
"""

app = typer.Typer(
    name="millstream",
    help=HELP,
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(requested: bool) -> None:
    if requested:
        from importlib.metadata import version

        print(f"millstream {version('millstream')}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    pass


app.command(epilog=init.EPILOG)(init.init)
app.command(epilog=run.EPILOG)(run.run)
app.command(epilog=explain.EPILOG)(explain.explain)
app.command(epilog=connectors.EPILOG)(connectors.connectors)
app.command(epilog=refresh.EPILOG)(refresh.refresh)
app.command(epilog=compact.EPILOG)(compact.compact)
app.command(epilog=prepare.EPILOG)(prepare.prepare)
app.command("test", epilog=test.EPILOG)(test.run_tests)
app.add_typer(catalog.app, name="catalog")
app.add_typer(project.app, name="project")
app.add_typer(table.app, name="table")
app.add_typer(dev.app, name="dev")
app.add_typer(bench.app, name="bench")
app.add_typer(nexmark.app, name="nexmark")
