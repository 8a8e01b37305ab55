"""Encodes rows as Avro records or Protobuf messages, on executors."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import fastavro
import pyarrow as pa
import pyarrow.compute as pc

from millstream.connectors.kafka.formats.avro_schema import field_names, required
from millstream.connectors.kafka.formats.conversions import conversion, field_of, type_name
from millstream.connectors.kafka.formats.protobuf_schema import ProtobufSchema
from millstream.connectors.kafka.formats.schema_error import SchemaError
from millstream.errors import RunError


class ValueEncoder(Protocol):
    """Encodes structs, of which a NULL stays one: a tombstone."""

    def encode(self, values: pa.StructArray) -> Sequence[bytes | None]: ...


@dataclass(frozen=True, slots=True)
class AvroEncoder:
    """`prefix` begins each value, with the id of its schema."""

    owner: str
    schema: str
    prefix: bytes = b""

    def encode(self, values: pa.StructArray) -> Sequence[bytes | None]:
        schema, parsed = _parsed(self.schema)
        names = field_names(schema, values.type)
        never_null = required(schema)
        columns = []
        for index, name in enumerate(names):
            column = pc.struct_field(values, index)
            if name in never_null and column.filter(values.is_valid()).null_count:
                raise _unfit(self.owner, f"{name} is NULL, but its Avro type does not allow null")
            columns.append(column.to_pylist(maps_as_pydicts="strict"))
        given = values.is_valid().to_pylist()
        out = io.BytesIO()
        places = [0]
        try:
            for row, record in enumerate(zip(*columns, strict=True)):
                if given[row]:
                    out.write(self.prefix)
                    fastavro.schemaless_writer(out, parsed, dict(zip(names, record, strict=True)))
                places.append(out.tell())
        except (ValueError, TypeError, OverflowError, AttributeError, KeyError) as error:
            reason = str(error).split(" on field ")[-1][:200]
            raise _unfit(self.owner, f"a row does not fit its Avro schema: {reason}") from None
        data = out.getvalue()
        return [
            data[begin:end] if is_given else None
            for begin, end, is_given in zip(places, places[1:], given, strict=False)
        ]


@dataclass(frozen=True, slots=True)
class ProtobufEncoder:
    """A NULL column is not part of the message: its reader finds the default of its type."""

    owner: str
    schema: ProtobufSchema
    prefix: bytes = b""

    def encode(self, values: pa.StructArray) -> Sequence[bytes | None]:
        from millstream.connectors.kafka.formats.protobuf import handler_of

        handler, message = handler_of(self.schema), self.schema.message
        wanted = handler.schema()
        columns, fields = [], []
        for index, field in enumerate(values.type):
            name = _field(field, wanted)
            convert = conversion(field.type, wanted.field(name).type, None)
            if convert is None:
                raise SchemaError(_no_type(name, field))
            column = pc.struct_field(values, index)
            try:
                column = convert(column)
            except pa.ArrowInvalid:
                reason = f"a value of {name} does not fit its Protobuf type"
                raise _unfit(self.owner, reason) from None
            self._check_enums(message.fields_by_name[name], column)
            columns.append(column)
            fields.append(wanted.field(name).with_nullable(True))
        batch = pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))
        encoded = handler.record_batch_to_array(batch).to_pylist()
        return [
            self.prefix + value if is_given else None
            for value, is_given in zip(encoded, values.is_valid().to_pylist(), strict=True)
        ]

    def _check_enums(self, field: Any, column: pa.Array) -> None:
        """Raises an error for a label that an enum does not have, which would become its first."""
        if pa.types.is_map(column.type):
            if field.message_type is not None:
                inner = field.message_type.fields_by_name["value"]
                self._check_enums(inner, column.items)
            return
        if pa.types.is_list(column.type):
            column = column.flatten()
        if field.enum_type is not None:
            labels = pa.array(list(field.enum_type.values_by_name), pa.string())
            known = pc.is_in(column, value_set=labels)
            unknown = column.filter(pc.and_(column.is_valid(), pc.invert(known)))
            if len(unknown):
                reason = f"{unknown[0].as_py()!r} is not a value of the enum {field.enum_type.name}"
                raise _unfit(self.owner, reason)
        elif pa.types.is_struct(column.type):
            for index, each in enumerate(column.type):
                inner = field.message_type.fields_by_name[each.name]
                self._check_enums(inner, pc.struct_field(column, index))


def check_protobuf(schema: ProtobufSchema, kind: pa.StructType) -> None:
    """Raises SchemaError if columns do not fit a message."""
    from millstream.connectors.kafka.formats.protobuf import arrow_schema

    wanted = arrow_schema(schema)
    for field in kind:
        name = _field(field, wanted)
        if conversion(field.type, wanted.field(name).type, None) is None:
            raise SchemaError(_no_type(name, field))


def _field(field: pa.Field, wanted: pa.Schema) -> str:
    name = field_of(field.name, wanted)
    if name is None:
        raise SchemaError(f"it has no field {field.name}, which the query selects")
    return name


def _no_type(name: str, field: pa.Field) -> str:
    return f"its field {name} does not accept {type_name(field.type)}"


@lru_cache(64)
def _parsed(text: str) -> tuple[dict[str, Any], Any]:
    schema = json.loads(text)
    return schema, fastavro.parse_schema(json.loads(text))


def _unfit(owner: str, cause: str) -> RunError:
    return RunError(
        "MS-RUN-KAFKA-SCHEMA",
        f"{owner}: {cause}.",
        fix="Change the query, or the schema.",
    )
