"""Converts values of a database driver to Arrow columns of the declared types.

A value that does not fit its type is an error: it is never rounded, truncated or set to NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from types import NoneType
from typing import Any, cast

import polars as pl
import pyarrow as pa

from millstream.connectors.lookup.failures import wrong_value
from millstream.connectors.lookup.spec import LookupSpec
from millstream.connectors.lookup.types import Family, family, spark_name

Values = Sequence[Any]
Reader = Callable[[Values, pa.DataType], pa.Array]

_KINDS: dict[type, tuple[str, str]] = {
    bool: ("a boolean", "BOOLEAN"),
    int: ("an integer", "BIGINT"),
    float: ("a floating-point number", "DOUBLE"),
    Decimal: ("a decimal number", "DECIMAL"),
    str: ("a string", "STRING"),
    bytes: ("bytes", "BINARY"),
}
_TAKES: dict[Family, frozenset[type]] = {
    "boolean": frozenset({bool}),
    "whole": frozenset({int, Decimal}),
    "float": frozenset({float}),
    "double": frozenset({float, int}),
    "decimal": frozenset({Decimal, int}),
    "string": frozenset({str}),
    "binary": frozenset({bytes}),
}


class ValueMismatchError(Exception):
    """A value does not fit the declared type. `kind` describes it, `better` is a type that fits."""

    def __init__(self, kind: str, better: str = "") -> None:
        super().__init__(kind)
        self.kind = kind
        self.better = better


def value_types(values: Values) -> set[type]:
    return set(map(type, values)) - {NoneType}


def mismatch_for(kind: type) -> ValueMismatchError:
    return ValueMismatchError(*_KINDS.get(kind, (f"a {kind.__name__}", "")))


def to_array(values: Values, declared: pa.DataType) -> pa.Array:
    """Converts Python values to an Arrow array; raises ValueMismatchError if one does not fit."""
    kinds = value_types(values)
    if strange := kinds - _TAKES[family(declared)]:
        raise mismatch_for(strange.pop())
    try:
        if Decimal in kinds and family(declared) == "whole":
            # Arrow truncates decimals that it converts to integers directly.
            return pa.array(values, pa.decimal128(38, 0)).cast(declared)
        return pa.array(values, declared)
    except (pa.ArrowInvalid, OverflowError):
        raise _too_large(kinds, declared) from None


def _too_large(kinds: set[type], declared: pa.DataType) -> ValueMismatchError:
    name = spark_name(declared)
    if Decimal in kinds:
        return ValueMismatchError(f"a number out of the range of {name}", "a wider DECIMAL")
    better = {"BIGINT": "DECIMAL(38, 0)", "DOUBLE": "BIGINT"}.get(name, "BIGINT")
    better = "a wider DECIMAL" if family(declared) == "decimal" else better
    return ValueMismatchError(f"an integer out of the range of {name}", better)


def to_frame(
    spec: LookupSpec, rows: Sequence[tuple[Any, ...]], readers: Mapping[str, Reader]
) -> pl.DataFrame:
    """Returns rows with the columns `spec.read` as a DataFrame of the declared types."""
    columns: Sequence[Values] = list(zip(*rows, strict=True)) if rows else [()] * len(spec.read)
    arrays = []
    fields = [spec.schema.field(name) for name in spec.read]
    for field, values in zip(fields, columns, strict=True):
        try:
            arrays.append(readers.get(field.name, to_array)(values, field.type))
        except ValueMismatchError as misfit:
            raise wrong_value(spec, field.name, misfit.kind, misfit.better) from None
    return cast("pl.DataFrame", pl.from_arrow(pa.table(arrays, schema=pa.schema(fields))))


def empty_frame(spec: LookupSpec) -> pl.DataFrame:
    schema = pa.schema([spec.schema.field(name) for name in spec.read])
    return cast("pl.DataFrame", pl.from_arrow(schema.empty_table()))
