"""Converts Protobuf messages to columns and back, in blocks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa
from ptars import HandlerPool, PtarsConfig

from millstream.connectors.file.values import Column
from millstream.connectors.kafka.formats.blocks import BlockDecoder, RecordDecoder
from millstream.connectors.kafka.formats.protobuf_schema import ProtobufSchema

MALFORMED = "the value is not a message of its Protobuf schema."
_CONFIG = PtarsConfig(timestamp_unit="us", enum_repr="string", list_nullable=True)


@lru_cache(64)
def handler_of(schema: ProtobufSchema) -> Any:
    message = schema.message
    return HandlerPool([message.file], _CONFIG).get_for_message(message)


def decoder_of(schema: ProtobufSchema, columns: tuple[Column, ...]) -> RecordDecoder:
    handler = handler_of(schema)

    def read(values: Sequence[bytes]) -> pa.Table | None:
        try:
            batch = handler.array_to_record_batch(pa.array(values, pa.binary()))
        except (ValueError, OverflowError):
            return None
        return pa.Table.from_batches([batch]) if batch.num_rows == len(values) else None

    return BlockDecoder(columns, read, MALFORMED)


def arrow_schema(schema: ProtobufSchema) -> pa.Schema:
    """Returns the columns of a message."""
    return handler_of(schema).schema()
