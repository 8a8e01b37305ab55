"""Formats rows as CSV lines, which Spark writes as text files.

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

from pyspark.sql import Column, DataFrame, Window
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
from millstream.plan.file_sinks import CsvDialect

LINE = "_ms_line"
ZONED_PATTERN = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"
LOCAL_PATTERN = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"
_TYPES = (BooleanType, DateType, NumericType, StringType, TimestampNTZType, TimestampType)
_IN_NUMBERS = frozenset("0123456789+-.:ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_ROWS_BITS = 33  # of monotonically_increasing_id, below the partition number


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
    sink: str
    dialect: CsvDialect = field(default_factory=CsvDialect)
    timestamp_format: str = ""
    ansi: bool = True  # whether Spark casts a decimal to all its digits, not to 0E-2

    def lines(self, rows: DataFrame, partition_by: tuple[str, ...]) -> DataFrame:
        """Returns the column LINE and partition columns; the first line of a file is the header."""
        folders = {name.lower() for name in partition_by}
        schema = StructType([each for each in rows.schema if each.name.lower() not in folders])
        check_types(self.sink, schema)
        columns = [self._field(each.name, each.dataType, len(schema)) for each in schema]
        line = F.concat_ws(self.dialect.delimiter, *columns)
        names = [F.col(_quoted(name)) for name in partition_by]
        if not self.dialect.header:
            return rows.select(line.alias(LINE), *names)
        header = self.dialect.delimiter.join(self.dialect.field(each.name) for each in schema)
        return self._with_header(rows, line, f"{header}\n", names)

    def _with_header(
        self, rows: DataFrame, line: Column, header: str, names: list[Column]
    ) -> DataFrame:
        number = F.monotonically_increasing_id()
        if not names:  # a task writes one file
            first = number.bitwiseAND((1 << _ROWS_BITS) - 1) == 0
            return rows.select(_headed(first, header, line).alias(LINE))
        # A task writes the rows of a folder in the order of the window, so the header is first.
        given = rows.repartition(*names).select(
            line.alias(LINE), *names, number.alias("_ms_number")
        )
        window = Window.partitionBy(*names).orderBy("_ms_number")
        place = F.row_number().over(window)
        return given.select(_headed(place == 1, header, F.col(LINE)).alias(LINE), *names)

    def _field(self, name: str, kind: DataType, count: int) -> Column:
        column = F.col(_quoted(name))
        text, free = self._text(column, kind)
        dialect = self.dialect
        null: Column = F.lit(dialect.null)
        if count == 1 and not dialect.null:
            null = _no_line(self.sink, name)
        if free or dialect.null or not _IN_NUMBERS.isdisjoint(self._special):
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


def _headed(first: Column, header: str, line: Column) -> Column:
    return F.when(first, F.concat(F.lit(header), line)).otherwise(line)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _no_line(sink: str, column: str) -> Column:
    return raise_error(
        "MS-RUN-CSV-NULL",
        f"the sink {sink} writes one column, {column}, and NULL would be an empty line, which "
        "readers of CSV skip.",
        fix="Set 'null.value' of the sink to a text, such as NULL.",
    )
