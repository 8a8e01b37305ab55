"""Derives Avro schemas from columns, and checks columns against a schema."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

from millstream.connectors.kafka.formats.avro_blocks import AvroSchema
from millstream.connectors.kafka.formats.conversions import field_of, type_name
from millstream.connectors.kafka.formats.schema_error import SchemaError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLAIN: tuple[tuple[Any, Any], ...] = (
    (pa.types.is_string, "string"),
    (pa.types.is_binary, "bytes"),
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_float32, "float"),
    (pa.types.is_floating, "double"),
    (pa.types.is_int64, "long"),
    (pa.types.is_integer, "int"),
    (pa.types.is_date, {"type": "int", "logicalType": "date"}),
)
# The types of Avro that have the values of a column's type.
_ACCEPTED: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (pa.types.is_string, ("string", "enum")),
    (pa.types.is_binary, ("bytes", "fixed")),
    (pa.types.is_boolean, ("boolean",)),
    (pa.types.is_float32, ("float", "double")),
    (pa.types.is_floating, ("double",)),
    (pa.types.is_int64, ("long", "double", "float")),
    (pa.types.is_integer, ("int", "long", "double", "float")),
    (pa.types.is_date, ("date",)),
    (pa.types.is_decimal, ("decimal",)),
    (pa.types.is_list, ("array",)),
    (pa.types.is_map, ("map",)),
    (pa.types.is_struct, ("record",)),
)
_ZONED = ("timestamp-millis", "timestamp-micros")
_LOCAL = ("local-timestamp-millis", "local-timestamp-micros")


def record_schema(kind: pa.StructType, name: str) -> dict[str, Any]:
    """Returns the schema of records with these columns, each of which may be NULL."""
    if not _NAME.fullmatch(name):
        name = re.sub(r"[^A-Za-z0-9_]", "_", name)
        name = name if _NAME.fullmatch(name) else f"_{name}"
    fields = []
    for field in kind:
        if not _NAME.fullmatch(field.name):
            raise SchemaError(
                f"column {field.name}: Avro names have only letters, digits and _; rename it "
                "with AS"
            )
        value = _type_of(field.type, f"{name}_{field.name}")
        fields.append({"name": field.name, "type": ["null", value], "default": None})
    return {"type": "record", "name": name, "fields": fields}


def _type_of(kind: pa.DataType, name: str) -> Any:
    if pa.types.is_timestamp(kind):
        logical = "local-timestamp-micros" if kind.tz is None else "timestamp-micros"
        return {"type": "long", "logicalType": logical}
    if pa.types.is_decimal(kind):
        return {
            "type": "bytes",
            "logicalType": "decimal",
            "precision": kind.precision,
            "scale": kind.scale,
        }
    if pa.types.is_struct(kind):
        return record_schema(kind, name)
    if pa.types.is_list(kind):
        return {"type": "array", "items": ["null", _type_of(kind.value_type, name)]}
    if pa.types.is_map(kind) and pa.types.is_string(kind.key_type):
        return {"type": "map", "values": ["null", _type_of(kind.item_type, name)]}
    for matches, found in _PLAIN:
        if matches(kind):
            return found
    raise SchemaError(f"Avro has no type for {type_name(kind)}")


def field_names(schema: AvroSchema, kind: pa.StructType) -> list[str]:
    """Returns the field of each column; raises SchemaError if the columns do not fit a schema."""
    types = {field["name"]: field for field in schema["fields"]}
    known = pa.schema([(name, pa.null()) for name in types])
    names = []
    for field in kind:
        name = field_of(field.name, known)
        if name is None:
            raise SchemaError(f"it has no field {field.name}, which the query selects")
        if not _accepts(types[name]["type"], field.type):
            raise SchemaError(f"its field {name} does not accept {type_name(field.type)}")
        names.append(name)
    for name, field in types.items():
        if name not in names and "default" not in field and not _has_null(field["type"]):
            raise SchemaError(f"its field {name} has no default, and the query does not select it")
    return names


def required(schema: AvroSchema) -> set[str]:
    """Returns the fields that are never NULL."""
    return {field["name"] for field in schema["fields"] if not _has_null(field["type"])}


def _has_null(kind: Any) -> bool:
    return kind == "null" or (isinstance(kind, list) and "null" in kind)


def _accepts(avro: Any, kind: pa.DataType) -> bool:
    if isinstance(avro, list):
        return any(_accepts(each, kind) for each in avro if each != "null")
    if isinstance(avro, dict) and isinstance(avro["type"], dict | list):
        return _accepts(avro["type"], kind)
    name = avro.get("logicalType") or avro["type"] if isinstance(avro, dict) else avro
    if pa.types.is_timestamp(kind):
        return name in (_LOCAL if kind.tz is None else _ZONED)
    if isinstance(avro, str) and avro not in _BASIC:
        return True  # a reference to a named type, which the writer checks
    if name == "uuid":
        name = "string"
    return any(matches(kind) and name in names for matches, names in _ACCEPTED)


_BASIC = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
