"""The file sink: folders of files that other programs can read while the job runs.

Executors write a micro-batch to a hidden folder. The commit moves its files to their final names,
which begin with the batch: `000042-0.parquet`, in folders `day=…/` if the sink is partitioned. The
commit first removes files of an earlier attempt, so a retried batch replaces its files.

Several queries may write late rows or dead letters to one folder. Then the names of their files
have a label, the name of the query: `000042-0.shipped.parquet`.
"""

from __future__ import annotations

import copy
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
from pyarrow import fs
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import DataType, DayTimeIntervalType, StructType, YearMonthIntervalType

from millstream.connectors.file.batch_files import HIDDEN, is_batch_file
from millstream.connectors.file.csv_lines import LOCAL_PATTERN, ZONED_PATTERN, CsvLines, check_types
from millstream.connectors.file.sink_options import csv_dialect, partition_columns
from millstream.connectors.file.texts import strftime_format
from millstream.connectors.file.writers import FOLDER, LINE, FileFormat, FileOpener
from millstream.connectors.paths import filesystem, resolve
from millstream.connectors.sink import BatchId, Message
from millstream.errors import PlanError
from millstream.plan.nodes import SinkDef

_SPARK_OPTIONS = {"compression": "compression", "timestamp.format": "timestampFormat"}


def open_sink(sink: SinkDef, base: Path) -> FileSink:
    return FileSink(
        resolve(sink.option("path"), base),
        sink.option("format", "json").lower(),
        csv=CsvLines(sink.name, csv_dialect(sink), sink.option("timestamp.format")),
        partition_by=partition_columns(sink),
        options={
            spark_name: sink.option(name)
            for name, spark_name in _SPARK_OPTIONS.items()
            if sink.option(name)
        },
    )


class FileSink:
    """Writes each batch to files exactly once."""

    stable_tasks: ClassVar[bool] = False

    def __init__(
        self,
        path: str,
        form: str,
        *,
        partition_by: tuple[str, ...] = (),
        options: Mapping[str, str] | None = None,
        csv: CsvLines | None = None,
    ) -> None:
        """Creates a sink. `options` are Spark's `compression` and `timestampFormat`; `csv` formats
        rows as CSV lines."""
        given = options or {}
        self._path = path.rstrip("/")
        self._csv = (csv or CsvLines(self._path)) if form == "csv" else None
        self._form = FileFormat(
            form,
            partition_by,
            given.get("compression", "").lower(),
            given.get("timestampFormat", "") or (self._csv.timestamp_format if self._csv else ""),
        )
        if self._csv is not None:
            self._form = replace(self._form, csv=self._csv.dialect)
        self._label = ""  # of the query, in names of files
        self._hidden = ""  # the folder of the current batch
        self._clean = False  # whether folders of killed jobs have been removed

    def with_label(self, query: str) -> FileSink:
        labelled = copy.copy(self)
        labelled._label = f".{query}"  # noqa: SLF001 -- of the same class
        return labelled

    def check(self, rows: Callable[[], DataFrame]) -> None:
        """Rejects columns that the format does not support. `rows` is called only if needed,
        because creating a stream takes Spark some time."""
        if self._csv is not None:
            check_types(self._csv.sink, rows().schema)

    def check_side_output(self, schema: pa.Schema) -> None:
        """Rejects time formats and types that executors cannot write without Spark."""
        if self._form.timestamp_format:
            strftime_format(self._form.timestamp_format)
        if self._csv is not None:
            check_types(self._csv.sink, from_arrow_schema(schema))

    def projection(self, schema: StructType, *, ansi: bool = True) -> dict[str, Column]:
        """Returns the columns that Spark computes for the writers of this sink."""
        folders = {name.lower() for name in self._form.partition_by}
        shown = StructType([each for each in schema if each.name.lower() not in folders])
        parts = {
            f"{FOLDER}{number}": F.col(_quoted(name)).cast("string")
            for number, name in enumerate(self._form.partition_by)
        }
        if self._csv is not None:
            csv = replace(self._csv, ansi=ansi)
            self._form = replace(self._form, header=csv.header(shown))
            return {LINE: csv.line(shown), **parts}
        if self._form.name == "json":
            rows = F.struct(*(F.col(_quoted(each.name)) for each in shown))
            return {LINE: F.to_json(rows, self._json_options()), **parts}
        for each in shown:
            _check_type(self._form.name, each.name, each.dataType)
        return {**{each.name: F.col(_quoted(each.name)) for each in shown}, **parts}

    def _json_options(self) -> dict[str, str]:
        """Returns Spark's options: timestamps in ISO 8601 with microseconds and UTC offset."""
        return {
            "timestampFormat": self._form.timestamp_format or ZONED_PATTERN,
            "timestampNTZFormat": LOCAL_PATTERN,
            "ignoreNullFields": "false",
        }

    def begin(self, batch: BatchId) -> FileOpener:
        self._remove_leftovers(*filesystem(self._path))
        self._hidden = f"{HIDDEN}{self._label}-{batch.batch}-{uuid.uuid4().hex}"
        return FileOpener(f"{self._path}/{self._hidden}", self._form)

    def commit(self, batch: BatchId, messages: Sequence[Message]) -> None:
        system, root = filesystem(self._path)
        for stale in self._files(system, root, batch.batch):
            system.delete_file(stale)
        parts = sorted(name for message in messages for name in message["files"])
        for number, part in enumerate(parts):
            folder, _, name = part.rpartition("/")
            target = f"{root}/{folder}" if folder else root
            system.create_dir(target, recursive=True)
            ending = name.partition(".")[2]
            source = f"{root}/{self._hidden}/{part}"
            named = f"{batch.batch:06d}-{number}{self._label}.{ending}"
            system.move(source, f"{target}/{named}")
        self._remove_hidden(system, root)

    def abort(self, batch: BatchId, messages: Sequence[Message]) -> None:  # noqa: ARG002
        self._remove_hidden(*filesystem(self._path))

    def _remove_hidden(self, system: fs.FileSystem, root: str) -> None:
        if self._hidden:
            with suppress(FileNotFoundError):  # no task had rows
                system.delete_dir(f"{root}/{self._hidden}")
        self._hidden = ""

    def _remove_leftovers(self, system: fs.FileSystem, root: str) -> None:
        """Removes the hidden folder of a killed job. Only queries with another label also write to
        this folder."""
        if self._clean:
            return
        own = re.compile(rf"{HIDDEN}{re.escape(self._label)}-\d+-[0-9a-f]+")
        for info in system.get_file_info(fs.FileSelector(root, allow_not_found=True)):
            if own.fullmatch(info.base_name):
                system.delete_dir(info.path)
        self._clean = True

    def _files(self, system: fs.FileSystem, folder: str, batch: int) -> list[str]:
        """Returns the files of a batch, from earlier attempts."""
        deep = bool(self._form.partition_by)
        found = system.get_file_info(fs.FileSelector(folder, allow_not_found=True, recursive=deep))
        return sorted(
            info.path
            for info in found
            if info.is_file
            and is_batch_file(info.base_name, batch, self._label)
            and (f"/{HIDDEN}" not in info.path.removeprefix(folder))
        )


def _check_type(form: str, name: str, kind: DataType) -> None:
    unsupported = (DayTimeIntervalType, YearMonthIntervalType)
    if (
        isinstance(kind, unsupported)
        or kind.typeName() in ("interval", "variant", "void")
        or (form == "avro" and "map<" in kind.simpleString())
    ):
        raise PlanError(
            "MS-PLAN-SINK-TYPE",
            f"a file sink writes {form}, and column {name} has the type {kind.simpleString()}, "
            f"which {form} does not support.",
            fix="CAST it to STRING, or remove the column.",
        )


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
