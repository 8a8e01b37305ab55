"""Reading a reference table whole: from files, or from a database."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import cast

import pyarrow as pa
from pyarrow import fs
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from millstream.connectors.malformed import BAD
from millstream.connectors.paths import filesystem, resolve
from millstream.connectors.sources import TEXT_FORMATS
from millstream.errors import PlanError, RunError
from millstream.kernels.joins.table import HeldTable
from millstream.plan.nodes import Broadcast, Reference

_FILE_OPTIONS = {"delimiter": "sep", "timestamp.format": "timestampFormat"}


def read_files(spark: SparkSession, table: Reference, base: Path) -> pa.Table:
    form = table.option("format", "json").lower()
    schema = ", ".join(f"`{column.name}` {column.type}" for column in table.columns)
    reader = spark.read.format(form)
    if form in TEXT_FORMATS:
        schema += f", `{BAD}` STRING"
        reader = reader.options(mode="PERMISSIVE", columnNameOfCorruptRecord=BAD)
    if form == "csv":
        reader = reader.options(header=table.option("header", "true"), enforceSchema="false")
    for name, spark_name in _FILE_OPTIONS.items():
        if table.option(name):
            reader = reader.option(spark_name, table.option(name))
    assert isinstance(table.access, Broadcast)
    read = reader.schema(schema).load(_path(table, base))
    try:
        rows = read.limit(table.access.max_rows + 1).toArrow()
    except Exception as error:  # noqa: BLE001 -- a failed task comes as py4j's own error
        raise RunError(
            "MS-RUN-TABLE",
            f"table {table.name} could not be read: {_reason(error)}.",
            fix="Mend its files, or the columns of CREATE TABLE.",
        ) from None
    if form not in TEXT_FORMATS:
        return rows
    bad = rows[BAD].drop_null()
    if len(bad):
        raise RunError(
            "MS-RUN-TABLE",
            f"table {table.name} holds a record that does not fit its columns: {bad[0].as_py()!r}.",
            fix="Mend its files, or the columns of CREATE TABLE.",
        )
    return rows.drop_columns([BAD])


def _reason(error: Exception) -> str:
    """What Spark says, in one line. It tells of a failed task by a Java trace."""
    text = str(error)
    if header := _HEADER.search(text):
        return f"its header is {header[1].strip()!r}, its columns are {header[2].strip()!r}"
    lines = _CAUSE.findall(text) or text.splitlines()[:1]
    return str(lines[-1]).split(" SQLSTATE")[0].strip().rstrip(".")


_HEADER = re.compile(
    r"CSV header does not conform.*?Header: ([^\n]*)\s+Schema: ([^\n]*)", re.DOTALL
)
_CAUSE = re.compile(r"^Caused by: [\w.$]+: (.+)$", re.MULTILINE)


def read_database(table: Reference, options: tuple[tuple[str, str], ...]) -> pa.Table:
    from millstream.connectors.lookup.spec import LookupSpec
    from millstream.connectors.lookup.stores import read_whole

    assert isinstance(table.access, Broadcast)
    names = tuple(column.name for column in table.columns)
    ddl = ", ".join(f"`{column.name}` {column.type}" for column in table.columns)
    schema = to_arrow_schema(cast("StructType", StructType.fromDDL(ddl)), timezone="UTC")
    keys = table.primary_key or names[:1]
    spec = LookupSpec(table.name, table.connector, options, keys, names, schema)
    return read_whole(spec, table.access.max_rows + 1).select(list(names))


def files_digest(table: Reference, base: Path) -> str:
    """Tells whether any file has changed."""
    system, root = filesystem(_path(table, base))
    (info,) = system.get_file_info([root])
    if info.type is fs.FileType.NotFound:
        raise PlanError(
            "MS-PLAN-NO-PATH",
            f"table {table.name} reads {root}, which does not exist.",
            fix="Make it, or mend 'path'.",
            place=table.place,
        )
    found = [info]
    if info.type is fs.FileType.Directory:
        found = system.get_file_info(fs.FileSelector(root, recursive=True))
    said = sorted(f"{each.path} {each.size} {each.mtime_ns}" for each in found if each.is_file)
    return hashlib.sha256("\n".join(said).encode()).hexdigest()


def _path(table: Reference, base: Path) -> str:
    return resolve(table.option("path"), base)


def refuse_second_rows(table: Reference, rows: pa.Table) -> None:
    """Joins go by the primary key that a table declares."""
    if table.primary_key and not HeldTable(rows, table.primary_key).unique:
        raise RunError(
            "MS-RUN-TABLE-KEY",
            f"table {table.name} has several rows of one {', '.join(table.primary_key)}, its "
            "primary key.",
            fix="Mend the table, or its PRIMARY KEY.",
        )


def refuse_large(table: Reference, rows: pa.Table) -> None:
    """A table is held by every worker, so it has a limit."""
    access = table.access
    assert isinstance(access, Broadcast)
    if rows.num_rows > access.max_rows:
        what, limit = f"more than {access.max_rows:,} rows", "'broadcast.max_rows'"
    elif rows.nbytes > access.max_bytes:
        what, limit = f"{rows.nbytes:,} bytes", "'broadcast.max_bytes'"
    else:
        return
    raise RunError(
        "MS-RUN-TABLE-LARGE",
        f"table {table.name} has {what}, too many for every worker to hold.",
        fix="Ask a database by key (a table with 'connector' = 'postgresql'), or make it a stream "
        f"of versions with a WATERMARK, joined FOR SYSTEM_TIME AS OF; or raise {limit}.",
    )
