"""`millstream compact`: merges small files of a sink."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from millstream.cli.errors import CommandError, print_json, reported
from millstream.cli.options import AsJson

if TYPE_CHECKING:
    from millstream.connectors.file.compaction import Merge

EPILOG = """
Examples:

  millstream compact out

  millstream compact out --target-mb 512 --dry-run

  millstream compact out --checkpoint .millstream/job

The job may run meanwhile: the files of the newest batch are not merged. With --checkpoint, they
are, and the job must not run or have a batch that is not complete. Do not compact a folder that
another job streams: it would miss rows.
"""


def compact(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The local folder of a file sink.")],
    target_mb: Annotated[
        int, typer.Option(min=1, metavar="MB", help="Merge smaller files, up to this size.")
    ] = 128,
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header", help="Whether CSV files begin with the names of columns."
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The checkpoint of the job, to merge its last batch."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be merged, and change nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Merge small files of a sink."""
    with reported(as_json):
        from millstream.connectors.file.compaction import Compaction
        from millstream.run.checkpoint import locked, reject_incomplete_batches
        from millstream.run.checkpoint_sinks import require_sink

        if not path.is_dir():
            raise CommandError(
                "MS-RUN-COMPACT",
                f"{path} is not a local folder.",
                fix="Name the folder of a file sink. Object stores cannot replace files at once.",
            )
        if header is None and any(each.name.endswith(_CSV) for each in path.rglob("*.csv*")):
            raise CommandError(
                "MS-RUN-COMPACT",
                f"{path} has CSV files, which do not say whether they begin with a header.",
                fix="Add --header or --no-header, as in the sink's 'header' (default: true).",
            )
        if checkpoint is not None:
            require_sink(checkpoint, path)
        with nullcontext() if checkpoint is None else locked(checkpoint):
            if checkpoint is not None:
                reject_incomplete_batches(checkpoint)
            plan = Compaction(path, target_mb << 20, bool(header), checkpoint is not None)
            merges = plan.plan() if dry_run else plan.run()
        if as_json:
            print_json({"merges": [_as_data(each) for each in merges], "dry_run": dry_run})
        else:
            _print(path, merges, dry_run)


_CSV = (".csv", ".csv.gz", ".csv.bz2")


def _as_data(merge: Merge) -> dict[str, object]:
    return {"file": str(merge.target), "files": len(merge.names), "bytes": merge.size}


def _print(path: Path, merges: list[Merge], dry_run: bool) -> None:
    for each in merges:
        print(f"{each.target}: {len(each.names)} files, {each.size:,} bytes")
    files = sum(len(each.names) for each in merges)
    would = "would be merged" if dry_run else "merged"
    print(f"{path}: {files} files {would} into {len(merges)}")
