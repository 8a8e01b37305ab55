"""Reads the files of a reference table."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyarrow import fs
from pyspark.sql import SparkSession

from millstream.connectors.dead_letters import BAD, Rejection
from millstream.connectors.declared_columns import to_spark_schema
from millstream.connectors.file.options import FORMATS, files_of
from millstream.connectors.paths import filesystem, resolve
from millstream.errors import PlanError, RunError
from millstream.plan.nodes import Broadcast, ReferenceTable


@dataclass(frozen=True, slots=True)
class FileTable:
    """A reference table of files."""

    spark: SparkSession
    table: ReferenceTable
    base: Path

    def read(self) -> pa.Table:
        return read_files(self.spark, self.table, self.base)

    def digest(self) -> str:
        return files_digest(self.table, self.base)


def open_table(spark: SparkSession, table: ReferenceTable, base: Path) -> FileTable:
    return FileTable(spark, table, base)


def read_files(spark: SparkSession, table: ReferenceTable, base: Path) -> pa.Table:
    """Returns the rows of a table of files, at most one more than its limit."""
    form, path = table.option("format", "json").lower(), _path(table, base)
    assert isinstance(table.access, Broadcast)
    most = table.access.max_rows + 1
    if form not in FORMATS:
        return _by_spark(spark, table, form, path, most)
    schema = to_spark_schema(spark, table.columns)
    files = files_of(table, path, schema)
    wanted = {column.name: column.type for column in files.columns}
    batches: list[pa.RecordBatch] = []
    for name in _names(path):
        for batch in files.read(name, wanted):
            if len(bad := batch.column(BAD).drop_null()):
                raise _read_error(table, str(Rejection.decode(bad[0].as_py())))
            batches.append(batch.drop_columns([BAD]))
            if sum(each.num_rows for each in batches) >= most:
                return pa.Table.from_batches(batches).slice(0, most)
    return pa.Table.from_batches(batches, pa.schema(list(wanted.items())))


def _names(path: str) -> list[str]:
    """Returns the files of a folder and its subfolders, without hidden files."""
    system, root = filesystem(path)
    (info,) = system.get_file_info([root])
    found = [info]
    if info.type is fs.FileType.Directory:
        found = system.get_file_info(fs.FileSelector(root, recursive=True))
    hidden = ("/_", "/.")
    names = sorted(
        each.path
        for each in found
        if each.is_file and not any(mark in each.path.removeprefix(root) for mark in hidden)
    )
    remote = "://" in path and not path.startswith("file:")
    return [f"{path.partition('://')[0]}://{name}" for name in names] if remote else names


def _by_spark(
    spark: SparkSession, table: ReferenceTable, form: str, path: str, most: int
) -> pa.Table:
    reader = spark.read.format(form).schema(to_spark_schema(spark, table.columns))
    try:
        return reader.load(path).limit(most).toArrow()
    except Exception as error:  # noqa: BLE001 -- py4j reports a failed task as its own error
        lines = _CAUSE.findall(str(error)) or str(error).splitlines()[:1]
        raise _read_error(table, str(lines[-1]).split(" SQLSTATE")[0].strip()) from None


def _read_error(table: ReferenceTable, why: str) -> RunError:
    return RunError(
        "MS-RUN-TABLE",
        f"table {table.name}: {why}",
        fix="Correct the files, or the columns in CREATE TABLE.",
        place=table.place,
    )


_CAUSE = re.compile(r"^Caused by: [\w.$]+: (.+)$", re.MULTILINE)


def files_digest(table: ReferenceTable, base: Path) -> str:
    """Returns a digest of the names, sizes and modification times of the files."""
    system, root = filesystem(_path(table, base))
    (info,) = system.get_file_info([root])
    if info.type is fs.FileType.NotFound:
        raise PlanError(
            "MS-PLAN-NO-PATH",
            f"table {table.name} reads {root}, which does not exist.",
            fix="Create the file or folder, or correct 'path'.",
            place=table.place,
        )
    found = [info]
    if info.type is fs.FileType.Directory:
        found = system.get_file_info(fs.FileSelector(root, recursive=True))
    lines = sorted(f"{each.path} {each.size} {each.mtime_ns}" for each in found if each.is_file)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _path(table: ReferenceTable, base: Path) -> str:
    return resolve(table.option("path"), base)
