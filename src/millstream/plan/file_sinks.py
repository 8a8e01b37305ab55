"""Checks the properties of file sinks, and reads the CSV dialect of a sink."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.errors import PropertyError
from millstream.plan.nodes import SinkDef
from millstream.sql.statements import CreateSink, Property
from millstream.values import CsvDialect

_CSV_ONLY = ("delimiter", "quote", "escape", "null.value", "encoding", "header")
COMPRESSIONS = {
    "csv": ("none", "gzip", "bzip2"),
    "json": ("none", "gzip", "bzip2"),
    "parquet": ("none", "snappy", "gzip", "zstd", "lz4"),
    "orc": ("none", "snappy", "zlib", "zstd", "lz4"),
}
_TAB = "\\t"


def csv_dialect(sink: SinkDef) -> CsvDialect:
    quote = _character(sink.option("quote", '"'))
    return CsvDialect(
        delimiter=_character(sink.option("delimiter", ",")),
        quote=quote,
        escape=_character(sink.option("escape")) or quote,
        null=sink.option("null.value"),
        header=sink.option("header", "true").lower() == "true",
    )


def _character(text: str) -> str:
    return "\t" if text == _TAB else text


def check_file_sink(
    statement: CreateSink, properties: Mapping[str, Property], sink: SinkDef
) -> None:
    """Rejects properties of a file sink that contradict each other."""
    form = sink.option("format", "json").lower()
    if form != "csv":
        for name in (name for name in _CSV_ONLY if name in properties):
            raise PropertyError(
                "MS-PROP-UNUSED",
                f"'{name}' applies to CSV only, and the sink {statement.name} writes {form}.",
                fix="Leave it out, or set 'format' = 'csv'.",
                place=properties[name].place,
            )
    compression = properties.get("compression")
    if compression and compression.value.lower() not in COMPRESSIONS[form]:
        raise PropertyError(
            "MS-PROP-VALUE",
            f"'compression' of {form} cannot be '{compression.value}'.",
            fix=f"It takes one of {', '.join(COMPRESSIONS[form])}.",
            place=compression.value_place,
        )
    if form == "csv":
        _check_dialect(csv_dialect(sink), properties)


def _check_dialect(dialect: CsvDialect, properties: Mapping[str, Property]) -> None:
    for name, other, same in (
        ("quote", "delimiter", dialect.quote == dialect.delimiter),
        ("escape", "delimiter", dialect.escape == dialect.delimiter),
    ):
        if same:
            given = properties.get(name) or properties[other]
            raise PropertyError(
                "MS-PROP-VALUE",
                f"'{name}' and '{other}' cannot be the same character.",
                fix="Choose another character for one of them.",
                place=given.value_place,
            )
    special = (dialect.delimiter, dialect.quote, dialect.escape, "\r", "\n")
    blank_ends = dialect.null != dialect.null.strip(" \t")
    if blank_ends or any(character in dialect.null for character in special):
        raise PropertyError(
            "MS-PROP-VALUE",
            f"'null.value' cannot be {dialect.null!r}: it is written without quotes.",
            fix="Use a text without delimiters, quotes, line breaks and blanks at its ends, such "
            "as NULL; empty is the default.",
            place=properties["null.value"].value_place,
        )
