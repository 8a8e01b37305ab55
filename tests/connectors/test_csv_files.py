"""CSV files as Arrow reads them: every type, every form of a record, malformed ones by the side."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from millstream.connectors import csv_files
from millstream.connectors.csv_files import CsvFiles
from millstream.connectors.malformed import BAD
from millstream.errors import RunError

TIME = pa.timestamp("us", "UTC")
AB = {"a": pa.int64(), "b": pa.string()}


def read(
    folder: Path,
    data: bytes | str,
    columns: Mapping[str, pa.DataType] = AB,
    asked: Mapping[str, pa.DataType] | None = None,
    *,
    header: bool = False,
    delimiter: str = ",",
) -> list[dict[str, Any]]:
    path = folder / "a b=c%20d.csv"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    files = CsvFiles("s", str(folder), tuple(columns.items()), header, delimiter)
    batches = files.read(f"file:{path}", columns if asked is None else asked)
    return [row for batch in batches for row in batch.to_pylist()]


def pairs(*rows: tuple[int | None, str | None]) -> list[dict[str, Any]]:
    return [{"a": a, "b": b, BAD: None} for a, b in rows]


def bad(raw: str) -> dict[str, Any]:
    return {"a": None, "b": None, BAD: raw}


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (pa.int8(), "-128", -128),
        (pa.int16(), "32767", 32767),
        (pa.int32(), " 7\t", 7),
        (pa.int64(), str(-(2**63)), -(2**63)),
        (pa.float32(), "1.5", 1.5),
        (pa.float64(), "-1e-3", -0.001),
        (pa.float64(), "Infinity", float("inf")),
        (pa.decimal128(10, 2), "-99999999.99", Decimal("-99999999.99")),
        (pa.decimal128(38, 0), "1e37", Decimal(10**37)),
        (pa.decimal128(5, 2), "1.230", Decimal("1.23")),
        (pa.bool_(), "true", True),
        (pa.bool_(), "FALSE", False),
        (pa.date32(), "1969-12-31", date(1969, 12, 31)),
        (TIME, "2026-01-02", moment("2026-01-02")),
        (TIME, "2026-01-02 03:04:05", moment("2026-01-02 03:04:05")),
        (TIME, "1969-12-31T23:59:59.999999", moment("1969-12-31 23:59:59.999999")),
        (TIME, "2026-01-02T03:04:05.5Z", moment("2026-01-02 03:04:05.500")),
        (TIME, "2026-01-02 03:04:05+01:30", moment("2026-01-02 01:34:05")),
        (TIME, "2026-01-02T03:04:05-0100", moment("2026-01-02 04:04:05")),
        (pa.string(), " é ", " é "),
        (pa.string(), '"a, ""b"""', 'a, "b"'),
        (pa.string(), '""', ""),
        (pa.string(), "\\", "\\"),
        (pa.binary(), "é", "é".encode()),
    ],
)
def test_a_value_of_every_type_is_read_alone_and_beside_a_bad_one(tmp_path, kind, text, value):
    columns = {"x": kind, "n": pa.int64()}
    good, empty = {"x": value, "n": 1, BAD: None}, {"x": None, "n": 2, BAD: None}
    assert read(tmp_path, f"{text},1\n,2\n", columns) == [good, empty]
    malformed = {"x": None, "n": None, BAD: "bad"}
    assert read(tmp_path, f"{text},1\nbad\n,2\n", columns) == [good, malformed, empty]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (pa.int8(), "128"),
        (pa.int32(), "2147483648"),
        (pa.int64(), "9223372036854775808"),
        (pa.int64(), "1.0"),
        (pa.int64(), "seven"),
        (pa.int64(), '""'),
        (pa.float64(), "1,5"),
        (pa.float64(), "1.5x"),
        (pa.decimal128(10, 2), "1.234"),
        (pa.decimal128(3, 0), "1000"),
        (pa.bool_(), "yes"),
        (pa.bool_(), "1"),
        (pa.date32(), "2026-02-30"),
        (pa.date32(), "02.01.2026"),
        (TIME, "yesterday"),
        (TIME, "2026-01-02 03:04:05.1234567"),
        (TIME, "2026-01-02 24:00:00"),
        (TIME, "2026-01-02T03:04:05 CET"),
        (TIME, "1767225600"),
    ],
)
def test_a_text_that_is_no_value_makes_its_record_malformed(tmp_path, kind, text):
    columns = {"n": pa.int64(), "x": kind}
    rows = read(tmp_path, f"1,\n2,{text}\n3,\n", columns)
    assert [row["n"] for row in rows] == [1, None, 3]
    assert [row["x"] for row in rows] == [None, None, None]
    assert [row[BAD] for row in rows] == [None, f"2,{text}", None]


def test_times_with_and_without_an_offset_may_be_mixed(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_files, "_BLOCK", 200)
    lines = ["2026-01-01 00:00:00", "2026-01-01T02:00:00+02:00", "2026-01-01T00:00:00.000Z", ""]
    for several in ([0], [1], [1, 2], [0, 1, 2], [2, 3], [0, 3], [3]):
        data = "".join(f"{lines[i % 4]},{i}\n" for _ in range(40) for i in several)
        rows = read(tmp_path, data, {"t": TIME, "n": pa.int64()})
        assert [row["n"] for row in rows] == several * 40
        assert {row["t"] for row in rows if row["n"] != 3} <= {moment("2026-01-01")}
        assert {row["t"] for row in rows if row["n"] == 3} <= {None}


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        (b"", []),
        (b"\n\n", []),
        (b"1,x", pairs((1, "x"))),
        (b"1,x\n2,y\n", pairs((1, "x"), (2, "y"))),
        (b"1,x\r\n2,y\r\n", pairs((1, "x"), (2, "y"))),
        (b"1,x\r2,y\r", pairs((1, "x"), (2, "y"))),
        (b"\n1,x\n\n\r\n2,y\n\n", pairs((1, "x"), (2, "y"))),
        (b"\xef\xbb\xbf1,x\n", pairs((1, "x"))),
        (b"1,\n,\n", pairs((1, None), (None, None))),
        (b'1,""\n"2","y, ""z"""\n', pairs((1, ""), (2, 'y, "z"'))),
        (b'1,5" wide\n2,6" wide\n', pairs((1, '5" wide'), (2, '6" wide'))),
        (b'1,"a"b\n', pairs((1, "ab"))),
        (b"1\n2,y\n3,z,\n", [bad("1"), *pairs((2, "y")), bad("3,z,")]),
        (b'1,"\n2,y\n', [bad('1,"'), *pairs((2, "y"))]),
        (b'2,y\n1,"z\n', [*pairs((2, "y")), bad('1,"z')]),
        (b'1,"x\n2,y"\n3,z\n', [bad('1,"x'), *pairs((2, 'y"'), (3, "z"))]),
        (b'1x"y,"z\n2,y\n', [bad('1x"y,"z'), *pairs((2, "y"))]),
        (b'2,y\n1,"z\n\r', [*pairs((2, "y")), bad('1,"z')]),
        (b"1,\xff\n2,y\n", [bad("1,\ufffd"), *pairs((2, "y"))]),
        (b"\xff\n2,y\n", [bad("\ufffd"), *pairs((2, "y"))]),
        (b"x,x\ny\n", [bad("x,x"), bad("y")]),
        (b"1,a\x00b\n", pairs((1, "a\x00b"))),
    ],
)
def test_a_line_is_a_record_and_an_empty_one_is_none(tmp_path, data, rows):
    assert read(tmp_path, data) == rows


def test_a_bad_value_of_a_column_that_nobody_reads_passes(tmp_path):
    data = b"1,x\ntwo,\xff\n3,z,\n"
    assert [row[BAD] for row in read(tmp_path, data)] == [None, "two,\ufffd", "3,z,"]
    rows = read(tmp_path, data, asked={"b": pa.string()})
    assert rows == [
        {"b": "x", BAD: None},
        {"b": None, BAD: "two,\ufffd"},
        {"b": None, BAD: "3,z,"},
    ]
    assert read(tmp_path, data, asked={}) == [{BAD: None}, {BAD: None}, {BAD: "3,z,"}]


def test_columns_come_in_the_order_in_which_they_are_asked_for(tmp_path):
    (row,) = read(tmp_path, "1,x\n", asked={"b": pa.string(), "a": pa.int64()})
    assert list(row) == ["b", "a", BAD]


def test_another_delimiter(tmp_path):
    assert read(tmp_path, '1\t"x\ty"\n2\t,|\n', delimiter="\t") == pairs((1, "x\ty"), (2, ",|"))
    assert read(tmp_path, "1|x\n2,y\n", delimiter="|") == [*pairs((1, "x")), bad("2,y")]
    assert read(tmp_path, '1^"x"\n2^\n', delimiter="^") == pairs((1, "x"), (2, None))


@pytest.mark.parametrize(
    "data",
    [b"a,b\n1,x\n", b'\n"A",B\r\n1,x\n', b"\xef\xbb\xbfa,b\n1,x\n"],
)
def test_a_header_is_checked_and_skipped(tmp_path, data):
    assert read(tmp_path, data, header=True) == pairs((1, "x"))


@pytest.mark.parametrize("data", [b"", b"a,b", b"a,b\n"])
def test_a_header_alone_has_no_rows(tmp_path, data):
    assert read(tmp_path, data, header=True) == []


@pytest.mark.parametrize("first", ["b,a", "a", "a,b,c", "1,x"])
def test_another_header_is_refused(tmp_path, first):
    with pytest.raises(RunError) as refused:
        read(tmp_path, f"{first}\n1,x\n", header=True)
    path = f"file:{tmp_path}/a b=c%20d.csv"
    assert str(refused.value) == (
        f"MS-RUN-CSV: source s: {path} begins with '{first}', and the source has the columns a, b. "
        "Declare the file's columns, all and in its order, or set 'header' = 'false' if its first "
        "line is a row."
    )


def test_files_that_only_spark_can_read_are_refused(tmp_path):
    files = CsvFiles("s", str(tmp_path), tuple(AB.items()))
    for path, why in (
        ("x.csv.gz", "is packed"),
        ("B=7/x.csv", "is in a folder that is the value of a column, B=7"),
    ):
        with pytest.raises(RunError) as refused:
            list(files.read(f"file:{tmp_path}/{path}", AB))
        assert str(refused.value) == (
            f"MS-RUN-CSV: source s: file:{tmp_path}/{path} {why}. "
            "Have Spark read the files: 'reader' = 'spark'."
        )


def test_a_file_that_is_gone_is_named(tmp_path):
    files = CsvFiles("s", str(tmp_path), tuple(AB.items()))
    with pytest.raises(RunError, match=r"gone\.csv cannot be read: .*No such file") as refused:
        list(files.read(f"file:{tmp_path}/gone.csv", AB))
    assert refused.value.code == "MS-RUN-CSV"
    assert files.size_of(f"{tmp_path}/gone.csv", AB) == 0
