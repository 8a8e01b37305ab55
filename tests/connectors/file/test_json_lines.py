"""JSON lines: every type, lines that do not fit, and the same judgement in blocks and alone."""

from __future__ import annotations

import base64
import gzip
import json
import tempfile
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.connectors.dead_letters import BAD, Rejection
from millstream.connectors.file import json_lines
from millstream.connectors.file.json_lines import JsonFiles
from millstream.connectors.file.values import Column, time_format

TIME = pa.timestamp("us", "UTC")
AB = {"a": pa.int64(), "b": pa.string()}


def read(
    folder: Path,
    data: bytes | str,
    columns: Mapping[str, pa.DataType] = AB,
    *,
    times: str = "",
    name: str = "x.json",
    parts: int = 1,
    **options: Any,
) -> list[dict[str, Any]]:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    declared = tuple(
        Column(name, kind, str(kind).upper(), time_format(times)) for name, kind in columns.items()
    )
    files = JsonFiles(str(folder), declared, **options)
    rows = [
        row
        for part in range(parts)
        for batch in files.read(f"file:{path}", columns, part, parts)
        for row in batch.to_pylist()
    ]
    return [{**row, BAD: row[BAD] and Rejection.decode(row[BAD])} for row in rows]


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (pa.int8(), "-128", -128),
        (pa.int64(), str(-(2**63)), -(2**63)),
        (pa.float32(), "1.5", 1.5),
        (pa.float64(), "1", 1.0),
        (pa.float64(), '"Infinity"', float("inf")),
        (pa.decimal128(10, 2), "-99999999.99", Decimal("-99999999.99")),
        (pa.decimal128(10, 2), '"1.5"', Decimal("1.5")),
        (pa.bool_(), "true", True),
        (pa.date32(), '"1969-12-31"', date(1969, 12, 31)),
        (TIME, '"2026-01-02T03:04:05+01:30"', moment("2026-01-02 01:34:05")),
        (TIME, '"2026-01-02"', moment("2026-01-02")),
        (pa.string(), '"é \\u00e9\\n\\"x\\""', 'é é\n"x"'),
        (pa.string(), "12.50", "12.50"),
        (pa.string(), '{"x": [1, null, "y"]}', '{"x":[1,null,"y"]}'),
        (pa.binary(), '"//4="', b"\xff\xfe"),
        (pa.list_(pa.int32()), "[1, null]", [1, None]),
        (pa.list_(TIME), '["2026-01-02"]', [moment("2026-01-02")]),
        (pa.struct([("x", pa.int32()), ("y", pa.string())]), '{"x": 1}', {"x": 1, "y": None}),
        (pa.map_(pa.string(), pa.int64()), '{"k": 1}', [("k", 1)]),
    ],
)
def test_a_value_of_every_type_is_read_beside_a_malformed_one(tmp_path, kind, text, value):
    columns = {"x": kind, "n": pa.int64()}
    line, none = f'{{"x": {text}, "n": 1, "more": [{{}}]}}', '{"x": null, "n": 2}'
    rows = [{"x": value, "n": 1, BAD: None}, {"x": None, "n": 2, BAD: None}]
    assert read(tmp_path, f"{line}\n{none}\n", columns) == rows
    found = read(tmp_path, f"{line}\nbad\n{none}\n", columns)
    assert [found[0], found[2]] == rows
    assert found[1]["n"] is None


BAD_VALUES = [
    (pa.int8(), "128", "'128' is not an INT8."),
    (pa.int64(), "1.0", "'1.0' is not an INT64."),
    (pa.int64(), '"1"', "'1' is not an INT64."),
    (pa.int64(), "true", "'true' is not an INT64."),
    (pa.float64(), "1e999", "'1e999' is not a DOUBLE."),
    (pa.float32(), "1e39", "'1e39' is not a FLOAT."),
    (pa.float64(), '"x"', "'x' is not a DOUBLE."),
    (pa.decimal128(6, 2), "10000", "'10000' is not a DECIMAL128(6, 2)."),
    (pa.decimal128(6, 2), "1.234", "'1.234' is not a DECIMAL128(6, 2)."),
    (pa.bool_(), '"true"', "'true' is not a BOOL."),
    (pa.date32(), '"2026-02-30"', "'2026-02-30' is not a DATE32[DAY]."),
    (TIME, '"yesterday"', "'yesterday' is not a TIMESTAMP[US, TZ=UTC] (timestamp.format iso8601)."),
    (TIME, '"10000-01-01"', "'10000-01-01' is not a TIMESTAMP[US, TZ=UTC] "
     "(timestamp.format iso8601)."),
    (TIME, "1767225600000", "1767225600000 is a number, and times are strings unless "
     "'timestamp.format' is 'epoch_millis' or 'epoch_seconds'."),
    (pa.list_(pa.int32()), '[1, "x"]', "'[1,\"x\"]' is not a LIST<ITEM: INT32>."),
    (pa.binary(), '"#"', "'#' is not a BINARY."),
    (pa.binary(), '"ä€"', "'ä€' is not a BINARY."),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "said"), BAD_VALUES)
def test_a_value_of_another_type_is_malformed_and_named(tmp_path, kind, text, said):
    columns = {"n": pa.int64(), "x": kind}
    line = f'{{"n": 2, "x": {text}}}'
    rows = read(tmp_path, f'{{"n": 1}}\n\n{line}\n{{"n": 3}}\n', columns)
    assert [row["n"] for row in rows] == [1, None, 3]
    rejection = rows[1][BAD]
    assert rejection.message == f"column x: {said}"
    assert (rejection.column, rejection.line, rejection.raw) == ("x", 3, line)
    assert rejection.file == f"{tmp_path}/x.json"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{}", "the object has none of the declared columns."),
        (b'{"c": 1}', "the object has none of the declared columns."),
        (b'{"a": 1}{"a": 2}', "there is more than one JSON value in the line."),
        (b'{"a": 1} 7', "there is more than one JSON value in the line."),
        (b"[1]", "the line is not a JSON object."),
        (b"7", "the line is not a JSON object."),
        (b'{"a": 1, "c": NaN}', "the line is not valid JSON: NaN is not JSON."),
        (b"\xff", "the line is not valid text in the file's encoding."),
        (b'{"b": "\xff"}', "the line is not valid text in the file's encoding."),
    ],
)
def test_a_line_that_is_not_one_object_with_a_declared_column_is_malformed(tmp_path, line, said):
    rows = read(tmp_path, b'{"a": 1}\n' + line + b'\n{"a": 3}\n')
    assert [row["a"] for row in rows] == [1, None, 3]
    assert rows[1][BAD].message == said
    assert rows[1][BAD].line == 2


def test_missing_fields_are_null_and_unknown_ones_ignored(tmp_path):
    data = '{"a": 1, "z": 1e999}\r\n  {"b": null} \n\n{"A": 5, "b": "x"}'
    assert read(tmp_path, data) == [
        {"a": 1, "b": None, BAD: None},
        {"a": None, "b": None, BAD: None},
        {"a": None, "b": "x", BAD: None},
    ]


@pytest.mark.parametrize(
    ("times", "text", "value"),
    [
        ("epoch_millis", "1767225600123", "2026-01-01 00:00:00.123"),
        ("epoch_millis", '"1767225600123"', "2026-01-01 00:00:00.123"),
        ("epoch_seconds", "1767225600.25", "2026-01-01 00:00:00.250"),
        ("epoch_millis", "1e30", None),
        ("epoch_millis", "253402300800000", None),
        ("dd.MM.yyyy", '"02.01.2026"', "2026-01-02"),
        ("dd.MM.yyyy", '"2026-01-02"', None),
    ],
)
def test_times_in_other_formats_and_out_of_range(tmp_path, times, text, value):
    (row,) = read(tmp_path, f'{{"t": {text}}}', {"t": TIME}, times=times)
    assert row["t"] == (value and moment(value))
    assert (row[BAD] is None) == (value is not None)


def test_compressed_files_folders_and_parts(tmp_path):
    data = "".join(f'{{"b": "{number}"}}\n' for number in range(1000)).encode()
    whole = read(tmp_path, gzip.compress(data), name="a=7/x.json.gz", parts=2)
    assert [row["b"] for row in whole] == [str(number) for number in range(1000)]
    assert {row["a"] for row in whole} == {7}
    (row,) = read(tmp_path, gzip.compress(data)[:-9], name="y.json.gz")
    assert row[BAD].reason == "unreadable_file"
    for parts in (2, 3, 7):
        found = read(tmp_path, data, name="z.json", parts=parts)
        assert [row["b"] for row in found] == [str(number) for number in range(1000)]


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text('ab1 .é"\\', max_size=4),
    st.sampled_from(["2026-01-01", "NaN", "1.5", "2026-01-01T00:00:00Z", "AAAA"]),
    st.lists(st.integers(0, 300) | st.none(), max_size=3),
    st.fixed_dictionaries({}, optional={"x": st.integers(0, 9), "y": st.text("ab", max_size=2)}),
)
KINDS = [
    *(pa.int8(), pa.int64(), pa.float32(), pa.float64(), pa.decimal128(6, 2), pa.bool_()),
    *(pa.date32(), TIME, pa.string(), pa.binary(), pa.list_(pa.int8())),
    pa.struct([("x", pa.int8()), ("y", pa.string())]),
]
LINE = st.one_of(
    st.fixed_dictionaries({}, optional={"n": st.integers(0, 9), "x": VALUES, "o": VALUES}).map(
        json.dumps
    ),
    st.sampled_from(["{}", "", " ", "[1]", '{"n": 1}{"n": 2}', '{"x": 1e999}', '{"n": ', "NaN"]),
)


@given(
    st.lists(LINE, max_size=8),
    st.sampled_from(KINDS),
    st.sampled_from(["iso8601", "epoch_millis", "epoch_seconds"]),
    st.integers(1, 3),
)
def test_a_line_is_judged_alike_whatever_is_next_to_it(lines, kind, times, few):
    columns = {"n": pa.int64(), "x": kind}
    with tempfile.TemporaryDirectory() as folder, patch.object(json_lines, "_FEW", few):
        together = read(Path(folder), "\n".join(lines), columns, times=times)
        alone = [row for line in lines for row in read(Path(folder), line, columns, times=times)]
        with patch.object(json_lines.JsonLines, "_at_once", lambda *_: None):
            slowly = read(Path(folder), "\n".join(lines), columns, times=times)
    assert repr([_placeless(row) for row in together]) == repr([_placeless(row) for row in alone])
    assert repr(together) == repr(slowly)


def _placeless(row: dict[str, Any]) -> dict[str, Any]:
    bad = row[BAD]
    return {**row, BAD: bad and (bad.message, bad.column, bad.value, bad.raw)}


def test_binary_values_are_base64(tmp_path):
    data = base64.b64encode(b"\x00\xff").decode()
    assert read(tmp_path, f'{{"x": "{data}"}}', {"x": pa.binary()})[0]["x"] == b"\x00\xff"
