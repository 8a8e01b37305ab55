"""Avro values: blocks have the rows of a reader of single records, and no others."""

from __future__ import annotations

import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.connectors.kafka.formats.records import avro, avro_schema, decoded

from millstream.connectors.file.values import Column, Epoch
from millstream.connectors.kafka.formats import avro as avro_format
from millstream.connectors.kafka.formats.record_values import RecordValues
from millstream.connectors.kafka.formats.schema_error import SchemaError

SCHEMA = avro_schema(
    ("id", "string"),
    ("n", ["null", "long"]),
    ("tags", {"type": "array", "items": "string"}),
    ("at", {"type": "long", "logicalType": "timestamp-millis"}),
    ("level", {"type": "enum", "name": "Level", "symbols": ["LOW", "HIGH"]}),
)
COLUMNS = (
    Column("id", pa.string(), "STRING"),
    Column("n", pa.int64(), "BIGINT"),
    Column("tags", pa.list_(pa.string()), "ARRAY<STRING>"),
    Column("at", pa.timestamp("us", "UTC"), "TIMESTAMP"),
    Column("level", pa.string(), "STRING"),
)
TIME = datetime(2026, 1, 15, 10, tzinfo=UTC)
ROW = {"id": "a", "n": 1, "tags": ["x"], "at": TIME, "level": "HIGH"}
MALFORMED = "the value is not a record of its Avro schema."


def values(schema: str = SCHEMA, columns: tuple[Column, ...] = COLUMNS) -> RecordValues:
    return RecordValues(columns, False, schema, None, False)


def test_records_are_rows() -> None:
    rows, flaws = decoded(values(), [avro(SCHEMA, ROW), avro(SCHEMA, {**ROW, "n": None})])
    assert rows == [("a", 1, ["x"], TIME, "HIGH"), ("a", None, ["x"], TIME, "HIGH")]
    assert flaws == []


def test_a_malformed_value_is_a_flaw_of_its_record_alone() -> None:
    good = avro(SCHEMA, ROW)
    rows, flaws = decoded(values(), [good, good[:-1], b"\xff" * 9, None, b"", good + b"\0", good])
    sound = ("a", 1, ["x"], TIME, "HIGH")
    assert rows == [sound, *[(None,) * 5] * 5, sound]
    assert flaws == [
        f"1: {MALFORMED}",
        f"2: {MALFORMED}",
        "3: the record has no value; it is a tombstone.",
        "4: the value is empty.",
        f"5: {MALFORMED}",
    ]


def test_a_value_that_is_too_short_does_not_take_bytes_of_the_next() -> None:
    schema = avro_schema(("a", "long"), ("b", "long"))
    columns = tuple(Column(name, pa.int64(), "BIGINT") for name in "ab")
    # Joined, the two are the records (1, 2) and (3, 4), which nobody wrote.
    rows, flaws = decoded(values(schema, columns), [b"\x02", b"\x04\x06\x08"])
    assert rows == [(None, None)] * 2
    assert flaws == [f"0: {MALFORMED}", f"1: {MALFORMED}"]


def test_panics_of_the_reader_are_not_on_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    schema = avro_schema(("id", "string"))
    too_long = b"\x80\xa0\xf7\x8d\x10abc"  # a string of a billion characters
    _, flaws = decoded(values(schema, COLUMNS[:1]), [too_long, avro(schema, {"id": "a"})])
    assert flaws == [f"0: {MALFORMED}"]
    assert capfd.readouterr().err == ""


ROWS = st.fixed_dictionaries(
    {
        "id": st.text(max_size=4),
        "n": st.none() | st.integers(-(2**63), 2**63 - 1),
        "tags": st.lists(st.text(max_size=2), max_size=2),
        "at": st.datetimes(datetime(1600, 1, 1), datetime(3000, 1, 1)).map(  # noqa: DTZ001
            lambda time: time.replace(microsecond=0, tzinfo=UTC)
        ),
        "level": st.sampled_from(["LOW", "HIGH"]),
    }
)


@st.composite
def encoded(draw: st.DrawFn) -> bytes:
    """A record, or one with a part of its bytes changed or missing."""
    value = bytearray(avro(SCHEMA, draw(ROWS)))
    damage = draw(st.sampled_from(["none", "none", "byte", "end", "more"]))
    if damage == "byte":
        value[draw(st.integers(0, len(value) - 1))] = draw(st.integers(0, 255))
    elif damage == "end":
        del value[draw(st.integers(0, len(value) - 1)) :]
    elif damage == "more":
        value += draw(st.binary(min_size=1, max_size=3))
    return bytes(value)


def oracle(value: bytes) -> tuple[object, ...] | None:
    """The record as fastavro reads it; None if that is not the whole value."""
    data = io.BytesIO(value)
    try:
        record: Any = fastavro.schemaless_reader(
            data, fastavro.parse_schema(json.loads(SCHEMA)), None
        )
    except Exception:  # noqa: BLE001 -- whatever a damaged value causes
        return None
    return tuple(record[column.name] for column in COLUMNS) if data.tell() == len(value) else None


@given(st.lists(encoded(), max_size=8))
def test_blocks_have_the_rows_of_single_records(given: list[bytes]) -> None:
    rows, flaws = decoded(values(), given)
    rejected = {int(flaw.split(":")[0]) for flaw in flaws}
    for row, value in enumerate(given):
        alone, own_flaws = decoded(values(), [value])
        assert (alone == [rows[row]], bool(own_flaws)) == (True, row in rejected)
        expected = oracle(value)
        if row in rejected:
            # A block is stricter: it rejects times that Spark does not have, for example.
            assert rows[row] == (None,) * len(COLUMNS)
        else:
            assert rows[row] == expected


def test_other_types_are_read_one_by_one() -> None:
    schema = avro_schema(
        ("m", {"type": "map", "values": "long"}), ("u", ["null", "string", "long"])
    )
    columns = (
        Column("m", pa.map_(pa.string(), pa.int64()), "MAP<STRING, BIGINT>"),
        Column("u", pa.string(), "STRING"),
    )
    given: list[dict[str, Any]] = [
        {"m": {"a": 1}, "u": "x"},
        {"m": {}, "u": 7},
        {"m": {}, "u": None},
    ]
    encoded = [*(avro(schema, each) for each in given), b"\x05"]
    rows, flaws = decoded(values(schema, columns), encoded)
    assert rows == [([("a", 1)], "x"), (None, None), ([], None), (None, None)]
    assert flaws == ["1: column u: '7' is not a STRING.", f"3: {MALFORMED}"]


def test_types_that_refer_to_themselves_and_to_others_are_read() -> None:
    point = {"type": "record", "name": "Point", "fields": [{"name": "x", "type": "int"}]}
    twice = avro_schema(("a", point), ("b", "Point"))
    columns = tuple(Column(name, pa.struct([("x", pa.int64())]), "STRUCT") for name in "ab")
    rows, _ = decoded(values(twice, columns), [avro(twice, {"a": {"x": 1}, "b": {"x": 2}})])
    assert rows == [({"x": 1}, {"x": 2})]
    chain = avro_schema(("v", "int"), ("next", ["null", "Order"]))
    value = avro(chain, {"v": 1, "next": {"v": 2, "next": None}})
    assert decoded(values(chain, (Column("v", pa.int32(), "INT"),)), [value]) == ([(1,)], [])


def test_a_schema_of_several_files_is_joined() -> None:
    point = json.dumps(
        {"type": "record", "name": "P", "namespace": "y", "fields": [{"name": "x", "type": "int"}]}
    )
    main = avro_schema(("a", "y.P"), ("b", ["null", "y.P"]))
    joined = avro_format.with_references(main, [point])
    assert avro_format.arrow_schema(joined) == pa.schema(
        [("a", pa.struct([("x", pa.int32())])), ("b", pa.struct([("x", pa.int32())]))]
    )


@pytest.mark.parametrize(
    ("avro_type", "value", "kind", "expected"),
    [
        ("int", 7, pa.int64(), 7),
        ("long", 7, pa.decimal128(10, 2), Decimal("7.00")),
        ("float", 1.5, pa.float64(), 1.5),
        ({"type": "int", "logicalType": "date"}, date(2026, 1, 2), pa.date32(), date(2026, 1, 2)),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
            Decimal("1.25"),
            pa.decimal128(12, 4),
            Decimal("1.2500"),
        ),
        ({"type": "fixed", "name": "F", "size": 2}, b"ab", pa.binary(), b"ab"),
        ("string", "2026-01-15T10:00:00Z", pa.timestamp("us", "UTC"), TIME),
    ],
)
def test_values_become_the_declared_type(
    avro_type: Any, value: object, kind: pa.DataType, expected: object
) -> None:
    schema = avro_schema(("v", avro_type))
    assert decoded(values(schema, (Column("v", kind, "TYPE"),)), [avro(schema, {"v": value})]) == (
        [(expected,)],
        [],
    )


def test_a_value_that_does_not_fit_its_column_is_a_flaw() -> None:
    schema = avro_schema(("v", "long"))
    encoded = [avro(schema, {"v": number}) for number in (1, 2**40, 3)]
    narrow = values(schema, (Column("v", pa.int32(), "INT"),))
    assert decoded(narrow, encoded) == (
        [(1,), (None,), (3,)],
        ["1: column v: '1099511627776' is not an INT."],
    )
    millis = values(schema, (Column("v", pa.timestamp("us", "UTC"), "TIMESTAMP", Epoch.MILLIS),))
    rows, flaws = decoded(millis, [avro(schema, {"v": 1000}), avro(schema, {"v": 2**62})])
    assert rows == [(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC),), (None,)]
    assert len(flaws) == 1


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("{", "it is not a valid Avro schema"),
        ('"string"', "it is not the schema of a record"),
        (avro_schema(("x", "foo")), "it is not a valid Avro schema: unknown type foo"),
    ],
)
def test_a_schema_that_is_not_valid_is_an_error(text: str, error: str) -> None:
    with pytest.raises(SchemaError, match=error):
        avro_format.parse(text)
