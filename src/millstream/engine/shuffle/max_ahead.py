"""Rejects rows whose event time is too far ahead of processing time.

One such row would move the watermark, and all rows after it would be late. The decision depends
only on the batch's processing time from the offset log, so a retried batch rejects the same rows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import DataType, TimestampType

from millstream.connectors.dead_letters import AHEAD_OF_TIME, DEAD_LETTER
from millstream.temporal import format_span

_ISO = "%Y-%m-%dT%H:%M:%S%.fZ"
_LAST = 250_000_000_000_000_000  # microseconds; later times have no date


@dataclass(frozen=True, slots=True)
class MaxAhead:
    """The limit of one source, in microseconds. `columns` are packet columns, each with the column
    of the stream that it is, and whether it is a time in microseconds."""

    source: str
    column: str
    limit: int
    columns: tuple[tuple[str, str, bool], ...]

    @classmethod
    def of(
        cls,
        source: str,
        column: str,
        limit: int,
        packed: Mapping[str, str],
        types: Mapping[str, DataType],
    ) -> MaxAhead:
        columns = tuple(
            (packet_name, name, isinstance(types[name], TimestampType))
            for packet_name, name in packed.items()
            if name in types
        )
        return cls(source, column, limit, columns)

    def split(self, chunk: pa.Table, time: str, now: int) -> tuple[pa.Table, pa.Table | None]:
        """Returns the rows within the limit, and the others as dead letters."""
        max_time = pc.max(chunk[time]).as_py()
        if max_time is None or max_time <= now + self.limit:
            return chunk, None
        ahead = pc.greater(chunk[time], now + self.limit)
        rejected = self._letters(chunk.filter(ahead), time, now)
        return chunk.filter(pc.invert(ahead)), rejected

    def _letters(self, rows: pa.Table, time: str, now: int) -> pa.Table:
        frame = cast("pl.DataFrame", pl.from_arrow(rows))
        own: dict[str, tuple[str, bool]] = {}
        for packet_name, name, is_time in self.columns:
            if packet_name in frame.columns:
                own.setdefault(name, (packet_name, is_time))
        shown = [
            _iso(packet_name).alias(name)
            if is_time and frame.schema[packet_name] == pl.Int64
            else pl.col(packet_name).alias(name)
            for name, (packet_name, is_time) in own.items()
        ]
        if self.column not in own:
            shown.append(_iso(time).alias(self.column))
        value = frame.select(_iso(time).alias("value"))["value"]
        moment = pl.select(_at(pl.lit(now, pl.Int64))).item()
        tail = f" is more than {format_span(self.limit)} ahead of processing time, {moment}."
        count = frame.height
        columns = {
            "_source": pa.repeat(self.source, count),
            "_reason": pa.repeat(AHEAD_OF_TIME, count),
            "_message": (f"{self.column} = " + value + tail).to_arrow(),
            "_raw": _json(frame.select(shown)).to_arrow(),
            "_column": pa.repeat(self.column, count),
            "_value": value.to_arrow(),
            "_time": pa.repeat(pa.scalar(now, pa.int64()), count),
        }
        arrays = [
            columns[field.name].cast(field.type)
            if field.name in columns
            else pa.nulls(count, field.type)
            for field in DEAD_LETTER
        ]
        return pa.Table.from_arrays(arrays, schema=DEAD_LETTER)


def _iso(column: str) -> pl.Expr:
    return _at(pl.col(column))


def _at(micros: pl.Expr) -> pl.Expr:
    dated = micros.clip(-_LAST, _LAST).cast(pl.Datetime("us")).dt.strftime(_ISO)
    return pl.when(micros.abs() < _LAST).then(dated).otherwise(micros.cast(pl.String))


def _json(frame: pl.DataFrame) -> pl.Series:
    try:
        return frame.select(pl.struct(pl.all()).struct.json_encode().alias("raw"))["raw"]
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        texts = [json.dumps(row, default=str, ensure_ascii=False) for row in frame.to_dicts()]
        return pl.Series("raw", texts, pl.String)
