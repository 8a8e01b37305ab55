"""Protobuf values and schemas."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.connectors.kafka.formats.records import decoded, protobuf

from millstream.connectors.file.values import Column
from millstream.connectors.kafka.formats.protobuf_schema import compile_text, load
from millstream.connectors.kafka.formats.record_values import RecordValues
from millstream.connectors.kafka.formats.schema_error import SchemaError

PROTO = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
message Order {
  string id = 1;
  int64 n = 2;
  google.protobuf.Timestamp at = 3;
  optional int32 discount = 4;
  repeated Item items = 5;
  map<string, int64> counts = 6;
  enum Level { LOW = 0; HIGH = 1; }
  Level level = 7;
  message Item { string sku = 1; }
}
message Other { int32 q = 1; }
"""
SCHEMA = compile_text(PROTO).named("Order")
ITEMS = pa.list_(pa.struct([("sku", pa.string())]))
COLUMNS = (
    Column("id", pa.string(), "STRING"),
    Column("n", pa.int32(), "INT"),
    Column("at", pa.timestamp("us", "UTC"), "TIMESTAMP"),
    Column("discount", pa.int64(), "BIGINT"),
    Column("items", ITEMS, "ARRAY<STRUCT<sku: STRING>>"),
    Column("counts", pa.map_(pa.string(), pa.int64()), "MAP<STRING, BIGINT>"),
    Column("level", pa.string(), "STRING"),
)
VALUES = RecordValues(COLUMNS, True, SCHEMA, None, False)
MALFORMED = "the value is not a message of its Protobuf schema."


def test_messages_are_rows() -> None:
    full = protobuf(
        SCHEMA,
        id="a",
        n=5,
        at={"seconds": 5},
        discount=0,
        items=[{"sku": "s"}],
        counts={"k": 1},
        level="HIGH",
    )
    rows, flaws = decoded(VALUES, [full, b""])
    assert rows == [
        (
            *("a", 5, datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC), 0),
            *([{"sku": "s"}], [("k", 1)], "HIGH"),
        ),
        ("", 0, None, None, [], [], "LOW"),  # defaults; an empty value is a message of them
    ]
    assert flaws == []


def test_a_malformed_value_is_a_flaw_of_its_record_alone() -> None:
    good = protobuf(SCHEMA, id="a")
    rows, flaws = decoded(VALUES, [good, b"\xff", None, protobuf(SCHEMA, n=2**40), good[:-1]])
    assert [row[0] for row in rows] == ["a", None, None, None, None]
    assert flaws == [
        f"1: {MALFORMED}",
        "2: the record has no value; it is a tombstone.",
        "3: column n: '1099511627776' is not an INT.",
        f"4: {MALFORMED}",
    ]


@given(st.lists(st.binary(max_size=6) | st.just(protobuf(SCHEMA, id="a", n=1)), max_size=8))
def test_a_value_is_decoded_the_same_alone_and_among_others(given: list[bytes]) -> None:
    rows, flaws = decoded(VALUES, given)
    rejected = {int(flaw.split(":")[0]) for flaw in flaws}
    for row, value in enumerate(given):
        alone, own_flaws = decoded(VALUES, [value])
        assert (alone, bool(own_flaws)) == ([rows[row]], row in rejected)


def test_a_message_is_found_by_its_name() -> None:
    schema = compile_text(PROTO)
    assert schema.named("shop.Order.Item").message.full_name == "shop.Order.Item"
    assert schema.named("Other").path == (1,)
    with pytest.raises(SchemaError, match=r"it has the messages Order, Order.Item, Other, and"):
        schema.named("")
    with pytest.raises(SchemaError, match=r"it has no message Bill, but Order, Order.Item, Other"):
        schema.named("Bill")


def test_descriptors_that_protoc_wrote_are_loaded(tmp_path: Path) -> None:
    (tmp_path / "order.proto").write_text(PROTO)
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{tmp_path}", "--include_imports"]
    target = tmp_path / "order.desc"
    subprocess.run([*command, f"--descriptor_set_out={target}", "order.proto"], check=True)
    assert load(target).named("Order").message.full_name == "shop.Order"
    assert load(tmp_path / "order.proto").named("Order").text == PROTO
    (tmp_path / "wrong.desc").write_bytes(b"\xff\xff")
    with pytest.raises(SchemaError, match=r"neither a \.proto file nor a set of descriptors"):
        load(tmp_path / "wrong.desc")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('syntax = "proto3"; message A { Foo x = 1; }', '1:32: "Foo" is not defined.'),
        ('syntax = "proto3"; import "nope.proto";', "nope.proto: File not found."),
    ],
)
def test_text_that_cannot_be_compiled_is_an_error(text: str, error: str) -> None:
    with pytest.raises(SchemaError) as raised:
        compile_text(text)
    assert error in f"{raised.value}."


def test_imports_stay_in_their_folder() -> None:
    with pytest.raises(SchemaError, match="which is not a relative name"):
        compile_text('syntax = "proto3";', {"../x.proto": 'syntax = "proto3";'})
