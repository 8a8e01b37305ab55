"""Decodes Avro records: in blocks, or one by one where a schema has types that blocks do not."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID

import fastavro
import pyarrow as pa
from fastavro.schema import SchemaParseException, UnknownType, expand_schema

from millstream.connectors.file.rejections import Flaw
from millstream.connectors.file.values import Column
from millstream.connectors.kafka.formats.avro_blocks import AvroBlocks, AvroSchema, can_read
from millstream.connectors.kafka.formats.blocks import BlockDecoder, RecordDecoder
from millstream.connectors.kafka.formats.conversions import field_of
from millstream.connectors.kafka.formats.schema_error import SchemaError

MALFORMED = "the value is not a record of its Avro schema."


def parse(text: str) -> AvroSchema:
    """Returns a schema; raises SchemaError if it is not that of records."""
    try:
        schema = json.loads(text)
        fastavro.parse_schema(schema)
    except (ValueError, KeyError, TypeError, SchemaParseException, UnknownType) as error:
        reason = f"{error}" if not isinstance(error, UnknownType) else f"unknown type {error}"
        raise SchemaError(f"it is not a valid Avro schema: {reason}") from None
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise SchemaError("it is not the schema of a record")
    return schema


def decoder_of(text: str, columns: tuple[Column, ...]) -> RecordDecoder:
    """Returns the decoder of a schema. Raises SchemaError."""
    schema = parse(text)
    plain = _expanded(text)
    if can_read(plain):
        return BlockDecoder(columns, AvroBlocks.of(plain).read, MALFORMED)
    return OneByOne(columns, fastavro.parse_schema(json.loads(text)), field_names(schema))


def arrow_schema(text: str) -> pa.Schema | None:
    """Returns the columns that a schema has; None if its types depend on the records."""
    parse(text)
    schema = _expanded(text)
    if not can_read(schema):
        return None
    empty = AvroBlocks.of(schema).read([])
    return None if empty is None else empty.schema


def _expanded(text: str) -> AvroSchema:
    """Returns a schema with each named type at every place that refers to it."""
    return cast("AvroSchema", expand_schema(json.loads(text)))


def field_names(schema: AvroSchema) -> list[str]:
    return [field["name"] for field in schema["fields"]]


def with_references(text: str, others: Sequence[str]) -> str:
    """Returns a schema with the definitions of the types that others define."""
    known: dict[str, Any] = {}
    for other in others:
        definition = json.loads(other)
        space = definition.get("namespace", "")
        name = definition["name"]
        known[name if "." in name or not space else f"{space}.{name}"] = definition
    schema = json.loads(text)
    return json.dumps(_with_definitions(schema, known, schema.get("namespace", "")))


def _with_definitions(schema: Any, known: dict[str, Any], space: str) -> Any:
    """Replaces the first reference to each known type."""
    if isinstance(schema, str):
        name = next((each for each in (f"{space}.{schema}", schema) if each in known), None)
        if name is None:
            return schema
        found = known.pop(name)
        return _with_definitions(found, known, found.get("namespace", ""))
    if isinstance(schema, list):
        return [_with_definitions(each, known, space) for each in schema]
    space = schema.get("namespace", space)
    made = dict(schema)
    for part in ("type", "items", "values"):
        if part in schema:
            made[part] = _with_definitions(schema[part], known, space)
    if "fields" in schema:
        made["fields"] = [_with_definitions(each, known, space) for each in schema["fields"]]
    return made


class OneByOne:
    """Decodes records one by one: maps, unions of several types, types that refer to others."""

    def __init__(self, columns: tuple[Column, ...], schema: Any, names: Sequence[str]) -> None:
        self.columns = columns
        self._schema = schema
        named = pa.schema([(name, pa.null()) for name in names])
        self._fields = [field_of(column.name, named) for column in columns]

    def decode(self, values: Sequence[bytes]) -> tuple[list[pa.Array], dict[int, Flaw]]:
        flaws: dict[int, Flaw] = {}
        records = [self._record(row, value, flaws) for row, value in enumerate(values)]
        arrays = []
        for column, field in zip(self.columns, self._fields, strict=True):
            found = [record.get(field) if record and field else None for record in records]
            arrays.append(_column(column, list(map(_plain, found)), flaws))
        return arrays, flaws

    def _record(self, row: int, value: bytes, flaws: dict[int, Flaw]) -> dict[str, Any] | None:
        data = io.BytesIO(value)
        try:
            record = fastavro.schemaless_reader(data, self._schema, None)
        except Exception:  # noqa: BLE001 -- whatever a malformed value causes
            record = None
        if record is None or data.read(1):
            flaws[row] = Flaw(MALFORMED)
            return None
        return record  # type: ignore[return-value]


def _column(column: Column, values: list[Any], flaws: dict[int, Flaw]) -> pa.Array:
    try:
        return pa.array(values, column.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, OverflowError):
        pass
    for row, value in enumerate(values):
        try:
            pa.array([value], column.type)
        except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, OverflowError):
            flaws.setdefault(row, Flaw.of(column, str(value)))
            values[row] = None
    return pa.array(values, column.type)


def _plain(value: Any) -> Any:
    """Returns a value as Arrow takes it."""
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value
