"""Reads the properties of a file sink, and rejects those that contradict each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from millstream.errors import PlanError, PropertyError
from millstream.plan.connectors import ConnectorStatement, Options, Role
from millstream.plan.nodes import SinkDef
from millstream.sql.statements import Property
from millstream.suggestions import nearest, same
from millstream.values import CsvDialect

COMPRESSIONS = {
    "csv": ("none", "gzip", "bzip2"),
    "json": ("none", "gzip", "bzip2"),
    "parquet": ("none", "snappy", "gzip", "zstd", "lz4"),
    "avro": ("none", "snappy", "deflate"),
    "orc": ("none", "snappy", "zlib", "zstd", "lz4"),
}
_TAB = "\\t"


def csv_dialect(sink: SinkDef) -> CsvDialect:
    return _dialect(dict(sink.options))


def _dialect(options: Mapping[str, str]) -> CsvDialect:
    quote = _character(options.get("quote", '"'))
    return CsvDialect(
        delimiter=_character(options.get("delimiter", ",")),
        quote=quote,
        escape=_character(options.get("escape", "")) or quote,
        null=options.get("null.value", ""),
        header=options.get("header", "true").lower() == "true",
    )


def _character(text: str) -> str:
    return "\t" if text == _TAB else text


def check_file(declared: ConnectorStatement, options: Options) -> Options:
    """Rejects properties of a file sink that contradict each other."""
    if declared.role is not Role.SINK:
        return options
    form = declared.value("format", "json").lower()
    compression = declared.properties.get("compression")
    if compression and compression.value.lower() not in COMPRESSIONS[form]:
        raise PropertyError(
            "MS-PROP-VALUE",
            f"'compression' = '{compression.value}' is not supported for {form} files.",
            fix=f"Use one of {', '.join(COMPRESSIONS[form])}.",
            place=compression.value_place,
        )
    if form == "csv":
        _check_dialect(_dialect(options), declared.properties)
    return options


def _check_dialect(dialect: CsvDialect, properties: Mapping[str, Property]) -> None:
    for name, other, is_equal in (
        ("quote", "delimiter", dialect.quote == dialect.delimiter),
        ("escape", "delimiter", dialect.escape == dialect.delimiter),
    ):
        if is_equal:
            given = properties.get(name) or properties[other]
            raise PropertyError(
                "MS-PROP-VALUE",
                f"'{name}' and '{other}' are the same character, so values cannot be read back.",
                fix="Choose another character for one of them.",
                place=given.value_place,
            )
    special = (dialect.delimiter, dialect.quote, dialect.escape, "\r", "\n")
    blank_ends = dialect.null != dialect.null.strip(" \t")
    if blank_ends or any(character in dialect.null for character in special):
        raise PropertyError(
            "MS-PROP-VALUE",
            f"'null.value' = {dialect.null!r} cannot be read back, because it is written without "
            "quotes.",
            fix="Use a value without delimiters, quotes, line breaks and surrounding blanks, such "
            "as NULL. The default is empty.",
            place=properties["null.value"].value_place,
        )


def partition_columns(sink: SinkDef) -> tuple[str, ...]:
    """Returns the columns whose values are the names of the sink's folders."""
    return tuple(name.strip() for name in sink.option("partition.by").split(",") if name.strip())


def check_partitions(sink: SinkDef, columns: Sequence[str], operation: bool) -> None:
    """Rejects unknown partition columns, and files without a column.

    `operation`: whether files have a column `_OP`.
    """
    partitions = partition_columns(sink)
    for name in partitions:
        if not any(same(name, column) for column in columns):
            raise PlanError(
                "MS-PLAN-UNKNOWN-COLUMN",
                f"the sink {sink.name} is partitioned by {name}, which its query does not select.",
                fix=nearest(name, columns),
                place=sink.place,
            )
    if all(any(same(name, column) for name in partitions) for column in columns) and not operation:
        raise PlanError(
            "MS-PLAN-PARTITION",
            f"the sink {sink.name} is partitioned by all its columns, so its files have none.",
            fix="Remove a column from 'partition.by', or select another column.",
            place=sink.place,
        )


def checkpoint_sink(name: str, folder: Path) -> SinkDef:
    """Returns the sink of late rows or dead letters without a sink of their own: JSON files."""
    return SinkDef(name, "file", (("path", str(folder)), ("format", "json")))
