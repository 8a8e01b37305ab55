"""`millstream table`: maintenance of the Delta tables that jobs write."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from millstream.cli.errors import CommandError, print_json, reported
from millstream.cli.options import AsJson
from millstream.errors import PropertyError

COMPACT_EPILOG = """
Examples:

  millstream table compact tables/orders

  millstream table compact s3://lake/orders --target-mb 256

Each micro-batch adds files. Compaction writes their rows to larger files; running jobs that append
to the table or read it continue.
"""
VACUUM_EPILOG = """
Examples:

  millstream table vacuum tables/orders --dry-run

  millstream table vacuum tables/orders --retain 14d

Versions older than the retention can no longer be read. The table's own retention is the minimum:
'delta.deletedFileRetentionDuration', 7 days by default.
"""
app = typer.Typer(help="Compact and clean Delta tables.", no_args_is_help=True)

TablePath = Annotated[
    str, typer.Argument(metavar="PATH", help="The folder of the table, local or a URL.")
]


@app.command(epilog=COMPACT_EPILOG)
def compact(
    path: TablePath,
    target_mb: Annotated[
        int | None,
        typer.Option("--target-mb", metavar="MB", min=1, help="The size of files. Default: 100."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the rows of small files of a table to larger ones."""
    with reported(as_json):
        _require_package()
        from millstream.connectors.delta import maintenance

        done = maintenance.compact(_absolute(path), None if target_mb is None else target_mb << 20)
        if as_json:
            print_json({"removed": done.removed, "added": done.added, "version": done.version})
        else:
            print(f"{done.removed} files were compacted to {done.added}: version {done.version}.")


@app.command(epilog=VACUUM_EPILOG)
def vacuum(
    path: TablePath,
    retain: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="How long files of old versions are retained."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only list the files that would be removed.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Remove files that belong to no recent version of a table."""
    with reported(as_json):
        retention = None if retain is None else _duration(retain)
        _require_package()
        from millstream.connectors.delta import maintenance

        files = maintenance.vacuum(_absolute(path), retention, dry_run=dry_run)
        if as_json:
            print_json({"files": files, "removed": not dry_run})
            return
        for each in files if dry_run else ():
            print(each)
        print(f"{len(files)} files {'would be' if dry_run else 'were'} removed.")


def _require_package() -> None:
    from millstream.connectors.delta.opening import require_package

    require_package("millstream table")


def _absolute(path: str) -> str:
    from millstream.connectors.paths import resolve

    return resolve(path, Path.cwd()).rstrip("/")


def _duration(text: str) -> int:
    from millstream.temporal import parse_span

    try:
        return parse_span(text)
    except (ValueError, PropertyError) as error:
        raise CommandError(
            "MS-CLI-VALUE", f"--retain: {error}", fix="Write a duration such as 7d or 240h."
        ) from None
