"""Builds the file reader of a source or table from its properties."""

from __future__ import annotations

import codecs
from typing import Protocol

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    MapType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
)

from millstream.connectors.file.avro_files import AvroFiles
from millstream.connectors.file.csv_files import CsvFiles
from millstream.connectors.file.csv_records import CsvForm
from millstream.connectors.file.folders import base_of
from millstream.connectors.file.json_lines import JsonFiles
from millstream.connectors.file.parquet_files import ParquetFiles
from millstream.connectors.file.patterns import PatternError
from millstream.connectors.file.text_file import UTF8
from millstream.connectors.file.values import Column, TimeFormat, time_format
from millstream.connectors.paths import to_local_path
from millstream.errors import Place, PropertyError

FORMATS = ("csv", "json", "parquet", "avro")  # read by executors; Spark reads other formats
_SCHEMES = ("file", "s3", "s3a", "gs", "gcs", "hdfs", "abfs", "abfss")
_PLAIN = (NumericType, BooleanType, BinaryType, DateType, TimestampType, TimestampNTZType)
Files = CsvFiles | JsonFiles | ParquetFiles | AvroFiles


_ROW_GROUPS: dict[str, type[ParquetFiles | AvroFiles]] = {
    "parquet": ParquetFiles,
    "avro": AvroFiles,
}


class Owner(Protocol):
    """A source or a table."""

    @property
    def name(self) -> str: ...
    @property
    def place(self) -> Place | None: ...
    def option(self, name: str, default: str = "") -> str: ...


def files_of(owner: Owner, path: str, schema: StructType) -> Files:
    """Returns the reader of the files below a path; raises PropertyError if the format does not
    support a column's type or a property."""
    form = owner.option("format", "json").lower()
    scheme = path.split("://", maxsplit=1)[0] if "://" in path else "file"
    if scheme not in _SCHEMES:
        raise _property_error(
            owner,
            f"the file system {scheme}:// of 'path' is not supported.",
            f"Use one of {', '.join(f'{each}://' for each in _SCHEMES)}, or a local path.",
        )
    base = base_of(to_local_path(path) if path.startswith("file:") else path)
    if form in _ROW_GROUPS:
        return _ROW_GROUPS[form](base, _columns(owner, schema, form, None))
    columns = _columns(owner, schema, form, _time_format(owner))
    encoding = _encoding(owner)
    if form == "json":
        return JsonFiles(base, columns, encoding)
    header = owner.option("header", "true") == "true"
    nulls = tuple(dict.fromkeys(("", owner.option("null.value"))))
    return CsvFiles(base, columns, header, _csv_form(owner), nulls, encoding)


def _columns(owner: Owner, schema: StructType, form: str, times: TimeFormat) -> tuple[Column, ...]:
    columns = []
    for field in schema:
        sql = field.dataType.simpleString().upper()
        if not _can_have(form, field.dataType):
            raise _property_error(
                owner,
                f"{form} files do not support the type {sql} of column {field.name}.",
                _advice(form, field.dataType),
            )
        columns.append(Column(field.name, arrow_type(field.dataType), sql, times))
    return tuple(columns)


def arrow_type(kind: DataType) -> pa.DataType:
    return to_arrow_type(kind, timezone="UTC")


def _can_have(form: str, kind: DataType) -> bool:
    if isinstance(kind, ArrayType):
        return form != "csv" and _can_have(form, kind.elementType)
    if isinstance(kind, MapType):
        keys = kind.keyType == StringType() or (form == "parquet" and _can_have(form, kind.keyType))
        return form != "csv" and keys and _can_have(form, kind.valueType)
    if isinstance(kind, StructType):
        return form != "csv" and all(_can_have(form, field.dataType) for field in kind)
    return isinstance(kind, (*_PLAIN, CharType, VarcharType)) or kind == StringType()


def _advice(form: str, kind: DataType) -> str:
    if form == "csv" and isinstance(kind, (ArrayType, MapType, StructType)):
        return "Use 'format' = 'json' or 'parquet', or declare the column STRING."
    return "Declare the column STRING and convert it in the query."


def _time_format(owner: Owner) -> TimeFormat:
    given = owner.option("timestamp.format")
    try:
        return time_format(given)
    except PatternError as error:
        raise _property_error(
            owner,
            f"'timestamp.format' = '{given}' {error}.",
            "Use iso8601, epoch_millis, epoch_seconds, or a pattern of yyyy, MM, dd, HH, mm, ss, "
            "SSS, XXX, such as dd.MM.yyyy HH:mm:ss.",
        ) from None


def _encoding(owner: Owner) -> str:
    given = owner.option("encoding", UTF8)
    try:
        "".encode(given)  # rejects codecs that are not text encodings, such as rot13
        return codecs.lookup(given).name
    except LookupError:
        raise _property_error(
            owner, f"the encoding '{given}' is not known.", "Use utf-8, iso-8859-1 or utf-16."
        ) from None


def _csv_form(owner: Owner) -> CsvForm:
    delimiter = _character(owner, "delimiter", ",")
    quote = _character(owner, "quote", '"')
    escape = _character(owner, "escape", "")
    escape = "" if escape == quote else escape
    given = [character for character in (delimiter, quote, escape) if character]
    if len(set(given)) < len(given):
        raise _property_error(
            owner,
            "'delimiter', 'quote' and 'escape' must be different characters.",
            "Remove 'escape' if quotes inside values are doubled.",
        )
    flags = (owner.option(name, default) == "true" for name, default in _FLAGS)
    return CsvForm(delimiter, quote, escape, *flags)


_FLAGS = (("multiline", "true"), ("trim", "false"))


def _character(owner: Owner, name: str, default: str) -> str:
    given = owner.option(name, default)
    value = {"\\t": "\t", "none": ""}.get(given, given)
    wrong = (
        len(value.encode()) > 1
        or value in ("\r", "\n", " ")
        or (not value and (name == "delimiter" or given not in ("", "none")))
    )
    if wrong:
        raise _property_error(
            owner,
            f"'{name}' cannot be '{given}': it must be one ASCII character.",
            "Use a character such as ; or | or \\t.",
        )
    return value


def _property_error(owner: Owner, why: str, fix: str) -> PropertyError:
    return PropertyError("MS-PROP-FILE", f"{owner.name}: {why}", fix=fix, place=owner.place)
