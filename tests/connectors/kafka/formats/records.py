"""Encodes Avro records and Protobuf messages one by one, with the libraries of their formats."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import fastavro
from google.protobuf import message_factory

from millstream.connectors.kafka.formats.protobuf_schema import ProtobufSchema
from millstream.connectors.kafka.values import Decoder

Record = Mapping[str, Any]


def avro_schema(*fields: tuple[str, Any], name: str = "Order", **more: Any) -> str:
    """The schema of a record with fields, each with a name and a type."""
    described = [{"name": field, "type": kind} for field, kind in fields]
    return json.dumps({"type": "record", "name": name, "fields": described, **more})


def avro(schema: str, record: Record) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(schema)), record)
    return out.getvalue()


def protobuf(schema: ProtobufSchema, **values: Any) -> bytes:
    made = message_factory.GetMessageClass(schema.message)(**values)
    return bytes(made.SerializeToString(deterministic=True))


def decoded(
    decoder: Decoder, values: Sequence[bytes | None]
) -> tuple[list[tuple[object, ...]], list[str]]:
    """The rows, and the flaws as text."""
    found = decoder.decode(values)
    rows = list(zip(*(array.to_pylist() for array in found.columns), strict=True))
    return rows, [f"{row}: {flaw.message}" for row, flaw in sorted(found.flaws.items())]
