"""Formats rows as CSV for COPY. NULL is an empty value, an empty string is in quotes."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import cast

import polars as pl
import pyarrow as pa

COPY_OPTIONS = "(FORMAT csv, NULL '')"
_TIME = "%Y-%m-%d %H:%M:%S%.6f"


def to_frame(rows: pa.RecordBatch, names: Sequence[str]) -> pl.DataFrame:
    """Returns the named columns in this order, as `c0`, `c1` and so on."""
    by_name = {name.lower(): number for number, name in enumerate(rows.schema.names)}
    columns = [rows.column(by_name[name.lower()]) for name in names]
    table = pa.table(dict(zip(column_names(len(names)), columns, strict=True)))
    return cast("pl.DataFrame", pl.from_arrow(table))


def column_names(count: int) -> list[str]:
    return [f"c{number}" for number in range(count)]


def to_csv(frame: pl.DataFrame) -> bytes:
    """Formats rows as COPY reads them in a session whose time zone is UTC."""
    expressions = [
        found
        for name, kind in frame.schema.items()
        if (found := _expression(name, kind)) is not None
    ]
    text = io.BytesIO()
    frame.with_columns(expressions).write_csv(
        text, include_header=False, quote_style="non_numeric", null_value="", datetime_format=_TIME
    )
    return text.getvalue()


def _expression(name: str, kind: pl.DataType) -> pl.Expr | None:
    if kind == pl.Binary:
        return pl.concat_str(pl.lit("\\x"), pl.col(name).bin.encode("hex")).alias(name)
    if isinstance(kind, pl.Datetime) and kind.time_zone not in (None, "UTC"):
        return pl.col(name).dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    return None
