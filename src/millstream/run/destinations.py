"""Where the rows of a pipeline go: its own, late ones and dead letters."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyarrow import fs

from millstream.connectors.paths import filesystem, resolve
from millstream.errors import StateError
from millstream.fates import Fate
from millstream.observe.account import (
    OWN_LATE_SINK,
    Account,
    SparkAccount,
    dead_letters_of,
    late_rows_in,
)
from millstream.plan.declare import partition_columns
from millstream.plan.explain.secrets import masked
from millstream.plan.nodes import Job, Pipeline, Reference, SinkDef
from millstream.plan.walk import operators_of, references_of, sources_of
from millstream.run.checkpoint import Checkpoint
from millstream.run.settings import RunSettings
from millstream.run.tables import FOLDER as TABLES
from millstream.temporal import LateAction

# What the file sink calls the files of a batch.
_BATCH_FILE = re.compile(r"(\d{6,})-\d+\.[\w.]+")


@dataclass(frozen=True, slots=True)
class Destination:
    """`rows` is how many of a kind there were, `connector` and `path` where they went."""

    what: str
    rows: int
    connector: str
    path: str | None = None
    format: str = "json"
    partitions: tuple[str, ...] = ()  # columns whose values are folders of that path


def destinations(
    job: Job, pipeline: Pipeline, settings: RunSettings, account: Account | SparkAccount
) -> list[Destination]:
    """The sink first, then those of late rows and dead letters, whether or not there were any."""
    found = [_to(pipeline.sink, "rows", account.rows_out, settings)]
    if isinstance(account, SparkAccount):
        return found
    folder = Checkpoint(settings.checkpoint / pipeline.name)
    sinks = [
        operator.late.sink or ""
        for operator in operators_of(pipeline.root)
        if operator.late.action is LateAction.SIDE_OUTPUT
    ]
    for sink in dict.fromkeys(sinks):
        if named := job.sink(sink):
            count = account.written.get(late_rows_in(named.name), 0)
            found.append(_to(named, "late rows", count, settings))
        else:
            count = account.written.get(late_rows_in(OWN_LATE_SINK), 0)
            found.append(Destination("late rows", count, "file", str(folder.late)))
    for source in sources_of(pipeline.root):
        named = job.sink(source.dead_letter or "")
        path = str(folder.dead_letters(source.name))
        found += [
            _to(named, what, count, settings) if named else Destination(what, count, "file", path)
            for what, count in _rejected(source.name, account)
        ]
    for table in references_of(pipeline.root):
        what, count = _not_asked(table), account.written.get(dead_letters_of(table.name), 0)
        if count and (named := job.sink(table.dead_letter or "")):
            found.append(_to(named, what, count, settings))
        elif count:
            found.append(Destination(what, count, "file", str(folder.dead_letters(table.name))))
    return found


def _rejected(source: str, account: Account) -> Iterator[tuple[str, int]]:
    """Kinds of dead letters of a source, and how many there are."""
    read = [
        each
        for each in account.inputs
        # Of one source twice, accounts add the alias.
        if each.name == source or each.name.startswith(f"{source} ")
    ][:1]
    yield f"malformed records of {source}", sum(each[Fate.MALFORMED] for each in read)
    if ahead := sum(each[Fate.AHEAD_OF_TIME] for each in read):
        yield f"rows of {source} ahead of time", ahead


def _not_asked(table: Reference) -> str:
    return f"rows that {table.name} could not be asked for"


def _to(sink: SinkDef, what: str, rows: int, settings: RunSettings) -> Destination:
    path = sink.option("path")
    where = resolve(path, settings.base) if sink.connector == "file" and path else None
    form, partitions = sink.option("format", "json").lower(), partition_columns(sink)
    return Destination(what, rows, sink.connector, where, form, partitions)


def batch_files(path: str, partitions: Sequence[str] = (), first_batch: int = 0) -> list[str]:
    """The files that the file sink wrote to a folder, by batch, from a batch on. Other folders in
    it are none of the sink's."""
    system, root = filesystem(path)
    folders = [root]
    for name in partitions:
        folders = [
            info.path
            for folder in folders
            for info in _in(system, folder)
            if not info.is_file and info.base_name.lower().startswith(f"{name.lower()}=")
        ]
    found = []
    for info in (info for folder in folders for info in _in(system, folder)):
        named = _BATCH_FILE.fullmatch(info.base_name) if info.is_file else None
        if named and int(named[1]) >= first_batch:
            found.append(info.path)
    return sorted(found)


def _in(system: fs.FileSystem, folder: str) -> list[fs.FileInfo]:
    if system.get_file_info(folder).type is not fs.FileType.Directory:
        return []
    return list(system.get_file_info(fs.FileSelector(folder)))


def refuse_foreign_files(job: Job, settings: RunSettings) -> None:
    """A new checkpoint counts batches from 0: it must not write over files of an earlier run."""
    for pipeline in job.pipelines:
        if Checkpoint(settings.checkpoint / pipeline.name).begun:
            continue
        for sink in _file_sinks(job, pipeline):
            path = resolve(sink.option("path"), settings.base)
            if batch_files(path, partition_columns(sink)):
                shown = masked("path", path)
                raise StateError(
                    "MS-STATE-SINK",
                    f"{shown} holds files of another run, and a new checkpoint would write its "
                    "batches over them.",
                    fix="Go on from that run's --checkpoint, give the sink another path, or add "
                    "--fresh to remove those files and start anew.",
                    place=sink.place,
                )


def forget(job: Job, settings: RunSettings) -> None:
    """Remove the checkpoint of each pipeline and the files that its sinks wrote."""
    for pipeline in job.pipelines:
        folder = settings.checkpoint / pipeline.name
        if (folder / "millstream.json").exists():
            shutil.rmtree(folder)
        shutil.rmtree(settings.checkpoint / TABLES, ignore_errors=True)
        for sink in _file_sinks(job, pipeline):
            path = resolve(sink.option("path"), settings.base)
            system, _ = filesystem(path)
            for file in batch_files(path, partition_columns(sink)):
                system.delete_file(file)


def _file_sinks(job: Job, pipeline: Pipeline) -> Iterator[SinkDef]:
    names = [source.dead_letter for source in sources_of(pipeline.root)]
    names += [table.dead_letter for table in references_of(pipeline.root)]
    names += [operator.late.sink for operator in operators_of(pipeline.root)]
    for sink in (pipeline.sink, *(job.sink(name) for name in dict.fromkeys(names) if name)):
        if sink is not None and sink.connector == "file":
            yield sink
