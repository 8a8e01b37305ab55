"""Formats rows as CSV lines, as a column that Spark computes.

Spark's own CSV writer drops NULL in a file of one column, does not distinguish NULL from a string
that equals 'null.value', and writes a zero as `0E-17`.

    NULL         the text for NULL, without quotes; empty unless 'null.value' is set
    STRING       in quotes if it is empty, is the text for NULL, begins or ends with a blank, or
                 contains a delimiter, a quote or a line break
    DOUBLE       1.5, -0.0, 1.0E20, NaN, Infinity, -Infinity
    DECIMAL      all digits of its scale: 0.00
    TIMESTAMP    2026-01-15T10:00:00.000000Z, with the offset of Spark's time zone
    DATE         2026-01-15
    BOOLEAN      true, false
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from millstream.connectors.row_errors import raise_error
from millstream.errors import PlanError
from millstream.values import CsvDialect

ZONED_PATTERN = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"
LOCAL_PATTERN = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"
_TYPES = (BooleanType, DateType, NumericType, StringType, TimestampNTZType, TimestampType)
_IN_NUMBERS = frozenset("0123456789+-.:ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")


def check_types(sink: str, schema: StructType) -> None:
    """Rejects columns of types that CSV does not support."""
    for each in schema:
        if not isinstance(each.dataType, _TYPES):
            raise PlanError(
                "MS-PLAN-CSV-TYPE",
                f"the sink {sink} writes CSV, and column {each.name} has the type "
                f"{each.dataType.simpleString()}, which CSV does not support.",
                fix="Write it as a string, such as to_json(…), base64(…) or CAST(… AS STRING), or "
                "set 'format' = 'json' or 'parquet'.",
            )


@dataclass(frozen=True, slots=True)
class CsvLines:
    """Builds the Spark expression that formats rows as CSV lines."""

    sink: str
    dialect: CsvDialect = field(default_factory=CsvDialect)
    timestamp_format: str = ""
    ansi: bool = True  # in ANSI mode, Spark casts a decimal to all its digits, not to 0E-2

    def line(self, schema: StructType) -> Column:
        """Returns the CSV line of a row as an expression over these columns."""
        check_types(self.sink, schema)
        columns = [self._field(each.name, each.dataType, len(schema)) for each in schema]
        return F.concat_ws(self.dialect.delimiter, *columns)

    def header(self, schema: StructType) -> str:
        return self.dialect.delimiter.join(self.dialect.field(each.name) for each in schema)

    def _field(self, name: str, kind: DataType, count: int) -> Column:
        column = F.col(_quoted(name))
        text, may_need_quotes = self._text(column, kind)
        dialect = self.dialect
        null: Column = F.lit(dialect.null)
        if count == 1 and not dialect.null:
            null = _reject_null(self.sink, name)
        if may_need_quotes or dialect.null or not _IN_NUMBERS.isdisjoint(self._special):
            text = F.when(self._needs_quotes(text), self._in_quotes(text)).otherwise(text)
        return F.when(column.isNull(), null).otherwise(text)

    def _text(self, column: Column, kind: DataType) -> tuple[Column, bool]:
        """Returns a value as a string, and whether it may contain characters that need quotes."""
        if isinstance(kind, TimestampType | TimestampNTZType):
            pattern = ZONED_PATTERN if isinstance(kind, TimestampType) else LOCAL_PATTERN
            given = self.timestamp_format
            return F.date_format(column, given or pattern), bool(given)
        if isinstance(kind, DecimalType) and not self.ansi:
            return F.format_string(f"%.{kind.scale}f", column), False
        return column.cast("string"), isinstance(kind, StringType)

    @property
    def _special(self) -> set[str]:
        return {self.dialect.delimiter, self.dialect.quote, self.dialect.escape}

    def _needs_quotes(self, text: Column) -> Column:
        characters = "".join(map(re.escape, sorted(self._special)))
        needs = text.rlike(rf"(?s)\A\z|\A[ \t]|[ \t]\z|[{characters}\r\n]")
        return needs | (text == self.dialect.null) if self.dialect.null else needs

    def _in_quotes(self, text: Column) -> Column:
        quote, escape = self.dialect.quote, self.dialect.escape
        if escape != quote:
            text = F.replace(text, F.lit(escape), F.lit(escape * 2))
        inner = F.replace(text, F.lit(quote), F.lit(escape + quote))
        return F.concat(F.lit(quote), inner, F.lit(quote))


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _reject_null(sink: str, column: str) -> Column:
    return raise_error(
        "MS-RUN-CSV-NULL",
        f"the sink {sink} writes one column, {column}, and NULL would be an empty line, which "
        "readers of CSV skip.",
        fix="Set 'null.value' of the sink, such as 'null.value' = 'NULL'.",
    )
