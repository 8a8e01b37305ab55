"""Rows are encoded as records that other libraries read."""

from __future__ import annotations

import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from google.protobuf import message_factory
from hypothesis import given
from hypothesis import strategies as st
from tests.connectors.kafka.formats.records import avro_schema, decoded

from millstream.connectors.file.values import Column
from millstream.connectors.kafka.formats.avro_schema import field_names, record_schema
from millstream.connectors.kafka.formats.encoders import (
    AvroEncoder,
    ProtobufEncoder,
    check_protobuf,
)
from millstream.connectors.kafka.formats.protobuf_schema import compile_text
from millstream.connectors.kafka.formats.record_values import RecordValues
from millstream.connectors.kafka.formats.schema_error import SchemaError
from millstream.errors import RunError

KIND = pa.struct(
    [
        ("id", pa.string()),
        ("n", pa.int64()),
        ("price", pa.decimal128(10, 2)),
        ("at", pa.timestamp("us", "UTC")),
        ("local", pa.timestamp("us")),
        ("day", pa.date32()),
        ("list", pa.list_(pa.int32())),
        ("map", pa.map_(pa.string(), pa.float64())),
        ("inner", pa.struct([("x", pa.binary()), ("y", pa.bool_())])),
    ]
)
ROW = {
    "id": "a",
    "n": 1,
    "price": Decimal("1.50"),
    "at": datetime(2026, 1, 15, 10, 0, 0, 7, tzinfo=UTC),
    "local": datetime(2026, 1, 15, 10),  # noqa: DTZ001
    "day": date(2026, 1, 15),
    "list": [1, None],
    "map": {"k": 1.5},
    "inner": {"x": b"z", "y": None},
}


def read(value: bytes | None, schema: str) -> Any:
    assert value is not None
    return fastavro.schemaless_reader(
        io.BytesIO(value), fastavro.parse_schema(json.loads(schema)), None
    )


def structs(kind: pa.StructType, *rows: Any) -> pa.StructArray:
    return pa.array(rows, kind)


def test_rows_are_avro_records_of_a_derived_schema() -> None:
    schema = json.dumps(record_schema(KIND, "my-topic"))
    found = AvroEncoder("sink out", schema, b"\0\0\0\0\7").encode(structs(KIND, ROW, None, {}))
    assert found[1] is None  # a tombstone
    assert [value and value[:5] for value in found] == [b"\0\0\0\0\7", None, b"\0\0\0\0\7"]
    assert json.loads(schema)["name"] == "my_topic"
    assert read(found[0] and found[0][5:], schema) == ROW
    assert read(found[2] and found[2][5:], schema) == dict.fromkeys(ROW)


IDS = st.none() | st.text(max_size=5)
ROWS = st.none() | st.fixed_dictionaries(
    {"id": IDS, "n": st.none() | st.integers(-(2**63), 2**63 - 1)}
)
PROTO = compile_text(
    'syntax = "proto3"; message O { optional string id = 1; optional int64 n = 2; }'
)


@given(st.lists(ROWS, max_size=6))
def test_encoded_rows_are_decoded_as_they_were(rows: list[dict[str, object] | None]) -> None:
    kind = pa.struct([("id", pa.string()), ("n", pa.int64())])
    columns = (Column("id", pa.string(), "STRING"), Column("n", pa.int64(), "BIGINT"))
    given = structs(kind, *rows)
    schema = json.dumps(record_schema(kind, "t"))
    expected = [(None, None) if row is None else (row["id"], row["n"]) for row in rows]
    encoded = AvroEncoder("sink out", schema).encode(given)
    assert decoded(RecordValues(columns, False, schema, None, False), encoded)[0] == expected
    message = PROTO.named("O")
    encoded = ProtobufEncoder("sink out", message).encode(given)
    assert decoded(RecordValues(columns, True, message, None, False), encoded)[0] == expected
    assert [value is None for value in encoded] == [row is None for row in rows]


def test_a_given_schema_has_its_own_order_and_defaults() -> None:
    schema = json.dumps(
        {
            "type": "record",
            "name": "O",
            "fields": [
                {"name": "extra", "type": "string", "default": "?"},
                {"name": "N", "type": ["null", "int"]},
                {"name": "id", "type": "string"},
            ],
        }
    )
    kind = pa.struct([("id", pa.string()), ("n", pa.int32())])
    (value,) = AvroEncoder("sink out", schema).encode(structs(kind, {"id": "a", "n": 1}))
    assert read(value, schema) == {"extra": "?", "N": 1, "id": "a"}


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ((("x", "string"),), "it has no field id, which the query selects"),
        ((("id", "long"),), "its field id does not accept STRING"),
        ((("id", "string"), ("x", "int")), "its field x has no default, and the query does not"),
    ],
)
def test_columns_that_do_not_fit_an_avro_schema_are_rejected(
    fields: tuple[tuple[str, Any], ...], error: str
) -> None:
    with pytest.raises(SchemaError, match=error):
        field_names(json.loads(avro_schema(*fields)), pa.struct([("id", pa.string())]))


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (
            pa.struct([("größe", pa.int64())]),
            "column größe: Avro names have only letters, digits and _",
        ),
        (pa.struct([("d", pa.duration("us"))]), "Avro has no type for DURATION"),
    ],
)
def test_columns_that_avro_does_not_have_are_rejected(kind: pa.StructType, error: str) -> None:
    with pytest.raises(SchemaError, match=error):
        record_schema(kind, "t")


def test_null_where_a_schema_has_none_is_an_error() -> None:
    encoder = AvroEncoder("sink out", avro_schema(("id", "string")))
    kind = pa.struct([("id", pa.string())])
    assert encoder.encode(structs(kind, None)) == [None]
    with pytest.raises(RunError) as error:
        encoder.encode(structs(kind, {"id": None}))
    assert str(error.value) == (
        "MS-RUN-KAFKA-SCHEMA: sink out: id is NULL, but its Avro type does not allow null. "
        "Change the query, or the schema."
    )


ENUMS = compile_text(
    """syntax = "proto3";
    enum E { LOW = 0; HIGH = 1; }
    message O { E one = 1; repeated E many = 2; I inner = 3; map<string, E> by = 4; int32 n = 5; }
    message I { E e = 1; }"""
).named("O")


@pytest.mark.parametrize(
    ("name", "kind", "value"),
    [
        ("one", pa.string(), "MIDDLE"),
        ("many", pa.list_(pa.string()), ["LOW", "MIDDLE"]),
        ("inner", pa.struct([("e", pa.string())]), {"e": "MIDDLE"}),
        ("by", pa.map_(pa.string(), pa.string()), {"a": "MIDDLE"}),
    ],
)
def test_a_label_that_an_enum_does_not_have_is_an_error(
    name: str, kind: pa.DataType, value: Any
) -> None:
    encoder = ProtobufEncoder("sink out", ENUMS)
    known = json.loads(json.dumps(value).replace("MIDDLE", "HIGH"))
    own = pa.struct([(name, kind)])
    (encoded,) = encoder.encode(structs(own, {name: known}))
    message = message_factory.GetMessageClass(ENUMS.message).FromString(encoded or b"")
    assert message.ByteSize() > 0
    with pytest.raises(
        RunError, match=r"MS-RUN-KAFKA-SCHEMA.*'MIDDLE' is not a value of the enum E"
    ):
        encoder.encode(structs(own, {name: value}))


def test_columns_that_do_not_fit_a_message_are_rejected() -> None:
    with pytest.raises(SchemaError, match="it has no field x, which the query selects"):
        check_protobuf(ENUMS, pa.struct([("x", pa.int64())]))
    with pytest.raises(SchemaError, match="its field n does not accept STRING"):
        check_protobuf(ENUMS, pa.struct([("n", pa.string())]))
    with pytest.raises(RunError, match=r"MS-RUN-KAFKA-SCHEMA.*a value of n does not fit"):
        ProtobufEncoder("sink out", ENUMS).encode(
            structs(pa.struct([("n", pa.int64())]), {"n": 2**40})
        )
