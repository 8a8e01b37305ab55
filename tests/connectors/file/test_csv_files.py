"""CSV files as Arrow reads them: every type, every form of a record, malformed ones by the side."""

from __future__ import annotations

import bz2
import gzip
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from millstream.connectors.dead_letters import BAD, Rejection
from millstream.connectors.file import text_file
from millstream.connectors.file.csv_files import CsvFiles
from millstream.connectors.file.csv_records import CsvForm
from millstream.connectors.file.patterns import PatternError
from millstream.connectors.file.values import Column, time_format

TIME = pa.timestamp("us", "UTC")
AB = {"a": pa.int64(), "b": pa.string()}


def read(
    folder: Path,
    data: bytes | str,
    columns: Mapping[str, pa.DataType] = AB,
    wanted: Mapping[str, pa.DataType] | None = None,
    *,
    header: bool = False,
    name: str = "a b=c%20d.csv",
    **options: Any,
) -> list[dict[str, Any]]:
    """The rows, with the raw record in BAD."""
    rows = rejected(folder, data, columns, wanted, header=header, name=name, **options)
    return [{**row, BAD: row[BAD] and row[BAD].raw} for row in rows]


def rejected(
    folder: Path,
    data: bytes | str,
    columns: Mapping[str, pa.DataType] = AB,
    wanted: Mapping[str, pa.DataType] | None = None,
    *,
    header: bool = True,
    name: str = "x.csv",
    times: str = "",
    **options: Any,
) -> list[dict[str, Any]]:
    """The rows, with the rejection in BAD."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    declared = tuple(
        Column(name, kind, str(kind).upper(), time_format(times)) for name, kind in columns.items()
    )
    files = CsvFiles(str(folder), declared, header, **options)
    batches = files.read(f"file:{path}", columns if wanted is None else wanted)
    rows = [row for batch in batches for row in batch.to_pylist()]
    return [{**row, BAD: row[BAD] and Rejection.decode(row[BAD])} for row in rows]


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
def test_a_value_of_every_type_is_read_beside_a_malformed_one(tmp_path, kind, text, value):
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
        (pa.float64(), "1,5"),
        (pa.float64(), "1.5x"),
        (pa.float64(), "1e999"),
        (pa.float32(), "1e39"),
        (pa.decimal128(10, 2), "1.234"),
        (pa.decimal128(3, 0), "1000"),
        (pa.decimal128(6, 2), "10000"),
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
    monkeypatch.setattr(text_file, "BLOCK", 200)
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
        (b'1,"a"b\n', [bad('1,"a"b')]),
        (b"1\n2,y\n3,z,\n", [bad("1"), *pairs((2, "y")), bad("3,z,")]),
        (b'1,"\n2,y\n', [bad('1,"'), *pairs((2, "y"))]),
        (b'2,y\n1,"z\n', [*pairs((2, "y")), bad('1,"z')]),
        (b'1,"x\n2,y"\n3,z\n', pairs((1, "x\n2,y"), (3, "z"))),
        (b'1,"x\n2,"y"\n', [bad('1,"x'), *pairs((2, "y"))]),
        (b'1x"y,"z\n2,y\n', [bad('1x"y,"z'), *pairs((2, "y"))]),
        (b'2,y\n1,"z\n\r', [*pairs((2, "y")), bad('1,"z')]),
        (b"1,\xff\n2,y\n", [bad("1,\ufffd"), *pairs((2, "y"))]),
        (b"\xff\n2,y\n", [bad("\ufffd"), *pairs((2, "y"))]),
        (b"x,x\ny\n", [bad("x,x"), bad("y")]),
        (b"1,a\x00b\n", pairs((1, "a\x00b"))),
    ],
)
def test_records_and_their_ends(tmp_path, data, rows):
    assert read(tmp_path, data) == rows


def test_a_bad_value_of_a_column_that_no_query_reads_is_malformed_too(tmp_path):
    data = b"1,x\ntwo,\xff\n3,z,\n4,w\n"
    assert [row[BAD] for row in read(tmp_path, data)] == [None, "two,\ufffd", "3,z,", None]
    rows = read(tmp_path, "1,x\ntwo,y\n3,z\n", wanted={"b": pa.string()})
    assert rows == [{"b": "x", BAD: None}, {"b": None, BAD: "two,y"}, {"b": "z", BAD: None}]
    assert read(tmp_path, data, wanted={}) == [
        {BAD: None},
        {BAD: "two,\ufffd"},
        {BAD: "3,z,"},
        {BAD: None},
    ]


def test_columns_have_the_order_of_the_request(tmp_path):
    (row,) = read(tmp_path, "1,x\n", wanted={"b": pa.string(), "a": pa.int64()})
    assert list(row) == ["b", "a", BAD]


def test_another_delimiter(tmp_path):
    tab, bar, hat = (CsvForm(each) for each in "\t|^")
    assert read(tmp_path, '1\t"x\ty"\n2\t,|\n', form=tab) == pairs((1, "x\ty"), (2, ",|"))
    assert read(tmp_path, "1|x\n2,y\n", form=bar) == [*pairs((1, "x")), bad("2,y")]
    assert read(tmp_path, '1^"x"\n2^\n', form=hat) == pairs((1, "x"), (2, None))


def test_another_quote_an_escape_and_none(tmp_path):
    assert read(tmp_path, "1,'a, ''b'\n", form=CsvForm(quote="'")) == pairs((1, "a, 'b"))
    escaped = CsvForm(escape="\\")
    assert read(tmp_path, '1,"a \\"b\\", c"\n2,d\\\\\n', form=escaped) == pairs(
        (1, 'a "b", c'), (2, "d\\")
    )
    assert read(tmp_path, '1,"a\n2,b"\n', form=CsvForm(quote="")) == pairs((1, '"a'), (2, 'b"'))


def test_values_are_trimmed_only_on_request(tmp_path):
    data = ' 1 , lead \n2,"  kept " \n3 , "quoted, too" \n4,  \n'
    assert read(tmp_path, data, form=CsvForm(trim=True)) == pairs(
        (1, "lead"), (2, "  kept "), (3, "quoted, too"), (4, None)
    )
    assert read(tmp_path, "1, lead \n") == pairs((1, " lead "))


def test_a_quoted_value_may_have_line_ends_unless_multiline_is_off(tmp_path):
    data = '1,"a\r\nb\n\nc"\n2,d\n'
    assert read(tmp_path, data) == pairs((1, "a\r\nb\n\nc"), (2, "d"))
    assert read(tmp_path, data, form=CsvForm(multiline=False)) == [
        bad('1,"a'),
        bad("b"),
        bad('c"'),
        *pairs((2, "d")),
    ]


def test_a_null_value_is_null_unless_quoted(tmp_path):
    data = '1,NA\nNA,"NA"\n,\n'
    assert read(tmp_path, data, nulls=("", "NA")) == pairs((1, None), (None, "NA"), (None, None))


def test_an_empty_value_in_quotes_is_null_in_a_column_that_is_no_text(tmp_path):
    assert read(tmp_path, '"",""\n"1","x"\n') == pairs((None, ""), (1, "x"))


def test_another_encoding(tmp_path):
    for encoding in ("latin-1", "utf-16", "cp1252"):
        data = "1,é\n".encode(encoding)
        assert read(tmp_path, data, encoding=encoding) == pairs((1, "é"))
    assert read(tmp_path, b"1,\x81\n2,x\n", encoding="cp1252") == [
        bad("1,\ufffd"),
        *pairs((2, "x")),
    ]


@pytest.mark.parametrize(
    "data",
    [
        b"a,b\n1,x\n",
        b'\n"A",B\r\n1,x\n',
        b"\xef\xbb\xbfa,b\n1,x\n",
        b"b,a\nx,1\n",
        b'other,B,"more, yet",A\n"u\nv",x,w,1\n',
        b'"b","a\n c",A\nx,,1\n',
    ],
)
def test_header_columns_are_matched_by_name_in_any_order(tmp_path, data):
    assert read(tmp_path, data, header=True) == pairs((1, "x"))


@pytest.mark.parametrize("data", [b"", b"a,b", b"a,b\n", b"\n\n"])
def test_a_file_with_only_a_header_has_no_rows(tmp_path, data):
    assert read(tmp_path, data, header=True) == []


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (
            "id",
            "has none of the declared columns. The header is id; the declared columns are a, b.",
        ),
        ("a,b,A", "has a twice. The header is a, b, A; the declared columns are a, b."),
    ],
)
def test_a_file_whose_header_does_not_fit_is_rejected_as_a_whole(tmp_path, header, said):
    assert rejected(tmp_path, f"{header}\n1,x\n2,y\n") == [
        {
            "a": None,
            "b": None,
            BAD: Rejection(
                "unreadable_file",
                f"the file cannot be read: its header {said}",
                file=f"{tmp_path}/x.csv",
            ),
        }
    ]


def test_a_column_that_a_file_lacks_is_null(tmp_path):
    assert read(tmp_path, "B,c\nx,1\n", header=True) == [{"a": None, "b": "x", BAD: None}]


def test_a_rejected_file_is_reported_by_one_part_of_it(tmp_path):
    (tmp_path / "x.csv").write_text("c\n1\n2\n")
    files = CsvFiles(str(tmp_path), tuple(Column(name, kind, "") for name, kind in AB.items()))
    assert [len(list(files.read(f"{tmp_path}/x.csv", AB, part, 3))) for part in range(3)] == [
        1,
        0,
        0,
    ]


def test_a_file_that_is_gone_is_rejected(tmp_path):
    files = CsvFiles(str(tmp_path), tuple(Column(name, kind, "") for name, kind in AB.items()))
    (batch,) = files.read(f"file:{tmp_path}/gone.csv", AB)
    rejection = Rejection.decode(batch.column(BAD)[0].as_py())
    assert rejection.message == "the file was deleted before it was read."
    assert files.size_of(f"{tmp_path}/gone.csv", AB) == 0


def test_a_rejection_names_line_column_and_value(tmp_path):
    data = 'a,b\n1,"x\ny"\n\ntwo,z\n3,w,\n4,"open\n5,v\n'
    found = [row[BAD] for row in rejected(tmp_path, data)]
    file = f"{tmp_path}/x.csv"
    assert found == [
        None,
        Rejection("malformed", "column a: 'two' is not an INT64.", "two,z", "a", "two", file, 5),
        Rejection("malformed", "the record has 3 values instead of 2.", "3,w,", file=file, line=6),
        Rejection(
            "malformed",
            "a quoted value is not closed, or something follows its closing quote.",
            '4,"open',
            file=file,
            line=7,
        ),
        None,
    ]


def test_lines_are_counted_over_blocks_and_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(text_file, "BLOCK", 64)
    path = tmp_path / "x.csv"
    lines = [f"{number},{'x' * 20}" if number % 10 else "bad" for number in range(100)]
    path.write_text("\n".join(["a,b", *lines]))
    files = CsvFiles(str(tmp_path), tuple(Column(name, kind, "") for name, kind in AB.items()))
    found = [
        Rejection.decode(text).line
        for part in range(3)
        for batch in files.read(str(path), AB, part, 3)
        for text in batch.column(BAD).drop_null().to_pylist()
    ]
    assert found == [number + 2 for number in range(0, 100, 10)]


@pytest.mark.parametrize(
    ("ending", "compress"),
    [
        (".gz", gzip.compress),
        (".bz2", bz2.compress),
        (".zst", lambda it: pa.compress(it, "zstd", asbytes=True)),
    ],
)
def test_compressed_files_are_read_and_damaged_ones_rejected_as_a_whole(tmp_path, ending, compress):
    packed = compress(b"a,b\n" + b"1,x\n" * 50_000)
    assert len(read(tmp_path, packed, header=True, name=f"x.csv{ending}")) == 50_000
    (row,) = rejected(tmp_path, packed[:-12], name=f"y.csv{ending}")
    assert row[BAD].reason == "unreadable_file"
    assert row[BAD].message.startswith("the file cannot be read: its compression is damaged: ")


def test_the_values_of_folders_are_columns(tmp_path):
    rows = read(tmp_path, "B\nx\n", header=True, name="year=2026/A=7/x.csv")
    assert rows == pairs((7, "x"))
    assert read(tmp_path, "x\n", name="a=__HIVE_DEFAULT_PARTITION__/x.csv") == pairs((None, "x"))
    assert read(tmp_path, "1\n", name="b=p%3Dq%20r/x.csv") == pairs((1, "p=q r"))
    (row,) = rejected(tmp_path, "b\nx\n", name="a=seven/x.csv")
    assert row[BAD].message == (
        "the file cannot be read: its folder a=seven has a value that is not an INT64."
    )


@pytest.mark.parametrize(
    ("form", "text", "value"),
    [
        ("epoch_millis", "1767225600123", "2026-01-01 00:00:00.123"),
        ("epoch_seconds", "1767225600", "2026-01-01 00:00:00"),
        ("epoch_seconds", "-1.5", "1969-12-31 23:59:58.500"),
        ("epoch_millis", "9999999999999999", None),
        ("epoch_millis", "soon", None),
        ("dd.MM.yyyy HH:mm:ss", "01.01.2026 00:00:00", "2026-01-01 00:00:00"),
        ("dd.MM.yyyy HH:mm:ss", "29.02.2025 00:00:00", None),
        ("dd.MM.yyyy HH:mm:ss", "1.1.2026 00:00:00", None),
        ("d MMM yy, h:mm a", "1 Jan 26, 12:00 am", "2026-01-01 00:00:00"),
        ("yyyy-MM-dd'T'HH:mm:ss[.SSS]XXX", "2026-01-01T01:30:00.5+01:30", "2026-01-01 00:00:00.5"),
        ("yyyy-MM-dd'T'HH:mm:ss[.SSS]XXX", "2026-01-01T00:00:00Z", "2026-01-01 00:00:00"),
        ("iso8601", "9999-12-31T23:59:59-01:00", None),
        ("iso8601", "10000-01-01", None),
        ("iso8601", "0000-12-31", None),
    ],
)
def test_times_in_other_formats_and_out_of_range(tmp_path, form, text, value):
    data = f'"{text}",1\nbad\n'
    for file in (f'"{text}",1\n', data):
        row = rejected(tmp_path, file, {"t": TIME, "n": pa.int64()}, header=False, times=form)[0]
        assert row["t"] == (value and moment(value))
        if value is None:
            assert row[BAD].message == (
                f"column t: {text!r} is not a TIMESTAMP[US, TZ=UTC] (timestamp.format {form})."
            )


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("yyyy-MM-dd VV", "has 'VV', which is not supported"),
        ("HH:mm", "has no year"),
        ("yyyy-MM-dd hh:mm", "has 'h' without 'a', or 'a' without 'h'"),
        ("yyyy-MM-dd [HH", "has a bracket or a quote that is not closed"),
    ],
)
def test_patterns_that_cannot_be_used_say_why(pattern, said):
    with pytest.raises(PatternError, match=re.escape(said)):
        time_format(pattern)
