"""Converts Parquet columns to declared types, and finds the values that do not fit."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.connectors.file.values import Mask

_NANOS = 1_000  # in a microsecond


def reads_as(found: pa.DataType, wanted: pa.DataType) -> bool:  # noqa: PLR0911
    """Whether a Parquet type can be read as a declared type without loss. Times in nanoseconds can;
    each value is checked when it is read."""
    if found == wanted:
        return True
    if pa.types.is_dictionary(found):
        return reads_as(found.value_type, wanted)
    if pa.types.is_integer(found):
        width = found.bit_width + (0 if pa.types.is_signed_integer(found) else 1)
        if pa.types.is_signed_integer(wanted):
            return bool(width <= wanted.bit_width)
        return bool(pa.types.is_float64(wanted) and found.bit_width <= 32)
    if pa.types.is_timestamp(found):
        return bool(pa.types.is_timestamp(wanted))
    if pa.types.is_decimal(found) and pa.types.is_decimal(wanted):
        whole = found.precision - found.scale
        return bool(found.scale <= wanted.scale and whole <= wanted.precision - wanted.scale)
    if pa.types.is_float32(found) and pa.types.is_float64(wanted):
        return True
    if _is_list(found) and pa.types.is_list(wanted):
        return reads_as(found.value_type, wanted.value_type)
    if pa.types.is_struct(found) and pa.types.is_struct(wanted):
        own = {each.name.lower(): each.type for each in found}
        return all(
            each.name.lower() not in own or reads_as(own[each.name.lower()], each.type)
            for each in wanted
        )
    if pa.types.is_map(found) and pa.types.is_map(wanted):
        return reads_as(found.key_type, wanted.key_type) and reads_as(
            found.item_type, wanted.item_type
        )
    return _is_text(found) and _is_text(wanted)


def convert_column(column: pa.Array, kind: pa.DataType) -> tuple[pa.Array, Mask]:
    """Returns the column in the declared type, and a mask of the values that do not fit it."""
    bad = np.zeros(len(column), bool)
    if column.type == kind:
        return column, bad
    if pa.types.is_dictionary(column.type):
        return convert_column(column.dictionary_decode(), kind)
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        nanos = pc.fill_null(column.view(pa.int64()), 0).to_numpy()
        bad = nanos % _NANOS != 0
        column = pa.array(nanos // _NANOS, mask=~column.is_valid().to_numpy(zero_copy_only=False))
        return column.cast(kind), bad
    if pa.types.is_timestamp(column.type) and column.type.unit == "s":
        return _from_seconds(column, kind)
    if pa.types.is_nested(kind):
        return _nested(column, kind)
    try:
        return column.cast(kind), bad
    except pa.ArrowInvalid:  # a string that is not UTF-8, or a time out of range
        return _one_by_one(column, kind)


def _from_seconds(column: pa.Array, kind: pa.DataType) -> tuple[pa.Array, Mask]:
    try:
        return column.cast(kind), np.zeros(len(column), bool)
    except pa.ArrowInvalid:
        return _one_by_one(column, kind)


def _one_by_one(column: pa.Array, kind: pa.DataType) -> tuple[pa.Array, Mask]:
    bad = np.zeros(len(column), bool)
    for row in range(len(column)):
        try:
            column[row : row + 1].cast(kind)
        except pa.ArrowInvalid:
            bad[row] = True
    valid = pc.if_else(pa.array(~bad), column, pa.scalar(None, column.type))
    return valid.cast(kind), bad


def _nested(column: pa.Array, kind: pa.DataType) -> tuple[pa.Array, Mask]:
    """Converts the inner values of lists, structs and maps; struct fields are matched by name."""
    if column.offset:
        column = column.take(pa.array(range(len(column))))  # Arrow rejects offsets of a slice
    none, bad = column.is_null(), np.zeros(len(column), bool)
    if pa.types.is_struct(kind):
        own = {each.name.lower(): number for number, each in enumerate(column.type)}
        arrays = []
        for each in kind:
            number = own.get(each.name.lower())
            inner, unfit = pa.nulls(len(column), each.type), bad
            if number is not None:
                inner, unfit = convert_column(pc.struct_field(column, [number]), each.type)
            arrays.append(inner)
            bad = bad | unfit
        return pa.StructArray.from_arrays(arrays, fields=list(kind), mask=none), bad
    if pa.types.is_map(kind):
        keys, unfit = convert_column(column.keys, kind.key_type)
        items, others = convert_column(column.items, kind.item_type)
        bad = _owners(column.offsets, unfit | others, bad)
        return pa.MapArray.from_arrays(column.offsets, keys, items, kind, mask=none), bad
    if not pa.types.is_list(column.type):
        column = column.cast(pa.list_(column.type.value_type))
    inner, unfit = convert_column(column.values, kind.value_type)
    bad = _owners(column.offsets, unfit, bad)
    return pa.ListArray.from_arrays(column.offsets, inner, kind, mask=none), bad


def _owners(offsets: pa.Array, unfit: Mask, bad: Mask) -> Mask:
    """Returns a mask of the rows whose list contains a value that does not fit."""
    found = np.searchsorted(offsets.to_numpy(), np.flatnonzero(unfit), side="right") - 1
    bad[found] = True
    return bad


def _is_list(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_binary_view(kind)
    )
