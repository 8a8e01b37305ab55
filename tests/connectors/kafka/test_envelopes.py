"""Envelopes of Debezium become the rows that plain Python finds in them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.connectors.kafka.change_rows import COLUMNS, ZONED, Message, shown, text
from tests.connectors.kafka.formats.records import avro, avro_schema

from millstream.connectors.file.values import Column, Epoch
from millstream.connectors.kafka.envelopes import Envelopes, TruncatedError, envelope_columns
from millstream.connectors.kafka.formats.record_values import RecordValues
from millstream.connectors.kafka.values import JsonValues

JSON = JsonValues(envelope_columns(COLUMNS, is_json=True))
ROW = st.fixed_dictionaries(
    {"id": st.none() | st.text(max_size=3), "n": st.none() | st.integers(-5, 5)}
)
ENVELOPES = st.fixed_dictionaries(
    {
        "before": st.none() | ROW,
        "after": st.none() | ROW,
        "op": st.sampled_from(["c", "r", "u", "d", "t", None]),
    }
)
RECORDS = st.lists(
    st.none() | ENVELOPES | st.builds(lambda envelope: {"payload": envelope}, ENVELOPES), max_size=8
)


def oracle(records: list[Any], *, old_values: bool) -> list[tuple[object, ...]]:
    """What the records mean; None for a record that is malformed."""
    found: list[tuple[object, ...]] = []
    for place, record in enumerate(records):
        if record is None:
            continue
        envelope = record.get("payload") or record
        op = envelope["op"]
        before, after = (
            None if side is None else (side["id"], side["n"])
            for side in (envelope["before"], envelope["after"])
        )
        if op in ("c", "r") and after is not None:
            found.append(("+I", place, after))
        elif op == "u" and after is not None and (before is not None or not old_values):
            found += [("-U", place, before)] if old_values else []
            found.append(("+U", place, after))
        elif op == "d" and before is not None:
            found.append(("-D", place, before))
        elif op == "t":
            continue
        else:
            found.append(("+I", place, None))
    return found


@pytest.mark.parametrize("old_values", [True, False])
@given(records=RECORDS)
def test_envelopes_are_the_changes_that_they_describe(old_values: bool, records: list[Any]) -> None:
    decoder = Envelopes(COLUMNS, JSON, old_values, ignores_truncate=True)
    found = decoder.changes([text(each) for each in records])
    rows = [(op, record, None if isinstance(row, str) else row) for op, record, row in shown(found)]
    assert rows == oracle(records, old_values=old_values)


def test_an_envelope_without_what_its_op_needs_is_a_flaw() -> None:
    row = {"id": "a", "n": 1}
    records = [
        {"before": None, "after": row, "op": "u"},
        {"before": None, "after": None, "op": "d"},
        {"before": row, "after": None, "op": "c"},
        {"before": None, "after": row, "op": "x"},
        {"before": None, "after": row, "op": "c"},
    ]
    found = shown(Envelopes(COLUMNS, JSON, True).changes([*map(text, records), Message(b"{")]))
    begin = "the Debezium envelope has op"
    no_old = "but no field 'before'; PostgreSQL needs ALTER TABLE … REPLICA IDENTITY FULL."
    assert [row for _, _, row in found[:5]] == [
        f"{begin} 'u' {no_old}",
        f"{begin} 'd' {no_old}",
        f"{begin} 'c' but no field 'after'.",
        f"{begin} 'x', which is not c, r, u or d.",
        ("a", 1),
    ]
    assert str(found[5][2]).startswith("the value is not valid JSON")


def test_times_and_bytes_in_envelopes_are_converted() -> None:
    columns = (
        Column("t", ZONED, "TIMESTAMP", Epoch.MILLIS),
        Column("b", pa.binary(), "BINARY", Epoch.MILLIS),
    )
    decoder = Envelopes(columns, JsonValues(envelope_columns(columns, is_json=True)), True)
    records = [
        {"before": None, "after": {"t": 1000, "b": "YQ=="}, "op": "c"},
        {"before": None, "after": {"t": 2**62, "b": None}, "op": "c"},
        {"before": None, "after": {"t": None, "b": "?"}, "op": "c"},
        {"before": None, "after": {"t": None, "b": "zzzzé"}, "op": "c"},
    ]
    assert shown(decoder.changes([*map(text, records)])) == [
        ("+I", 0, (datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), b"a")),
        ("+I", 1, f"column t: '{2**62}' is not a TIMESTAMP (timestamp.format epoch_millis)."),
        ("+I", 2, "column b: '?' is not a BINARY."),
        ("+I", 3, "column b: 'zzzzé' is not a BINARY."),
    ]
    # One that does not fit rejects its record, of which nothing is retracted then.
    wrong = {"before": {"t": 1, "b": None}, "after": {"t": 2**62, "b": None}, "op": "u"}
    assert [op for op, *_ in shown(decoder.changes([text(wrong)]))] == ["+I"]
    iso = (Column("t", ZONED, "TIMESTAMP"),)
    decoder = Envelopes(iso, JsonValues(envelope_columns(iso, is_json=True)), True)
    record = {"before": None, "after": {"t": "2026-01-15T10:00:00Z"}, "op": "r"}
    assert shown(decoder.changes([text(record)])) == [
        ("+I", 0, (datetime(2026, 1, 15, 10, tzinfo=UTC),))
    ]


def test_a_truncation_is_an_error_or_has_no_row() -> None:
    row = {"id": "a", "n": 1}
    truncate = {"before": None, "after": None, "op": "t"}
    records = [{"before": None, "after": row, "op": "c"}, {"payload": truncate}, truncate]
    messages = [Message(None), *map(text, records)]
    with pytest.raises(TruncatedError) as error:
        Envelopes(COLUMNS, JSON, True).changes(messages)
    assert error.value.record == 2
    ignoring = Envelopes(COLUMNS, JSON, True, ignores_truncate=True)
    assert shown(ignoring.changes([*messages, *messages])) == [
        ("+I", 1, ("a", 1)),
        ("+I", 5, ("a", 1)),
    ]


VALUES = st.sampled_from(
    [None, 1, 1000.0, 1.5, "2000", "x", "", True, 2**62, "YQ==", "ä", "YQ", [1], {"a": 1}, "\ud800"]
)


@given(rows=st.lists(st.fixed_dictionaries({"t": VALUES, "b": VALUES, "n": VALUES}), max_size=6))
def test_the_values_of_an_envelope_are_read_like_plain_json(rows: list[dict[str, Any]]) -> None:
    columns = (
        Column("t", ZONED, "TIMESTAMP", Epoch.MILLIS),
        Column("b", pa.string(), "STRING", Epoch.MILLIS),
        Column("n", pa.int64(), "BIGINT", Epoch.MILLIS),
    )
    decoder = Envelopes(columns, JsonValues(envelope_columns(columns, is_json=True)), True)
    messages = [text({"before": None, "after": row, "op": "c"}) for row in rows]
    messages += [text({"payload": {"before": row, "after": row, "op": "u"}}) for row in rows]
    plain = JsonValues(columns).decode([json.dumps(row).encode() for row in rows])
    values = zip(*(array.to_pylist() for array in plain.columns), strict=True)
    expected = [
        plain.flaws[row].message if row in plain.flaws else each for row, each in enumerate(values)
    ]
    found = shown(decoder.changes(messages))
    assert [each for op, _, each in found if op == "+U"] == [
        each for each in expected if isinstance(each, tuple)
    ]
    plain_envelopes = range(len(rows))
    assert [each for _, record, each in found if record in plain_envelopes] == expected


def test_a_value_that_does_not_fit_is_named_by_its_column() -> None:
    records = [
        {"before": None, "after": {"id": "a", "n": "x"}, "op": "c"},
        {"before": {"id": "a", "n": 1.5}, "after": {"id": "a", "n": 2}, "op": "u"},
        {"before": None, "after": [1], "op": "c"},
        {"payload": 5, "op": "c"},
    ]
    found = Envelopes(COLUMNS, JSON, True).changes([text(each) for each in records])
    assert [row for _, _, row in shown(found)] == [
        "column n: 'x' is not a BIGINT.",
        "column n: '1.5' is not a BIGINT.",
        "column after: '[1]' is not a STRUCT.",
        "column payload: '5' is not a STRUCT.",
    ]
    # Without old values, an update does not need its old row.
    found = Envelopes(COLUMNS, JSON, False).changes([text(records[1])])
    assert shown(found) == [("+U", 0, ("a", 2))]


def test_envelopes_may_be_avro() -> None:
    row = {
        "type": "record",
        "name": "Row",
        "fields": [{"name": "id", "type": "string"}, {"name": "n", "type": "int"}],
    }
    schema = avro_schema(("before", ["null", row]), ("after", ["null", "Row"]), ("op", "string"))
    values = RecordValues(envelope_columns(COLUMNS, is_json=False), False, schema, None, False)
    update = {"before": {"id": "a", "n": 1}, "after": {"id": "a", "n": 2}, "op": "u"}
    messages = [Message(avro(schema, update)), Message(None), Message(b"\1")]
    assert shown(Envelopes(COLUMNS, values, True).changes(messages)) == [
        ("-U", 0, ("a", 1)),
        ("+U", 0, ("a", 2)),
        ("+I", 2, "the value is not a record of its Avro schema."),
    ]
