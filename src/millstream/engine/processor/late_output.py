"""Converts late packets to rows for their sink: columns of all inputs, the source, the lateness."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from millstream.connectors.file.texts import json_text, plain_text
from millstream.kernels.core.kernel import LATENESS

SOURCE, LATENESS_MS = "_source", "_lateness_ms"
QUERY = "_query"  # in a sink of several queries


@dataclass(frozen=True, slots=True)
class LateColumn:
    """A column of late packets: its name there, its name in the sink, and its own type."""

    packet: str
    name: str
    type: pa.DataType


@dataclass(frozen=True, slots=True)
class LateTable:
    """Converts late packets of one input to rows with the columns of their sink."""

    source: str
    columns: tuple[LateColumn, ...]
    schema: pa.Schema  # of the sink
    query: str = ""

    def rows(self, packet: pa.Table) -> pa.Table:
        known = {each.name: each for each in self.columns}
        arrays = []
        for field in self.schema:
            if field.name == SOURCE:
                array = pa.repeat(pa.scalar(self.source), packet.num_rows)
            elif field.name == QUERY:
                array = pa.repeat(pa.scalar(self.query), packet.num_rows)
            elif field.name == LATENESS_MS:
                array = pc.divide(packet[LATENESS], 1000)
            elif each := known.get(field.name):
                array = _converted(packet[each.packet], each.type, field.type)
            else:
                array = pa.nulls(packet.num_rows, field.type)
            arrays.append(array)
        return pa.table(arrays, schema=self.schema)


def _converted(values: pa.ChunkedArray, own: pa.DataType, wanted: pa.DataType) -> pa.ChunkedArray:
    """Packets have times as microseconds and maps as lists of entries."""
    chunks = [_own(chunk, own) for chunk in values.chunks]
    if wanted != own:
        chunks = [_text(chunk) for chunk in chunks]
    return pa.chunked_array(chunks, wanted)


def _own(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_map(kind):
        entries = pa.list_(pa.struct([kind.key_field, kind.item_field]))
        lists = pa.concat_arrays([values.cast(entries)])  # without the offset of a slice
        keys, items = lists.values.field(0), lists.values.field(1)
        made = pa.MapArray.from_arrays(lists.offsets, keys, items, kind)
        return pc.if_else(lists.is_valid(), made, pa.scalar(None, kind))
    return values.cast(kind)


def _text(values: pa.Array) -> pa.Array:
    """Converts values to text as Spark casts them to STRING."""
    if pa.types.is_nested(values.type):
        return json_text(values)
    if pa.types.is_timestamp(values.type):
        text = plain_text(values, "yyyy-MM-dd HH:mm:ss.SSSSSS")
        return pc.replace_substring_regex(text, r"\.?0*$", "")
    return plain_text(values)
