"""Types of columns: their canonical names, which are Spark's, and their Arrow types."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp
from sqlglot.errors import SqlglotError

_Type = exp.DType
_PLAIN = {
    _Type.BOOLEAN: "boolean",
    _Type.TINYINT: "tinyint",
    _Type.SMALLINT: "smallint",
    _Type.INT: "int",
    _Type.BIGINT: "bigint",
    _Type.FLOAT: "float",
    _Type.DOUBLE: "double",
    _Type.TEXT: "string",
    _Type.BINARY: "binary",
    _Type.DATE: "date",
    _Type.TIMESTAMP: "timestamp",
    _Type.TIMESTAMPTZ: "timestamp",
    _Type.TIMESTAMPLTZ: "timestamp",
    _Type.TIMESTAMPNTZ: "timestamp_ntz",
}
_ARROW = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_KNOWN = [*_ARROW, "decimal(p, s)", "array<…>", "map<…>", "struct<…>"]
_MAX_PRECISION = 38


def canonical_type(text: str) -> str:
    """Returns the name of a type, such as decimal(18,6) for DECIMAL(18, 6).

    Raises ValueError with the reason if it is not a type that a column can have.
    """
    return _name(_parse_type(text))


def arrow_type(text: str) -> pa.DataType:
    """Returns the Arrow type of a type's name."""
    return _arrow(_parse_type(text))


def spark_type(found: pa.DataType) -> str | None:
    """Returns the type as which Spark reads an Arrow type of a Parquet file; None if it cannot."""
    if pa.types.is_dictionary(found):
        return spark_type(found.value_type)
    if pa.types.is_large_string(found) or pa.types.is_string_view(found):
        return "string"
    if pa.types.is_large_binary(found) or pa.types.is_fixed_size_binary(found):
        return "binary"
    if pa.types.is_unsigned_integer(found):
        wider = {8: "smallint", 16: "int", 32: "bigint", 64: "decimal(20,0)"}
        return wider[found.bit_width]
    if pa.types.is_timestamp(found):
        return None if found.unit == "ns" else "timestamp" if found.tz else "timestamp_ntz"
    if pa.types.is_decimal(found):
        fits = 0 <= found.scale <= found.precision <= _MAX_PRECISION
        return f"decimal({found.precision},{found.scale})" if fits else None
    if pa.types.is_nested(found):
        return _nested_type(found)
    return next((name for name, kind in _ARROW.items() if kind == found), None)


def _nested_type(found: pa.DataType) -> str | None:
    if pa.types.is_struct(found):
        fields = [(each.name, spark_type(each.type)) for each in found]
        text = ",".join(f"{name}:{kind}" for name, kind in fields)
        return f"struct<{text}>" if all(kind for _, kind in fields) else None
    if pa.types.is_map(found):
        key, item = spark_type(found.key_type), spark_type(found.item_type)
        return f"map<{key},{item}>" if key and item else None
    if pa.types.is_list(found) or pa.types.is_large_list(found):
        element = spark_type(found.value_type)
        return f"array<{element}>" if element else None
    return None


def _parse_type(text: str) -> exp.DataType:
    try:
        return exp.DataType.build(text, dialect="spark")
    except (SqlglotError, ValueError, RecursionError):
        raise ValueError(f"{text!r} is not a type; known: {_known_types()}") from None


def _name(kind: exp.DataType) -> str:
    if isinstance(kind.this, _Type) and kind.this in _PLAIN and not kind.expressions:
        return _PLAIN[kind.this]
    if kind.this is _Type.DECIMAL:
        return "decimal({},{})".format(*_decimal(kind))
    inner = kind.expressions
    if kind.this is _Type.ARRAY and len(inner) == 1:
        return f"array<{_name(inner[0])}>"
    if kind.this is _Type.MAP and len(inner) == 2:
        return f"map<{_name(inner[0])},{_name(inner[1])}>"
    if kind.this is _Type.STRUCT and inner and all(_is_field(each) for each in inner):
        return "struct<" + ",".join(f"{each.name}:{_name(each.kind)}" for each in inner) + ">"
    raise ValueError(f"a column cannot have the type {kind.sql('spark')}; known: {_known_types()}")


def _known_types() -> str:
    return ", ".join(_KNOWN)


def _is_field(each: exp.Expression) -> bool:
    return isinstance(each, exp.ColumnDef) and isinstance(each.kind, exp.DataType)


def _decimal(kind: exp.DataType) -> tuple[int, int]:
    given = [int(each.name) for each in kind.expressions if each.name.isdecimal()]
    precision, scale = (*given, 10, 0)[:2] if len(given) != 1 else (given[0], 0)
    if not 1 <= precision <= _MAX_PRECISION or scale > precision:
        raise ValueError(
            f"decimal({precision},{scale}) is not a type: the precision is 1 to {_MAX_PRECISION}, "
            "and the scale at most the precision"
        )
    return precision, scale


def _arrow(kind: exp.DataType) -> pa.DataType:
    if kind.this is _Type.DECIMAL:
        return pa.decimal128(*_decimal(kind))
    if kind.this is _Type.ARRAY:
        return pa.list_(_arrow(kind.expressions[0]))
    if kind.this is _Type.MAP:
        return pa.map_(*map(_arrow, kind.expressions))
    if kind.this is _Type.STRUCT:
        return pa.struct([(each.name, _arrow(each.kind)) for each in kind.expressions])
    return _ARROW[_name(kind)]
