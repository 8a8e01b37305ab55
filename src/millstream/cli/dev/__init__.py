"""`millstream dev`: real services on this machine, for experiments, demos and tests."""

from __future__ import annotations

import typer

from millstream.cli.dev import kafka, postgres

app = typer.Typer(help="Run real services on this machine.", no_args_is_help=True)
app.add_typer(kafka.app, name="kafka")
app.add_typer(postgres.app, name="postgres")
