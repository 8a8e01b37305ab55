"""The file sink: folders of files that anything can read while the job runs.

A micro-batch is written to a hidden folder first and moved into place, file by file, under names
that say the batch: `000042-0.parquet`, in folders `day=…/` of their own where the sink is
partitioned. Files that an earlier try of the batch left are removed before, so a batch that is
written again replaces itself.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
from pyarrow import fs
from pyspark.sql import DataFrame

from millstream.connectors.file.csv_lines import LOCAL_PATTERN, ZONED_PATTERN, CsvLines, check_types
from millstream.connectors.file.dialect import csv_dialect
from millstream.connectors.file.partitions import partition_columns
from millstream.connectors.paths import filesystem, resolve
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
    checks_before_commit = True

    def __init__(
        self,
        path: str,
        form: str,
        *,
        partition_by: tuple[str, ...] = (),
        options: Mapping[str, str] | None = None,
        csv: CsvLines | None = None,
    ) -> None:
        """`options` are Spark's, on top of those that this sink sets. `csv` formats rows as CSV
        lines."""
        self._path = path.rstrip("/")
        self._form = form
        self._partition_by = partition_by
        self._clean = False
        self._csv = (csv or CsvLines(self._path)) if form == "csv" else None
        self._options: dict[str, str] = {}
        # Timestamps as in the input: ISO 8601, to the microsecond, with their offset.
        if form == "json":
            self._options["timestampFormat"] = ZONED_PATTERN
            self._options["timestampNTZFormat"] = LOCAL_PATTERN
            self._options["ignoreNullFields"] = "false"
        self._options |= options or {}

    def check(self, rows: Callable[[], DataFrame]) -> None:
        """Rejects columns that the format does not support. `rows` is called only if needed:
        creating a stream takes Spark some time."""
        if self._csv is not None:
            check_types(self._csv.sink, rows().schema)

    def write(
        self, rows: DataFrame, batch: int, before_commit: Callable[[], None] | None = None
    ) -> int | None:
        """`before_commit` is called after all rows are written and before their files become
        visible; if it raises, they do not."""
        system, root = filesystem(self._path)
        system.create_dir(root, recursive=True)
        self._remove_leftovers(system, root)
        written = f"{self._path}/_writing-{uuid.uuid4().hex}"
        hidden = f"{root}/{written.rsplit('/', 1)[1]}"
        try:
            written_as, given = self._form, rows
            if self._csv is not None:
                ansi = rows.sparkSession.conf.get("spark.sql.ansi.enabled") == "true"
                csv = replace(self._csv, ansi=ansi)
                written_as, given = "text", csv.lines(rows, self._partition_by)
            writer = given.write.mode("overwrite").options(**self._options).format(written_as)
            writer.partitionBy(*self._partition_by).save(written)
            if before_commit is not None:
                before_commit()
            for stale in self._files(system, root, f"{batch:06d}-"):
                system.delete_file(stale)
            parts = [
                part
                for part in self._files(system, hidden, "part-")
                if self._holds_rows(system, part)
            ]
            for number, part in enumerate(parts):
                folder, _, name = part.removeprefix(f"{hidden}/").rpartition("/")
                target = f"{root}/{folder}" if folder else root
                system.create_dir(target, recursive=True)
                system.move(part, f"{target}/{batch:06d}-{number}.{self._ending(name)}")
        finally:
            with suppress(FileNotFoundError):  # Spark rejected the rows before it wrote any
                system.delete_dir(hidden)
        return None

    def _ending(self, name: str) -> str:
        """The format, and what a compressed text file needs to be read."""
        written_as = "txt" if self._csv is not None else self._form
        return self._form + name.rpartition(f".{written_as}")[2]

    def _remove_leftovers(self, system: fs.FileSystem, root: str) -> None:
        """A job that was killed while it wrote leaves a hidden folder; no other job writes here."""
        if self._clean:
            return
        for info in system.get_file_info(fs.FileSelector(root)):
            if info.base_name.startswith("_writing-"):
                system.delete_dir(info.path)
        self._clean = True

    def _holds_rows(self, system: fs.FileSystem, part: str) -> bool:
        """Spark writes a file for a batch without rows, too; nobody needs that."""
        if self._form == "parquet":
            with system.open_input_file(part) as file:
                return bool(pq.read_metadata(file).num_rows)
        with system.open_input_stream(part) as stream:  # decompressed, by its name
            return bool(stream.read(1))

    def _files(self, system: fs.FileSystem, folder: str, prefix: str) -> list[str]:
        deep = bool(self._partition_by)
        found = system.get_file_info(fs.FileSelector(folder, recursive=deep))
        return sorted(
            info.path
            for info in found
            if info.is_file
            and info.base_name.startswith(prefix)
            and ("/_writing-" not in info.path.removeprefix(folder))
        )
