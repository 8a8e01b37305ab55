"""The schema of a sink's values: given, the newest of its subject, or derived from the query."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import StringType, StructField, StructType

from millstream.connectors.kafka.client import Owner
from millstream.connectors.kafka.formats.avro_schema import field_names, record_schema
from millstream.connectors.kafka.formats.encoders import (
    AvroEncoder,
    ProtobufEncoder,
    ValueEncoder,
    check_protobuf,
)
from millstream.connectors.kafka.formats.protobuf_schema import ProtobufSchema
from millstream.connectors.kafka.formats.record_values import GivenSchema, schema_of
from millstream.connectors.kafka.formats.registry import (
    RegisteredSchema,
    Registry,
    RegistryConflictError,
)
from millstream.connectors.kafka.formats.schema_error import SchemaError
from millstream.connectors.kafka.formats.wire_format import prefix_of
from millstream.connectors.kafka.schemas import given_schema, schema_error, subject_of


@dataclass(frozen=True, slots=True)
class Encoders:
    """The encoders of a sink, on executors. `main` is that of a query's rows; late rows and dead
    letters have other columns, and a schema that follows from them.
    """

    schema: SinkSchema
    main: ValueEncoder | None

    def encode(self, values: pa.StructArray, *, is_main: bool) -> list[bytes | None]:
        encoder = self.main if is_main else self.schema.encoder_of(values.type)
        assert encoder is not None
        return list(encoder.encode(values))


@dataclass(slots=True)
class SinkSchema:
    """The schema of a sink, on the driver; executors use it for late rows and dead letters.

    Attributes:
        given: The schema in the job's properties, or the newest of the subject.
        number: Its id, if it is that of the registry.
        registry: Where schemas are registered; None: values have no prefix.
    """

    owner: str
    topic: str
    subject: str
    protobuf: bool
    given: GivenSchema | None
    number: int | None
    registry: Registry | None
    _kind: pa.StructType | None = None
    _main: ValueEncoder | None = field(default=None)

    @classmethod
    def of(cls, sink: Owner, base: Path) -> Self:
        owner, protobuf = f"sink {sink.name}", sink.option("format").lower() == "protobuf"
        given, number = given_schema(sink, "sink", base), None
        registry, subject = Registry.of("sink", sink, base), subject_of(sink)
        is_plain = sink.option("wire.format").lower() == "plain"
        if registry is not None and given is None and (protobuf or is_plain):
            given, number = _newest(registry, sink, owner, subject, protobuf=protobuf)
        if is_plain:
            registry = None
        return cls(owner, sink.option("topic"), subject, protobuf, given, number, registry)

    def check(self, columns: StructType, *, changes: bool = False, upsert: bool = True) -> None:
        """Rejects columns that do not fit the schema, before the job starts. The arguments are
        those of `value_columns.value_column`."""
        kind = value_type(columns, changes=changes, upsert=upsert)
        try:
            schema = self._schema_of(kind)
            if isinstance(schema, ProtobufSchema):
                check_protobuf(schema, kind)
            else:
                field_names(json.loads(schema), kind)
        except SchemaError as error:
            raise schema_error(self.owner, error, "Change the query, or the schema.") from None
        self._kind = kind

    def encoders(self) -> Encoders:
        """Returns the encoders of a batch; the first call registers the schema."""
        if self._main is None and self._kind is not None:
            self._main = self.encoder_of(self._kind)
        return Encoders(replace(self, _main=None), self._main)

    def encoder_of(self, kind: pa.StructType) -> ValueEncoder:
        try:
            schema = self._schema_of(kind)
            if isinstance(schema, ProtobufSchema):
                return ProtobufEncoder(self.owner, schema, self._prefix(schema))
            return AvroEncoder(self.owner, schema, self._prefix(schema))
        except SchemaError as error:
            raise schema_error(self.owner, error, "Change the query, or the schema.") from None

    def _schema_of(self, kind: pa.StructType) -> GivenSchema:
        if self.given is not None:
            return self.given
        return json.dumps(record_schema(kind, self.topic))

    def _prefix(self, schema: GivenSchema) -> bytes:
        if self.registry is None:
            return b""
        text, kind, message = schema, "AVRO", None
        if isinstance(schema, ProtobufSchema):
            text, kind, message = schema.text, "PROTOBUF", schema.path
        number = self.number
        if number is None:
            if not text:
                raise SchemaError("the registry needs the text of the .proto, not descriptors")
            try:
                number = self.registry.register(self.subject, RegisteredSchema(str(text), kind))
            except RegistryConflictError as error:
                raise SchemaError(f"the registry does not accept it: {error}") from None
        return prefix_of(number, message)


def value_type(schema: StructType, *, changes: bool, upsert: bool) -> pa.StructType:
    """Returns the type of values that `value_columns.value_column` makes of these columns."""
    kind = schema
    if changes and not upsert:
        sides = [StructField("before", schema), StructField("after", schema)]
        kind = StructType([*sides, StructField("op", StringType())])
    return to_arrow_type(kind, timezone="UTC")


def _newest(
    registry: Registry, sink: Owner, owner: str, subject: str, *, protobuf: bool
) -> tuple[GivenSchema, int]:
    """Returns the newest schema of a subject, and its id."""
    found = registry.latest(subject)
    if found is None:
        form = "protobuf" if protobuf else "avro"
        raise schema_error(
            owner,
            f"the registry has no subject {subject}",
            f"Add '{form}.schema.file' or '{form}.schema'.",
        )
    try:
        schema = schema_of(found[1], protobuf=protobuf)
        if isinstance(schema, ProtobufSchema):
            schema = schema.named(sink.option("protobuf.message"))
    except SchemaError as error:
        raise schema_error(owner, error) from None
    return schema, found[0]
