"""Test files of any size, depth and encoding are read or refused with a code."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from millstream.errors import HarnessError
from millstream.testing import load
from millstream.testing import row_files as rowfile
from millstream.testing.arrow_rows import arrow_rows
from millstream.testing.load import read_documents
from millstream.testing.values import fill_rows


def refused(text: str) -> HarnessError:
    with pytest.raises(HarnessError) as caught:
        read_documents(text, "f.yaml")
    return caught.value


@pytest.mark.parametrize("text", ["[" * 100_000, "{a: " * 50_000, "- " * 100_000, "? " * 50_000])
def test_deep_files_are_refused(text):
    error = refused(text)
    assert error.code == "MS-TEST-SIZE"
    assert error.cause == "the file is nested more than 100 levels deep here."
    assert error.place is not None


def test_aliases_count_as_what_they_stand_for():
    levels = "\n".join(
        f"l{number}: &l{number} [{', '.join([f'*l{number - 1}'] * 9)}]" for number in range(1, 30)
    )
    error = refused(f"l0: &l0 lol\n{levels}\n")
    assert error.code == "MS-TEST-SIZE"
    assert error.cause == "with its aliases expanded, the file has more than 2,000,000 characters."
    assert str(error.place) == "f.yaml, line 7, column 5"


def test_merged_keys_count_as_what_they_stand_for():
    levels = "\n".join(
        f"l{number}: &l{number} {{<<: [{', '.join([f'*l{number - 1}'] * 9)}]}}"
        for number in range(1, 30)
    )
    assert refused(f"l0: &l0 {{a: 1}}\n{levels}\n").code == "MS-TEST-SIZE"


def test_documents_count_together():
    document = f"--- [&a {'x' * 100_000}, {', '.join(['*a'] * 8)}]\n"
    assert len(read_documents(document * 2, "f.yaml")) == 2
    assert refused(document * 3).code == "MS-TEST-SIZE"


def test_a_part_that_contains_itself_is_refused():
    error = refused("v: &a [1, *a]")
    assert str(error) == (
        "MS-TEST-YAML at f.yaml, line 1, column 11: the anchor &a contains itself."
    )


def test_aliases_are_read():
    [document] = read_documents("a: &row {id: 1}\nb: [*row, *row]\n", "f.yaml")
    assert document.value == {"a": {"id": 1}, "b": [{"id": 1}, {"id": 1}]}


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("9" * 5_000, f"'{'9' * 40}' is not a value of the type int."),
        ("!!int a", "'a' is not a value of the type int."),
        ("!!bool maybe", "'maybe' is not a value of the type bool."),
        ("!!float x", "'x' is not a value of the type float."),
        ("!!timestamp never", "'never' is not a value of the type timestamp."),
        ("2026-02-30", "2026-02-30 is not a valid time: day is out of range for month."),
        ('"\\ud800"', "the character U+D800 (unpaired surrogate) is not allowed in text."),
        ('"\\0"', "the character U+0000 (NUL) is not allowed in text."),
    ],
)
def test_values_that_are_none_have_a_place(text, cause):
    error = refused(f"v: {text}")
    assert (error.code, error.cause) == ("MS-TEST-VALUE", cause)
    assert str(error.place) == "f.yaml, line 1, column 4"


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (b"name: \xff", "it is not UTF-8 (byte 7)"),
        (b"#" * 2_000_001, "it is larger than 2,000,000 bytes"),
    ],
)
def test_files_that_are_no_text_are_refused(tmp_path: Path, content, cause):
    file = tmp_path / "a.test.yaml"
    file.write_bytes(content)
    with pytest.raises(HarnessError) as caught:
        load.load_file(file)
    assert str(caught.value) == f"MS-TEST-FILE: cannot read {file}: {cause}."


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("[" * 100_000, "it is nested too deeply"),
        ('{"a": ' + "9" * 5_000 + "}", "a number is too long"),
    ],
)
def test_lines_of_json_that_hold_no_row_are_refused(tmp_path: Path, line, reason):
    file = tmp_path / "rows.jsonl"
    file.write_text(line)
    with pytest.raises(HarnessError) as caught:
        rowfile.read(file)
    assert caught.value.cause == f"line 1 of {file} is not a row: {reason}."


@pytest.mark.parametrize(
    ("value", "type_", "reason"),
    [
        (2**31, "int", "2147483648 does not fit in int"),
        (-129, "tinyint", "-129 does not fit in tinyint"),
        (2**63, "bigint", "9223372036854775808 does not fit in bigint"),
        (10**400, "double", "int too large to convert to float"),
        (
            "\ud800",
            "string",
            "the character U+D800 (unpaired surrogate) is not allowed in text",
        ),
        ("1e999999999", "decimal(38,0)", "1E+999999999 does not fit in decimal(38,0)"),
        ("1e400", "decimal(10,2)", "1E+400 does not fit in decimal(10,2)"),
        ("123456789.5", "decimal(10, 2)", "123456789.5 does not fit in decimal(10, 2)"),
        ("0.125", "decimal(10,2)", "0.125 does not fit in decimal(10,2)"),
        ("NaN", "decimal(10,2)", "NaN is not a decimal number"),
        ("9999-12-31T23:59:59-10:00", "timestamp", "date value out of range"),
    ],
)
def test_values_out_of_range_are_refused(value, type_, reason):
    with pytest.raises(HarnessError) as caught:
        fill_rows([{"v": value}], {"v": type_}, "s")
    assert str(caught.value) == f"MS-TEST-VALUE: row 1 of input s: {reason}."


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        (["x"], pa.list_(pa.int32())),
        ([2**40], pa.list_(pa.int32())),
        ("x", pa.list_(pa.int32())),
        ([10**30], pa.list_(pa.int64())),
        ({"a": {}}, pa.struct([("a", pa.string())])),
    ],
)
def test_nested_values_that_do_not_fit_are_refused(value, type_):
    with pytest.raises(HarnessError) as caught:
        arrow_rows([{"v": value}], pa.schema([("v", type_)]), "s")
    assert caught.value.code == "MS-TEST-VALUE"
    assert caught.value.cause.startswith(
        f"a row of input s does not fit its columns, of which v has the type {type_}: "
    )


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        ("9" * 38, "decimal(38,0)"),
        ("0." + "9" * 38, "decimal(38,38)"),
        ("1.5000", "decimal(10, 2)"),
        ("0E+20", "decimal(10,2)"),
        (12345, "decimal"),
        (127, "tinyint"),
    ],
)
def test_values_at_the_edge_of_a_type_are_accepted(value, type_):
    [(found,)] = fill_rows([{"v": value}], {"v": type_}, "s")
    assert found == (Decimal(value) if type_ != "tinyint" else value)
