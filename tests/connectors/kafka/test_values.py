"""Values of records are decoded as a block, and rejected one by one."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.connectors.file.csv_records import CsvForm
from millstream.connectors.file.values import Column
from millstream.connectors.kafka.values import CsvValues, Decoder, JsonValues, RawValues

COLUMNS = (
    Column("id", pa.string(), "STRING"),
    Column("n", pa.int64(), "BIGINT"),
)
JSON = JsonValues(COLUMNS)
CSV = CsvValues(COLUMNS, CsvForm(multiline=False), ("",))


def decoded(decoder: Decoder, *values: bytes | None) -> tuple[list[tuple[object, ...]], list[str]]:
    found = decoder.decode(values)
    rows = list(zip(*(array.to_pylist() for array in found.columns), strict=True))
    return rows, [f"{row}: {flaw.message}" for row, flaw in sorted(found.flaws.items())]


def test_a_malformed_value_is_a_flaw_of_its_record_alone() -> None:
    rows, flaws = decoded(JSON, b'{"id":"a","n":1}', b"{", b'{"id":"b","n":"x"}', b'{"id":"c"}')
    assert rows == [("a", 1), (None, None), (None, None), ("c", None)]
    assert flaws[0].startswith("1: the value is not valid JSON: ")
    assert flaws[1:] == ["2: column n: 'x' is not a BIGINT."]


def test_records_without_a_value_are_counted() -> None:
    rows, flaws = decoded(JSON, None, b'{"id":"a"}', b"", b" \n ")
    assert rows == [(None, None), ("a", None), (None, None), (None, None)]
    assert flaws == [
        "0: the record has no value; it is a tombstone.",
        "2: the value is empty.",
        "3: the value is empty.",
    ]


def test_json_of_several_lines_is_one_record() -> None:
    rows, flaws = decoded(JSON, b'{"id": "a",\n "n": 1}\n', b'{"id": "a\nb"}', b'{"id":"c"}')
    assert rows == [("a", 1), (None, None), ("c", None)]
    assert [flaw[:31] for flaw in flaws] == ["1: the value is not valid JSON:"]


def test_several_objects_in_one_value_are_malformed() -> None:
    rows, flaws = decoded(JSON, b'{"id":"a"}\n{"id":"b"}', b'{"id":"c"}')
    assert rows == [(None, None), ("c", None)]
    assert len(flaws) == 1


def test_csv_values_have_one_line_each() -> None:
    rows, flaws = decoded(CSV, b"a,1\n", b'"b,c",2', b"x", b"d,e", b'e,"3\n4"', b"", b"f,6\r\n")
    assert rows == [("a", 1), ("b,c", 2), *[(None, None)] * 4, ("f", 6)]
    assert flaws == [
        "2: the record has 1 values instead of 2.",
        "3: column n: 'e' is not a BIGINT.",
        "4: the value has more than one line.",
        "5: the value is empty.",
    ]


@pytest.mark.parametrize("kind", [pa.string(), pa.binary()])
def test_raw_values_are_one_column(kind: pa.DataType) -> None:
    decoder = RawValues((Column("value", kind, "STRING"),))
    rows, flaws = decoded(decoder, "ä".encode(), None, b"\xff")
    if kind == pa.binary():
        assert (rows, flaws) == ([("ä".encode(),), (None,), (b"\xff",)], [])
    else:
        assert rows == [("ä",), (None,), (None,)]
        assert flaws == ["2: column value: the value is not UTF-8."]


@pytest.mark.parametrize("decoder", [JSON, CSV], ids=["json", "csv"])
def test_a_value_that_is_not_text_is_told_as_one_of_a_record(decoder: Decoder) -> None:
    _, flaws = decoded(decoder, b'{"id":"\xff"}')
    (flaw,) = flaws
    assert flaw.endswith("is not valid UTF-8.")


VALUES = (
    *(None, b"", b'{"id":"a","n":1}', b'{"id":null,"n":2}', b"{}", b'{"id":"a"\n}', b"{"),
    *(b"a,1", b"b,", b'"', b"\r", b'{"id":"a"}{"id":"b"}', b"\xff", b'{"n":1}\r\n', b"x,y,z"),
    b'"a\nb",1',
)


@pytest.mark.parametrize("decoder", [JSON, CSV], ids=["json", "csv"])
@given(values=st.lists(st.sampled_from(VALUES), max_size=12))
def test_a_value_is_decoded_the_same_alone_and_among_others(
    decoder: Decoder, values: list[bytes | None]
) -> None:
    together = decoder.decode(values)
    for row, value in enumerate(values):
        alone = decoder.decode([value])
        assert [array[row].as_py() for array in together.columns] == [
            array[0].as_py() for array in alone.columns
        ]
        assert (row in together.flaws) == (0 in alone.flaws)
