"""Upserts and tombstones become rows with the kind of a change."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.connectors.kafka.change_rows import COLUMNS, ZONED, Message, shown

from millstream.connectors.file.values import Column
from millstream.connectors.kafka.upserts import Upserts
from millstream.connectors.kafka.values import JsonValues, KeyText

TIMED = (*COLUMNS, Column("t", ZONED, "TIMESTAMP"))


def test_a_tombstone_deletes_the_row_of_its_key() -> None:
    decoder = Upserts(JsonValues(TIMED), KeyText(TIMED[0]), "t")
    messages = [
        Message(b'{"id":"a","n":1,"t":"2026-01-15T09:00:00Z"}', b"a"),
        Message(None, b"a"),
        Message(b'{"id":"b","n":2,"t":null}', b"b"),
        Message(None, None),
        Message(b"{", b"c"),
    ]
    found = shown(decoder.changes(messages))
    assert found[:4] == [
        ("+U", 0, ("a", 1, datetime(2026, 1, 15, 9, tzinfo=UTC))),
        ("-D", 1, ("a", None, datetime(2026, 1, 15, 10, tzinfo=UTC))),  # the record's time
        ("+U", 2, ("b", 2, None)),
        ("-D", 3, "the key: there is none."),
    ]
    assert str(found[4][2]).startswith("the value is not valid JSON")


def test_several_key_columns_are_json() -> None:
    decoder = Upserts(JsonValues(TIMED), JsonValues(COLUMNS), None)
    messages = [Message(None, b'{"id":"a","n":1}'), Message(None, b"a")]
    found = shown(decoder.changes(messages))
    assert found[0] == ("-D", 0, ("a", 1, None))
    assert str(found[1][2]).startswith("the key: the value is not valid JSON")


def test_a_key_is_of_the_type_of_its_column() -> None:
    decoder = Upserts(JsonValues(COLUMNS), KeyText(COLUMNS[1]), None)
    found = shown(decoder.changes([Message(None, b"7"), Message(None, b"x")]))
    assert found == [
        ("-D", 0, (None, 7)),
        ("-D", 1, "the key: column n: 'x' is not a BIGINT."),
    ]
