"""Columns of values from a driver, as Arrow of the declared type. A value that does not fit the
type is an error: it is never rounded, cut or turned into NULL."""

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
    int: ("a whole number", "BIGINT"),
    float: ("a floating-point number", "DOUBLE"),
    Decimal: ("a decimal number", "DECIMAL"),
    str: ("a text", "STRING"),
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


class MisfitError(Exception):
    """A value that the declared type cannot hold: what it is, and the type that could."""

    def __init__(self, kind: str, better: str = "") -> None:
        super().__init__(kind)
        self.kind = kind
        self.better = better


def kinds_of(values: Values) -> set[type]:
    return set(map(type, values)) - {NoneType}


def misfit_of(kind: type) -> MisfitError:
    return MisfitError(*_KINDS.get(kind, (f"a {kind.__name__}", "")))


def array_of(values: Values, declared: pa.DataType) -> pa.Array:
    """Values of Python's own types, each of which the declared type must be able to hold."""
    kinds = kinds_of(values)
    if strange := kinds - _TAKES[family(declared)]:
        raise misfit_of(strange.pop())
    try:
        if Decimal in kinds and family(declared) == "whole":
            # Straight to a whole number, Arrow would cut off the fraction.
            return pa.array(values, pa.decimal128(38, 0)).cast(declared)
        return pa.array(values, declared)
    except (pa.ArrowInvalid, OverflowError):
        raise _too_large(kinds, declared) from None


def _too_large(kinds: set[type], declared: pa.DataType) -> MisfitError:
    name = spark_name(declared)
    if Decimal in kinds:
        return MisfitError(f"a number that {name} cannot hold", "a wider DECIMAL")
    better = {"BIGINT": "DECIMAL(38, 0)", "DOUBLE": "BIGINT"}.get(name, "BIGINT")
    better = "a wider DECIMAL" if family(declared) == "decimal" else better
    return MisfitError(f"a whole number that {name} cannot hold", better)


def frame_of(
    spec: LookupSpec, rows: Sequence[tuple[Any, ...]], readers: Mapping[str, Reader]
) -> pl.DataFrame:
    """Rows of `spec.read` as a frame of the declared types."""
    columns: Sequence[Values] = list(zip(*rows, strict=True)) if rows else [()] * len(spec.read)
    arrays = []
    fields = [spec.schema.field(name) for name in spec.read]
    for field, values in zip(fields, columns, strict=True):
        try:
            arrays.append(readers.get(field.name, array_of)(values, field.type))
        except MisfitError as misfit:
            raise wrong_value(spec, field.name, misfit.kind, misfit.better) from None
    return cast("pl.DataFrame", pl.from_arrow(pa.table(arrays, schema=pa.schema(fields))))


def empty_frame(spec: LookupSpec) -> pl.DataFrame:
    schema = pa.schema([spec.schema.field(name) for name in spec.read])
    return cast("pl.DataFrame", pl.from_arrow(schema.empty_table()))
