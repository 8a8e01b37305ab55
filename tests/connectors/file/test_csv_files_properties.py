"""Any file, however it is cut: every line once, in order, read as Python's csv module reads it."""

from __future__ import annotations

import csv
import io
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millstream.connectors.dead_letters import BAD, Rejection
from millstream.connectors.file.csv_files import CsvFiles
from millstream.connectors.file.csv_records import CsvForm
from millstream.connectors.file.values import Column, time_format

COLUMNS = {"i": pa.int64(), "s": pa.string(), "f": pa.bool_()}
DECLARED = tuple(Column(name, kind, str(kind)) for name, kind in COLUMNS.items())
TEXTS = st.text('ab ,"|é\ufeff', max_size=5)
INTEGERS = st.integers(-(2**63), 2**63 - 1)


def quoted(text: str | None) -> str:
    if text is None:
        return ""
    if text == "" or '"' in text or "," in text:
        return '"' + text.replace('"', '""') + '"'
    return text


SOUND = st.builds(
    lambda i, s, f: ",".join([quoted(i), quoted(s), quoted(f)]),
    st.none() | INTEGERS.map(str),
    st.none() | TEXTS,
    st.sampled_from([None, "true", "False"]),
)
GARBAGE = st.text('1a,," é\ufeff', max_size=8)
LINES = st.lists(st.one_of(SOUND, SOUND, SOUND, GARBAGE), max_size=30)


def oracle(line: str) -> dict[str, Any] | None:
    """The row of a line, None if it is malformed."""
    try:
        (fields,) = csv.reader([line], strict=True)
    except csv.Error:
        return None
    if len(fields) != 3:
        return None
    i, s, f = fields
    try:
        number = int(i) if i else None
    except ValueError:
        return None
    if f not in ("", "true", "False") or (number is not None and not -(2**63) <= number < 2**63):
        return None
    return {"i": number, "s": s, "f": {"true": True, "False": False}.get(f)}


def is_plain(line: str) -> bool:
    """Has it no quotes where Arrow, which is more lenient, and Python differ?"""
    try:
        fields = next(csv.reader([line], strict=True), [])
    except csv.Error:
        return False
    return ",".join(map(quoted, fields)).replace('""', "") == line.replace('""', "")


def read(data: bytes, parts: int, block: int, *, multiline: bool = False) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.csv")
        path.write_bytes(data)
        form = CsvForm(multiline=multiline)
        files = CsvFiles(folder, DECLARED, header=False, form=form)
        with patch("millstream.connectors.file.text_file.BLOCK", block):
            return [
                {**row, BAD: row[BAD] and Rejection.decode(row[BAD]).raw}
                for part in range(parts)
                for batch in files.read(str(path), COLUMNS, part, parts)
                for row in batch.to_pylist()
            ]


@given(
    LINES, st.integers(1, 7), st.integers(1, 200), st.sampled_from(["\n", "\r\n"]), st.booleans()
)
def test_every_line_is_read_once_and_in_order(lines, parts, block, end, ended):
    data = end + end.join(lines) + (end if ended else "")
    rows = read(data.encode(), parts, block)
    lines = [line for line in lines if line]
    assert len(rows) == len(lines)
    for row, line in zip(rows, lines, strict=True):
        assert row[BAD] in (None, line)
        if row[BAD] is not None:
            assert (row["i"], row["s"], row["f"]) == (None, None, None)
    assert rows == read(data.encode(), 1, 1 << 20), "cuts make no difference"


@given(LINES, st.integers(1, 7), st.integers(1, 200), st.sampled_from(["\n", "\r\n", "\r"]))
def test_cuts_make_no_difference_where_values_may_have_line_ends(lines, parts, block, end):
    data = end.join(["", *lines]).encode()
    assert read(data, parts, block, multiline=True) == read(data, 1, 1 << 20, multiline=True)


@given(
    st.lists(st.tuples(INTEGERS, st.text('ab,"\n\r\t \\é\x00', max_size=6)), max_size=20),
    st.integers(1, 4),
    st.integers(1, 100),
    st.sampled_from(["\n", "\r\n"]),
)
def test_what_python_writes_is_read_back_unchanged(rows, parts, block, end):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=end, quoting=csv.QUOTE_NONNUMERIC)
    writer.writerows([number, word, "true"] for number, word in rows)
    found = read(text.getvalue().encode(), parts, block, multiline=True)
    assert found == [{"i": number, "s": word, "f": True, BAD: None} for number, word in rows]


@given(LINES)
def test_a_line_is_read_as_python_reads_it(lines):
    lines = [line for line in lines if line and is_plain(line)]
    for row, line in zip(read("\n".join(["", *lines]).encode(), 1, 100), lines, strict=True):
        expected = oracle(line)
        if row[BAD] is None and row["s"] is None:
            row["s"] = ""  # which Python does not tell from NULL
        found = None if row[BAD] is not None else {name: row[name] for name in COLUMNS}
        if '""' in line and expected is not None and found is None:
            continue  # a quoted number or boolean that is empty
        assert found == expected


@given(st.lists(st.binary(max_size=6).filter(lambda it: b"\n" not in it and b"\r" not in it)))
def test_no_bytes_stop_the_reader(lines):
    rows = read(b"\n" + b"\n".join(lines), 2, 64)  # the first line alone may begin with a mark
    assert len(rows) == sum(map(bool, lines))


KINDS = [
    pa.int8(),
    pa.int64(),
    pa.float64(),
    pa.decimal128(6, 2),
    pa.bool_(),
    pa.date32(),
    pa.timestamp("us", "UTC"),
    pa.string(),
]
FORMS = st.sampled_from(["iso8601", "epoch_millis", "epoch_seconds", "yyyy-MM-dd[ HH:mm]"])
WORDS = st.one_of(
    st.text("0123456789+-. eE\tx:TZ", max_size=12),
    st.sampled_from(
        [
            "true",
            "False",
            "nan",
            "10000",
            "1e999",
            "-inf",
            "127",
            "1.25",
            "2026-01-01",
            " 2026-01-01",
        ]
    ),
    st.datetimes().map(str),
    st.datetimes(timezones=st.timezones()).map(lambda it: it.isoformat()),
)


@given(st.lists(WORDS, min_size=1, max_size=8), st.sampled_from(KINDS), FORMS)
def test_a_text_is_the_same_value_whatever_stands_beside_it(texts, kind, form):
    """Read at once if it stands alone, and taken apart if there is a bad record in its block."""
    declared = Column("n", pa.int64(), "BIGINT"), Column("x", kind, "X", time_format(form))
    files = CsvFiles("/", declared, header=False)
    alone = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.csv")
        for text in texts:
            path.write_text(f"1,{text}\n", encoding="utf-8")
            (batch,) = files.read(str(path), {"n": pa.int64(), "x": kind})
            alone += batch.to_pylist()
        path.write_text("".join(f"1,{text}\n" for text in texts) + "bad\n", encoding="utf-8")
        (batch,) = files.read(str(path), {"n": pa.int64(), "x": kind})
    together = batch.to_pylist()[:-1]
    assert repr(list(map(_placeless, together))) == repr(list(map(_placeless, alone)))


def _placeless(row: dict[str, Any]) -> dict[str, Any]:
    bad = row[BAD] and Rejection.decode(row[BAD])
    return {**row, BAD: bad and (bad.message, bad.column, bad.value, bad.raw)}


@given(st.lists(st.none() | WORDS, max_size=20), st.sampled_from(KINDS), FORMS)
def test_texts_that_are_no_values_are_found(texts, kind, form):
    column = pa.array([None if text is None else text.encode() for text in texts], pa.binary())
    declared = Column("x", kind, "X", time_format(form))
    found, unfit = declared.convert_strings(column)
    for place in range(len(texts)):
        single, lost = declared.convert_strings(column[place : place + 1])
        assert repr(found[place]) == repr(single[0])
        assert unfit[place] == lost[0]
