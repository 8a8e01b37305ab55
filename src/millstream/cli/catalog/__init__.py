"""`millstream catalog`: versioned datasets, periods and projects."""

from __future__ import annotations

import typer

from millstream.cli.catalog.definitions import apply, export
from millstream.cli.catalog.listing import list_
from millstream.cli.catalog.maintain import disable, enable, migrate
from millstream.cli.catalog.publish import publish
from millstream.cli.catalog.show import diff, show

EPILOG = """
Examples:

  millstream catalog apply definitions --dry-run

  millstream catalog apply definitions --yes

  millstream catalog publish fx data/fx/2026-01.parquet

  millstream catalog list

  millstream catalog show fx --version 2

  millstream catalog diff fx 1 2

  millstream catalog disable fx --version 2

  millstream catalog export backup

The catalog is a SQLite file, by default millstream-catalog.db, or a PostgreSQL database: name it
with --catalog or MILLSTREAM_CATALOG. A password may be set as PGPASSWORD.
"""

app = typer.Typer(
    help="Define datasets, publish versions, and show them.",
    no_args_is_help=True,
    epilog=EPILOG,
)
app.command()(apply)
app.command()(publish)
app.command("list")(list_)
app.command()(show)
app.command()(diff)
app.command()(disable)
app.command()(enable)
app.command()(export)
app.command()(migrate)
