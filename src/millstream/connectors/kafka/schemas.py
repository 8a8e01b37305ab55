"""The schemas that the properties of a source or sink name, on the driver."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from millstream.connectors.file.values import Column
from millstream.connectors.kafka.client import Owner
from millstream.connectors.kafka.formats.conversions import conversion, field_of, type_name
from millstream.connectors.kafka.formats.protobuf_schema import ProtobufSchema, compile_text, load
from millstream.connectors.kafka.formats.record_values import GivenSchema, RecordValues, schema_of
from millstream.connectors.kafka.formats.registry import Registry
from millstream.connectors.kafka.formats.schema_error import SchemaError
from millstream.connectors.paths import resolve
from millstream.errors import RunError


def schema_error(owner: str, error: SchemaError | str, fix: str = "") -> RunError:
    return RunError(
        "MS-RUN-KAFKA-SCHEMA",
        f"{owner}: the schema cannot be used: {error}.",
        fix=fix or "Correct the schema, or the declared columns.",
    )


def given_schema(owner: Owner, what: str, base: Path) -> GivenSchema | None:
    """Returns the schema in the text of a job or in a file; None if there is none."""
    form = owner.option("format").lower()
    text, file = owner.option(f"{form}.schema"), owner.option(f"{form}.schema.file")
    if not text and not file:
        return None
    path = Path(resolve(file, base)) if file else None
    try:
        if form == "protobuf":
            schema = load(path) if path else compile_text(text)
            return schema.named(owner.option("protobuf.message"))
        return _valid_avro(path.read_text(encoding="utf-8") if path else text)
    except SchemaError as error:
        raise schema_error(f"{what} {owner.name}", error) from None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise schema_error(
            f"{what} {owner.name}", f"{file} cannot be read: {reason}", "Check its path."
        ) from None


def subject_of(owner: Owner) -> str:
    return owner.option("schema.registry.subject") or f"{owner.option('topic')}-value"


def record_values(owner: Owner, columns: tuple[Column, ...], base: Path) -> RecordValues:
    """Returns the decoder of a source, after a check of its schema against the columns."""
    protobuf = owner.option("format").lower() == "protobuf"
    given = given_schema(owner, "source", base)
    registry = Registry.of("source", owner, base)
    wire = owner.option("wire.format").lower() or ("confluent" if registry else "plain")
    try:
        known = given if registry is None else _newest(registry, owner, protobuf=protobuf)
        if registry is not None and wire == "plain":
            given = _required(known, owner)
        if known is not None:
            _check_columns(_arrow_schema(known), columns)
    except SchemaError as error:
        raise schema_error(f"source {owner.name}", error) from None
    return RecordValues(columns, protobuf, given, registry, wire == "confluent")


def _newest(registry: Registry, owner: Owner, *, protobuf: bool) -> GivenSchema | None:
    """Returns the newest schema of a source's subject. There is none before the first record."""
    found = registry.latest(subject_of(owner))
    if found is None:
        return None
    schema = schema_of(found[1], protobuf=protobuf)
    if isinstance(schema, ProtobufSchema) and owner.option("protobuf.message"):
        return schema.named(owner.option("protobuf.message"))
    return schema


def _required(schema: GivenSchema | None, owner: Owner) -> GivenSchema:
    if schema is None:
        raise SchemaError(f"the registry has no subject {subject_of(owner)}")
    return schema


def _valid_avro(text: str) -> str:
    from millstream.connectors.kafka.formats import avro

    avro.parse(text)
    return text


def _arrow_schema(schema: GivenSchema) -> pa.Schema | None:
    if isinstance(schema, ProtobufSchema):
        from millstream.connectors.kafka.formats import protobuf

        return protobuf.arrow_schema(schema)
    from millstream.connectors.kafka.formats import avro

    return avro.arrow_schema(schema)


def _check_columns(schema: pa.Schema | None, columns: tuple[Column, ...]) -> None:
    """Raises SchemaError if a declared column is not in the schema, or has another type there."""
    if schema is None:
        return
    for column in columns:
        name = field_of(column.name, schema)
        if name is None:
            raise SchemaError(
                f"it has no field {column.name}; its fields are {', '.join(schema.names) or 'none'}"
            )
        kind = schema.field(name).type
        if conversion(kind, column.type, column.format) is None:
            more = ""
            if pa.types.is_integer(kind) and pa.types.is_timestamp(column.type):
                more = "; set 'timestamp.format' = 'epoch_millis' or 'epoch_seconds'"
            raise SchemaError(
                f"its field {name} is {type_name(kind)}, which is not {column.type_name}{more}"
            )
