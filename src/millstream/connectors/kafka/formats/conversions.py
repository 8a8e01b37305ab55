"""Converts columns that a block reader returns to the declared types of a source."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from millstream.connectors.file.rejections import Flaw
from millstream.connectors.file.values import Column, Epoch, TimeFormat, in_range
from millstream.suggestions import same

Conversion = Callable[[pa.Array], pa.Array]  # raises ArrowInvalid if a value does not fit
_WIDE = 38  # digits of the greatest decimal


def conversion(found: pa.DataType, wanted: pa.DataType, times: TimeFormat) -> Conversion | None:
    """Returns how values of a type become values of another one; None if they cannot."""
    if pa.types.is_dictionary(found):
        inner = conversion(found.value_type, wanted, times)
        return None if inner is None else lambda array: inner(array.dictionary_decode())
    if _is_string(found) and not _is_string(wanted):
        textual = pa.types.is_timestamp(wanted) or pa.types.is_date(wanted)
        return Column("", wanted, "TIME", times).values if textual else None
    if pa.types.is_integer(found) and pa.types.is_timestamp(wanted):
        return _since_epoch(wanted, times) if isinstance(times, Epoch) else None
    for nested, convert in _NESTED:
        if nested(wanted):
            return convert(found, wanted, times) if nested(found) or _is_list(found) else None
    return (lambda array: _cast(array, wanted)) if _is_castable(found, wanted) else None


def conversions(
    found: pa.Schema, columns: tuple[Column, ...]
) -> dict[str, tuple[str, Conversion | None]]:
    """Returns the field and the conversion of each column that a schema has."""
    made = {}
    for column in columns:
        name = field_of(column.name, found)
        if name is not None:
            made[column.name] = name, conversion(found.field(name).type, column.type, column.format)
    return made


def field_of(name: str, schema: pa.Schema | pa.StructType) -> str | None:
    """Returns the field of a column's name; one in other letters if there is none in these."""
    names = [field.name for field in schema]
    return name if name in names else next((each for each in names if same(each, name)), None)


def converted(
    table: pa.Table, columns: tuple[Column, ...]
) -> tuple[list[pa.Array], dict[int, Flaw]]:
    """Returns the columns of a block, and the rows with a value that does not fit."""
    how = conversions(table.schema, columns)
    arrays: list[pa.Array] = []
    flaws: dict[int, Flaw] = {}
    for column in columns:
        name, convert = how.get(column.name, ("", None))
        if not name:
            arrays.append(pa.nulls(table.num_rows, column.type))
            continue
        values = table[name].combine_chunks()
        values = pa.concat_arrays(values.chunks) if isinstance(values, pa.ChunkedArray) else values
        if convert is None:
            flaw = Flaw(
                f"column {column.name}: the schema has {type_name(values.type)}, which is not "
                f"{column.type_name}.",
                column.name,
            )
            flaws |= {row: flaws.get(row, flaw) for row in range(len(values))}
            arrays.append(pa.nulls(len(values), column.type))
            continue
        unfit = list(_unfit(values, convert, 0))
        for row in unfit:
            flaws.setdefault(row, Flaw.of(column, _shown(values[row])))
        if unfit:
            sound = pa.array([row not in set(unfit) for row in range(len(values))])
            values = pc.if_else(sound, values, pa.scalar(None, values.type))
        arrays.append(convert(values))
    return arrays, flaws


def type_name(kind: pa.DataType) -> str:
    """Returns an Arrow type for messages."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return "STRING" if _is_string(kind) else "BINARY" if _is_binary(kind) else str(kind).upper()


def _shown(value: pa.Scalar) -> str:
    try:
        return str(value.as_py())
    except (OverflowError, ValueError):  # a time that Python does not have
        return str(value.value)


def _unfit(values: pa.Array, convert: Conversion, first: int) -> Iterator[int]:
    """Yields the rows whose values do not fit, by halves."""
    try:
        convert(values)
    except pa.ArrowInvalid:
        half = len(values) // 2
        if half == 0:
            yield first
        else:
            yield from _unfit(values[:half], convert, first)
            yield from _unfit(values[half:], convert, first + half)


def _is_string(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def _is_binary(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_binary_view(kind)
        or pa.types.is_fixed_size_binary(kind)
    )


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _is_castable(found: pa.DataType, wanted: pa.DataType) -> bool:
    if pa.types.is_timestamp(wanted):
        return bool(pa.types.is_timestamp(found) and (found.tz is None) == (wanted.tz is None))
    if pa.types.is_floating(wanted):
        return bool(pa.types.is_integer(found) or pa.types.is_floating(found))
    if pa.types.is_decimal(wanted):
        return bool(pa.types.is_integer(found) or pa.types.is_decimal(found))
    same_kind = (_is_string, _is_binary, pa.types.is_integer, pa.types.is_boolean, pa.types.is_date)
    return any(kind(found) and kind(wanted) for kind in same_kind)


def _cast(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    if pa.types.is_decimal(wanted) and pa.types.is_integer(array.type):
        array = array.cast(pa.decimal128(_WIDE, wanted.scale))
    exact = not pa.types.is_floating(wanted)
    made = array.cast(wanted, safe=exact)
    if not exact and pc.sum(pc.is_inf(made)).as_py() != _infinite(array):
        raise pa.ArrowInvalid("out of range")
    return in_range(made)


def _infinite(array: pa.Array) -> int | None:
    if not pa.types.is_floating(array.type):
        return 0 if len(array) > array.null_count else None
    return pc.sum(pc.is_inf(array)).as_py()  # type: ignore[no-any-return]


def _since_epoch(wanted: pa.DataType, unit: Epoch) -> Conversion:
    factor = 1_000 if unit is Epoch.MILLIS else 1_000_000

    def convert(array: pa.Array) -> pa.Array:
        micros = pc.multiply_checked(array.cast(pa.int64()), pa.scalar(factor, pa.int64()))
        return in_range(micros.cast(wanted))

    return convert


def _struct(found: pa.DataType, wanted: pa.DataType, times: TimeFormat) -> Conversion | None:
    if not pa.types.is_struct(found):
        return None
    fields: dict[str, tuple[str, Conversion]] = {}
    for field in wanted:
        name = field_of(field.name, found)
        if name is None:
            continue
        inner = conversion(found.field(name).type, field.type, times)
        if inner is None:
            return None
        fields[field.name] = name, inner

    def convert(array: pa.Array) -> pa.Array:
        missing = array.is_null()
        parts = []
        for field in wanted:
            if field.name not in fields:
                parts.append(pa.nulls(len(array), field.type))
                continue
            name, inner = fields[field.name]
            part = pc.struct_field(array, found.get_field_index(name))  # NULL where the struct is
            parts.append(inner(part))
        return pa.StructArray.from_arrays(parts, fields=list(wanted), mask=missing)

    return convert


def _list(found: pa.DataType, wanted: pa.DataType, times: TimeFormat) -> Conversion | None:
    if not _is_list(found):
        return None
    inner = conversion(found.value_type, wanted.value_type, times)
    if inner is None:
        return None

    def convert(array: pa.Array) -> pa.Array:
        offsets = pc.list_value_length(array).fill_null(0)
        ends = pa.concat_arrays(
            [pa.array([0], pa.int32()), pc.cumulative_sum(offsets).cast(pa.int32())]
        )
        values = inner(array.flatten())
        return pa.ListArray.from_arrays(ends, values, type=wanted, mask=array.is_null())

    return convert


def _map(found: pa.DataType, wanted: pa.DataType, times: TimeFormat) -> Conversion | None:
    if not pa.types.is_map(found):
        return None
    keys = conversion(found.key_type, wanted.key_type, times)
    items = conversion(found.item_type, wanted.item_type, times)
    if keys is None or items is None:
        return None

    def convert(array: pa.Array) -> pa.Array:
        entries = array.cast(pa.map_(found.key_type, found.item_type))
        if entries.null_count:  # a map that is NULL becomes empty below its mask
            entries = pa.concat_arrays([entries])
        made = pa.MapArray.from_arrays(entries.offsets, keys(entries.keys), items(entries.items))
        return pc.if_else(array.is_valid(), made, pa.scalar(None, made.type)).cast(wanted)

    return convert


_Nested = Callable[[pa.DataType, pa.DataType, TimeFormat], Conversion | None]
_NESTED: tuple[tuple[Callable[[pa.DataType], bool], _Nested], ...] = (
    (pa.types.is_struct, _struct),
    (pa.types.is_list, _list),
    (pa.types.is_map, _map),
)
