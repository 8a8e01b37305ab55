"""The CSV dialect of a file sink, and checks of properties that depend on each other."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.errors import PropertyError
from millstream.plan.connectors import Declaration, Options, Role
from millstream.plan.nodes import SinkDef
from millstream.sql.statements import Property
from millstream.values import CsvDialect

COMPRESSIONS = {
    "csv": ("none", "gzip", "bzip2"),
    "json": ("none", "gzip", "bzip2"),
    "parquet": ("none", "snappy", "gzip", "zstd", "lz4"),
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


def check_file(declared: Declaration, options: Options) -> Options:
    """Rejects properties of a file sink that contradict each other."""
    if declared.role is not Role.SINK:
        return options
    form = declared.value("format", "json").lower()
    compression = declared.properties.get("compression")
    if compression and compression.value.lower() not in COMPRESSIONS[form]:
        raise PropertyError(
            "MS-PROP-VALUE",
            f"'compression' of {form} cannot be '{compression.value}'.",
            fix=f"It takes one of {', '.join(COMPRESSIONS[form])}.",
            place=compression.value_place,
        )
    if form == "csv":
        _check_dialect(_dialect(options), declared.properties)
    return options


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
