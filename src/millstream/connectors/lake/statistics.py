"""Statistics of a data file, with which readers of a table skip files.

A wrong statistic loses rows in a reader, a missing one only costs time. So there are none of types
whose order differs between readers, such as floats with NaN, and of long texts.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow.parquet as pq

_MAX_TEXT = 64
_MAX_COLUMNS = 32


def file_statistics(metadata: pq.FileMetaData) -> str:
    """Returns the statistics of a data file as JSON."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    least: dict[str, Any] = {}
    most: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    for number in range(min(metadata.num_columns, _MAX_COLUMNS)):
        column = metadata.schema.column(number)
        if column.path != column.name:
            continue  # part of a nested column
        chunks = [group.column(number).statistics for group in groups]
        if not chunks or any(each is None or not each.has_null_count for each in chunks):
            continue
        nulls[column.name] = sum(each.null_count for each in chunks)
        ranged = [each for each in chunks if each.num_values]
        if not ranged or not all(each.has_min_max for each in ranged):
            continue
        low = _encoded(column, min(each.min_raw for each in ranged))
        high = _encoded(column, max(each.max_raw for each in ranged))
        if low is not None and high is not None:
            least[column.name], most[column.name] = low, high
    made = {
        "numRecords": metadata.num_rows,
        "minValues": least,
        "maxValues": most,
        "nullCount": nulls,
    }
    return json.dumps(made, ensure_ascii=False)


def _encoded(column: pq.ColumnSchema, value: Any) -> int | str | None:
    """Returns a value as the Delta protocol writes it; None if there is to be no statistic."""
    logical = column.logical_type
    if logical.type == "STRING":
        text = value.decode() if isinstance(value, bytes) else str(value)
        return text if len(text) <= _MAX_TEXT else None
    if column.physical_type not in ("INT32", "INT64"):
        return None
    if logical.type in ("NONE", "INT"):
        return int(value)
    if logical.type == "DATE":
        return str(np.datetime64(int(value), "D"))
    details = json.loads(logical.to_json())
    is_instant = details.get("isAdjustedToUTC") and details.get("timeUnit") == "microseconds"
    if logical.type == "TIMESTAMP" and is_instant:
        return f"{np.datetime64(int(value), 'us')}Z"
    return None
