"""The decoder of a source's values, and what its records are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql.types import StructType

from millstream.connectors.file.csv_files import CsvFiles
from millstream.connectors.file.options import arrow_type, files_of
from millstream.connectors.file.patterns import PatternError
from millstream.connectors.file.values import Column, time_format
from millstream.connectors.kafka.envelopes import Envelopes, envelope_columns
from millstream.connectors.kafka.reader import RECORD_COLUMNS
from millstream.connectors.kafka.schema_properties import FORMATS
from millstream.connectors.kafka.schemas import record_values
from millstream.connectors.kafka.settings import OP, name_list
from millstream.connectors.kafka.upserts import Upserts
from millstream.connectors.kafka.values import (
    CsvValues,
    Decoder,
    JsonValues,
    KeyText,
    RawValues,
)
from millstream.errors import PropertyError
from millstream.plan import nodes
from millstream.suggestions import same


def decoders(
    source: nodes.Source, schema: StructType, base: Path
) -> tuple[tuple[Column, ...], Decoder | Envelopes | Upserts]:
    """Returns the columns of a source's values, and what decodes them. Declared columns with the
    name of a system column are those of the record."""
    changelog = source.option("changelog").lower()
    hidden = {*RECORD_COLUMNS, *([OP] if changelog else [])}
    own = StructType([each for each in schema if each.name.lower() not in hidden])
    form = source.option("format", "json").lower()
    if changelog == "debezium":
        return _envelopes(source, own, base, form)
    values = _values(source, own, base, form)
    if not changelog:
        return tuple(values.columns), values
    named = [_declared(source, name, values) for name in name_list(source.option("key.columns"))]
    keys = KeyText(named[0]) if len(named) == 1 else JsonValues(tuple(named))
    return tuple(values.columns), Upserts(values, keys, source.time)


def _values(source: nodes.Source, own: StructType, base: Path, form: str) -> Decoder:
    if form == "raw":
        return RawValues((_raw_column(source, own),))
    if form in FORMATS:
        return record_values(source, _columns(source, own), base)
    files = files_of(source, "/", own)
    if isinstance(files, CsvFiles):
        return CsvValues(files.columns, replace(files.form, multiline=False), files.nulls)
    return JsonValues(files.columns)


def _envelopes(
    source: nodes.Source, own: StructType, base: Path, form: str
) -> tuple[tuple[Column, ...], Envelopes]:
    if form in FORMATS:
        columns = _columns(source, own)
        values: Decoder = record_values(source, envelope_columns(columns, is_json=False), base)
    else:
        columns = files_of(source, "/", own).columns
        values = JsonValues(envelope_columns(columns, is_json=True))
    ignores_truncate = source.option("on.truncate", "fail").lower() == "ignore"
    return columns, Envelopes(columns, values, source.retracts, ignores_truncate)


def _declared(source: nodes.Source, name: str, values: Decoder) -> Column:
    found = next((each for each in values.columns if same(each.name, name)), None)
    if found is None:
        raise PropertyError(
            "MS-PROP-KAFKA",
            f"'key.columns' of {source.name} names {name}, which is not a column of its values.",
            fix=f"Use {', '.join(each.name for each in values.columns)}.",
            place=source.place,
        )
    return found


def _columns(source: nodes.Source, schema: StructType) -> tuple[Column, ...]:
    """The columns of Avro records or Protobuf messages."""
    given = source.option("timestamp.format")
    try:
        times = time_format(given)
    except PatternError as error:
        raise PropertyError(
            "MS-PROP-KAFKA",
            f"{source.name}: 'timestamp.format' = '{given}' {error}.",
            fix="Use iso8601, epoch_millis, epoch_seconds, or a pattern.",
            place=source.place,
        ) from None
    columns = []
    for field in schema:
        sql = field.dataType.simpleString().upper()
        try:
            columns.append(Column(field.name, arrow_type(field.dataType), sql, times))
        except PySparkException:
            raise PropertyError(
                "MS-PROP-KAFKA",
                f"{source.name}: values do not have the type {sql} of column {field.name}.",
                fix="Declare the column STRING and convert it in the query.",
                place=source.place,
            ) from None
    return tuple(columns)


def _raw_column(source: nodes.Source, schema: StructType) -> Column:
    kinds = [field.dataType.simpleString() for field in schema]
    if len(kinds) != 1 or kinds[0] not in ("string", "binary"):
        raise PropertyError(
            "MS-PROP-KAFKA",
            f"{source.name}: with 'format' = 'raw', one column is the value, and it is STRING or "
            f"BINARY; there are {', '.join(schema.names) or 'none'}.",
            fix="Declare one such column, and system columns of the record as you need them.",
            place=source.place,
        )
    field = schema[0]
    return Column(field.name, arrow_type(field.dataType), kinds[0].upper())
