"""Prints a run of a project: its status, what it has read, and what it has written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from millstream.cli.catalog.context import moment, print_table
from millstream.cli.formats import count

if TYPE_CHECKING:
    from millstream.catalog.model import DatasetSnapshot, ResolverSnapshot, Run


def print_run(run: Run) -> None:
    """Prints a run with its snapshot."""
    kind = "replay" if run.replay_of else "run"
    print(f"{kind} {run.id}: {run.project} revision {run.project_revision}, {run.period}")
    print_table("", "", rows=list(_facts(run)))
    if run.snapshot is None:
        print("\nIt ended before it recorded what it reads.")
        return
    print()
    headings = ("read as", "version", "resolver", "format", "location", "content")
    print_table(*headings, rows=list(_datasets(run.snapshot)))
    environment = run.snapshot.environment
    ansi = "" if environment.ansi_enabled else "no "
    print(
        f"\nSpark {environment.spark_version}, Millstream {environment.millstream_version}, "
        f"time zone {environment.session_time_zone}, {ansi}ANSI mode"
    )


def _facts(run: Run) -> Iterator[tuple[str, str]]:
    yield "status", run.status.value
    if run.replay_of is not None:
        yield "replay of", str(run.replay_of)
    yield "started", f"{moment(run.started_at)} UTC by {run.lease.owner}"
    if run.finished_at is not None:
        yield "ended", f"{moment(run.finished_at)} UTC"
    else:
        yield "lease", f"until {run.lease.expires_at:%Y-%m-%d %H:%M:%S} UTC"
    if run.failure is not None:
        yield "error", run.failure.message
    if run.result is not None:
        if run.replay_of is None:
            yield "output", run.result.location
        yield "result", f"{count(run.result.row_count, 'row')}, {run.result.content_hash}"


def _datasets(snapshot: ResolverSnapshot) -> Iterator[tuple[str, ...]]:
    yield ("input", *_dataset(snapshot.input))
    several = len(snapshot.operations) > 1
    for join in snapshot.join_datasets:
        where = f" in operation {join.operation + 1}" if several else ""
        yield (f"{join.alias}{where}", *_dataset(join))


def _dataset(read: DatasetSnapshot) -> tuple[str, ...]:
    return (
        f"{read.dataset_name} v{read.dataset_version}",
        f"{read.resolver.name} ({read.resolver_source.value})",
        read.format.value,
        " ".join([read.location, *filter(None, [read.options.get("table")])]),
        read.content_hash or "not reproducible",
    )
