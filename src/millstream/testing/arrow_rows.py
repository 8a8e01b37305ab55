"""Converts the rows of a case to an Arrow table; rejects nested values that do not fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from millstream.errors import HarnessError


def arrow_rows(rows: Sequence[dict[str, Any]], schema: pa.Schema, source: str) -> pa.Table:
    """Returns rows as a table; raises HarnessError if a value does not fit its column."""
    try:
        return pa.Table.from_pylist(list(rows), schema)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        column = _unfit_column(rows, schema)
        raise HarnessError(
            "MS-TEST-VALUE",
            f"a row of input {source} does not fit its columns{column}: "
            f"{str(error).splitlines()[0].rstrip('.')}.",
        ) from None


def _unfit_column(rows: Sequence[dict[str, Any]], schema: pa.Schema) -> str:
    for field in schema:
        try:
            pa.array([row.get(field.name) for row in rows], field.type)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            return f", of which {field.name} has the type {field.type}"
    return ""
