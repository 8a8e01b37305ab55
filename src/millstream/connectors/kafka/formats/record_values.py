"""Decodes values whose schema is given, or that begin with the id of a registered schema."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from cachetools import LRUCache

from millstream.connectors.file.rejections import Flaw
from millstream.connectors.file.values import Column, format_name
from millstream.connectors.kafka.formats.blocks import RecordDecoder
from millstream.connectors.kafka.formats.protobuf_schema import ProtobufSchema, compile_text
from millstream.connectors.kafka.formats.registry import RegisteredSchema, Registry
from millstream.connectors.kafka.formats.schema_error import SchemaError
from millstream.connectors.kafka.formats.wire_format import read_prefix
from millstream.connectors.kafka.values import EMPTY, NO_VALUE, DecodedValues

GivenSchema = str | ProtobufSchema  # of Avro or Protobuf
_Key = tuple[int, tuple[int, ...]]  # the id of a schema and the message in it
_GIVEN: _Key = (-1, ())
_NO_PREFIX = "the value does not begin with the id of a schema (0 and 4 bytes)."


@dataclass(slots=True)
class SchemaGroup:
    """Records that one schema describes, and the rows of their values."""

    schema: int
    message: tuple[int, ...]
    rows: list[int] = field(default_factory=list)
    records: list[bytes] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RecordValues:
    """Avro or Protobuf values, of one schema or of several in one range.

    Attributes:
        protobuf: Whether it is Protobuf.
        given: The schema of all values; None: the registry has those of their ids.
        prefixed: Whether values begin with an id.
    """

    columns: tuple[Column, ...]
    protobuf: bool
    given: GivenSchema | None
    registry: Registry | None
    prefixed: bool
    is_binary: ClassVar[bool] = True

    def decode(self, values: Sequence[bytes | None]) -> DecodedValues:
        flaws: dict[int, Flaw] = {}
        rows: list[int] = []
        parts: list[list[pa.Array]] = []
        for group in self._groups(values, flaws):
            decoder = self._decoder(group.schema, group.message)
            if isinstance(decoder, Flaw):
                flaws |= dict.fromkeys(group.rows, decoder)
                continue
            arrays, found = decoder.decode(group.records)
            flaws |= {group.rows[place]: flaw for place, flaw in found.items()}
            parts.append(arrays)
            rows += group.rows
        return DecodedValues(self._arranged(parts, rows, len(values), flaws), flaws)

    def _groups(
        self, values: Sequence[bytes | None], flaws: dict[int, Flaw]
    ) -> Collection[SchemaGroup]:
        """Returns the records of each schema."""
        if (same := self._one_group(values)) is not None:
            return [same]
        groups: dict[_Key, SchemaGroup] = {}
        for row, value in enumerate(values):
            key, start = _GIVEN, 0
            if value is None:
                flaws[row] = Flaw(NO_VALUE)
                continue
            if not value and (self.prefixed or not self.protobuf):  # a message may be empty
                flaws[row] = Flaw(EMPTY)
                continue
            if self.prefixed:
                prefix = read_prefix(value, has_message=self.protobuf)
                if prefix is None:
                    flaws[row] = Flaw(_NO_PREFIX)
                    continue
                start = prefix.start
                if self.given is None:
                    key = prefix.schema, prefix.message
            group = groups.setdefault(key, SchemaGroup(*key))
            group.rows.append(row)
            group.records.append(value[start:])
        return groups.values()

    def _one_group(self, values: Sequence[bytes | None]) -> SchemaGroup | None:
        """Returns the records if all have the same schema, as most blocks do."""
        if not values or None in values or (b"" in values and not self.protobuf):
            return None
        every = cast("Sequence[bytes]", values)
        rows = list(range(len(every)))
        if not self.prefixed:
            return SchemaGroup(*_GIVEN, rows, list(every))
        first = read_prefix(every[0], has_message=self.protobuf)
        if first is None:
            return None
        start, prefix = first.start, every[0][: first.start]
        records = [value[start:] for value in every if value.startswith(prefix)]
        if len(records) < len(every):
            return None
        key = _GIVEN if self.given is not None else (first.schema, first.message)
        return SchemaGroup(*key, rows, records)

    def _arranged(
        self, parts: list[list[pa.Array]], rows: list[int], size: int, flaws: dict[int, Flaw]
    ) -> list[pa.Array]:
        """Returns the columns in the order of values, with NULLs in rows of flaws."""
        if not parts:
            return [pa.nulls(size, column.type) for column in self.columns]
        columns = [pa.concat_arrays(each) for each in zip(*parts, strict=True)]
        if rows == list(range(size)) and not flaws:
            return columns
        places = np.full(size, -1)
        places[rows] = np.arange(len(rows))
        places[list(flaws)] = -1
        taken = pa.array(places, mask=places < 0)
        return [pc.take(column, taken) for column in columns]

    def _decoder(self, number: int, message: tuple[int, ...]) -> RecordDecoder | Flaw:
        if self.given is not None:
            return _decoder_of(self.given, self.columns, protobuf=self.protobuf)
        assert self.registry is not None
        found = self.registry.schema(number)
        if found is None:
            return Flaw(f"the schema registry has no schema {number}.")
        try:
            return _decoder_of(found, self.columns, message, protobuf=self.protobuf)
        except SchemaError as error:
            return Flaw(f"schema {number}: {error}.")


_DECODERS: LRUCache[object, RecordDecoder] = LRUCache(256)  # of a worker


def _decoder_of(
    schema: GivenSchema | RegisteredSchema,
    columns: tuple[Column, ...],
    message: tuple[int, ...] = (),
    *,
    protobuf: bool,
) -> RecordDecoder:
    names = tuple((each.name, each.type, format_name(each.format)) for each in columns)
    key = schema, names, message, protobuf
    if key not in _DECODERS:
        if isinstance(schema, RegisteredSchema):
            schema = schema_of(schema, protobuf=protobuf)
            if isinstance(schema, ProtobufSchema):
                schema = schema.at(message)
        _DECODERS[key] = _new_decoder(schema, columns)
    return _DECODERS[key]


def _new_decoder(schema: GivenSchema, columns: tuple[Column, ...]) -> RecordDecoder:
    if isinstance(schema, ProtobufSchema):
        from millstream.connectors.kafka.formats import protobuf

        return protobuf.decoder_of(schema, columns)
    from millstream.connectors.kafka.formats import avro

    return avro.decoder_of(schema, columns)


@lru_cache(256)
def schema_of(found: RegisteredSchema, *, protobuf: bool) -> GivenSchema:
    """Returns a schema of the registry; raises SchemaError if it is of another format."""
    wanted = "PROTOBUF" if protobuf else "AVRO"
    if found.kind != wanted:
        raise SchemaError(f"its type is {found.kind}, not {wanted}")
    if protobuf:
        return compile_text(found.text, dict(found.references))
    if found.references:
        from millstream.connectors.kafka.formats import avro

        return avro.with_references(found.text, [text for _, text in found.references])
    return found.text
