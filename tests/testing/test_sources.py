"""Inputs with a schema are sources that the SQL need not declare."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.errors import HarnessError
from millstream.plan.nodes import Column, Source
from millstream.temporal import Watermark
from millstream.testing.case import Case, Input
from millstream.testing.sources import given_input, given_sources, rows_of

MARK = Watermark("t", 5_000_000)


def test_an_input_with_a_schema_is_a_source():
    inputs = {
        "orders": Input((), {"id": "string", "t": "timestamp"}, MARK),
        "shipments": Input(()),
    }
    columns = (Column("id", "string"), Column("t", "timestamp"))
    assert given_sources(Case("a", "", Path("a"), inputs=inputs)) == {
        "orders": Source("orders", columns, MARK, connector="memory")
    }


def test_a_watermark_without_a_schema_is_refused():
    with pytest.raises(
        HarnessError, match="the input o of 'a' has a watermark or idle, but no schema"
    ):
        given_sources(Case("a", "", Path("a"), inputs={"o": Input((), None, MARK)}))


@pytest.mark.parametrize(
    ("types", "found"),
    [
        ({"id": "string"}, "the schema has no such column"),
        ({"t": "string"}, "the schema has it as string"),
    ],
)
def test_a_watermark_is_that_of_a_timestamp(types, found):
    with pytest.raises(HarnessError, match=found):
        given_sources(Case("a", "", Path("a"), inputs={"o": Input((), types, MARK)}))


def test_a_source_without_an_input_is_reported():
    source = Source("orders", (Column("id", "string"),), connector="memory")
    with pytest.raises(HarnessError) as caught:
        given_input(Case("a", "", Path("a"), inputs={}), source)
    assert caught.value.code == "MS-TEST-INPUT"
    assert caught.value.fix.endswith("as orders: {rows: []}")


def test_rows_of_a_changelog_have_the_kind_of_their_change():
    source = Source("orders", (Column("id", "BIGINT"),), retracts=True)
    rows = ({"id": 1}, {"id": 1, "_OP": "-D"})
    assert rows_of(rows, source, Input((rows,))) == [{"id": 1, "_OP": None}, {"id": 1, "_OP": "-D"}]
    wrong = ({"id": 1, "_OP": "D"},)
    with pytest.raises(HarnessError, match="has the _OP 'D'") as raised:
        rows_of(wrong, source, Input((wrong,)))
    assert raised.value.code == "MS-TEST-VALUE"
