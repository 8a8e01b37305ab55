"""Test files: what is found, what is read, and how every mistake is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.errors import HarnessError
from millstream.temporal import Watermark
from millstream.testing.case import ExpectedOutput, Input
from millstream.testing.load import find, load, load_file

WHOLE = """\
name: orders joined
sql: |
  CREATE SINK out AS SELECT 1
engines: [columnar]
set: {key_groups: 4, checkpoint: /tmp/x, spark.sql.ansi.enabled: true}
variables: {hours: 24, day: 2026-01-15}
inputs:
  orders:
    schema: {order_id: string, event_time: timestamp}
    watermark: {column: event_time, delay: 5s}
    batches:
      - [{order_id: A}]
      - []
      - [{order_id: B}, {order_id: C}]
  shipments:
    rows: [{order_id: A}]
end: hold
expect:
  out: {rows: [{order_id: A}]}
  late: {rows: [], approx: {total: 0.01}}
"""
SMALL = "name: a\nsql: SELECT 1\nexpect: {out: {rows: []}}\n"


def write(folder: Path, text: str, name: str = "a.test.yaml") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def refusal(folder: Path, text: str) -> str:
    path = write(folder, text, "a.yaml")
    with pytest.raises(HarnessError) as caught:
        load_file(path)
    return str(caught.value).replace(f"{folder}/", "")


def test_a_whole_case_is_read(tmp_path):
    [case] = load_file(write(tmp_path, WHOLE))
    assert case.name == "orders joined"
    assert case.sql == "CREATE SINK out AS SELECT 1\n"
    assert case.engines == ("columnar",)
    assert case.settings == {
        "key_groups": "4",
        "checkpoint": "/tmp/x",
        "spark.sql.ansi.enabled": "true",
    }
    assert case.variables == {"hours": "24", "day": "2026-01-15"}
    assert case.inputs["orders"] == Input(
        batches=(({"order_id": "A"},), (), ({"order_id": "B"}, {"order_id": "C"})),
        types={"order_id": "string", "event_time": "timestamp"},
        watermark=Watermark("event_time", 5_000_000),
    )
    assert case.inputs["shipments"].batches == (({"order_id": "A"},),)
    assert case.batches == 3
    assert case.end == "hold"
    assert case.expect["out"] == ExpectedOutput(({"order_id": "A"},))
    assert case.expect["late"].tolerance("total") == 0.01
    assert case.expect["late"].tolerance("other") is None
    assert case.error is None


def test_defaults(tmp_path):
    [case] = load_file(write(tmp_path, "name: a\nsql: x\nerror: MS-PLAN-UNBOUNDED\n"))
    assert (case.engines, case.end, case.inputs, case.expect) == (None, "flush", {}, {})
    assert case.error == "MS-PLAN-UNBOUNDED"
    assert case.batches == 0


def test_files_stand_relative_to_the_test_file(tmp_path):
    write(tmp_path, "SELECT 2", "jobs/job.sql")
    write(tmp_path, 'id,note\n1,"two\nlines"\n2,\n', "data/in.csv")
    write(tmp_path, '{"id": 1, "note": null}\n\n{"id": 2}\n', "data/out.jsonl")
    text = (
        "name: a\nfile: ../jobs/job.sql\ninputs: {s: {file: ../data/in.csv}}\n"
        "expect: {out: {file: ../data/out.jsonl}}\n"
    )
    [case] = load_file(write(tmp_path, text, "tests/a.test.yaml"))
    assert case.sql == "SELECT 2"
    assert case.sql_path == tmp_path / "tests/../jobs/job.sql"
    assert case.inputs["s"].batches == (
        ({"id": "1", "note": "two\nlines"}, {"id": "2", "note": None}),
    )
    assert case.inputs["s"].text
    assert case.expect["out"] == ExpectedOutput(({"id": 1, "note": None}, {"id": 2}), text=False)


def test_a_file_may_hold_several_cases(tmp_path):
    path = write(tmp_path, SMALL + "---\n" + SMALL.replace("name: a", "name: b"))
    assert [case.name for case in load_file(path)] == ["a", "b"]


def test_find_takes_folders_and_files_and_names_each_once(tmp_path):
    first = write(tmp_path, SMALL, "x/a.test.yaml")
    second = write(tmp_path, SMALL, "x/y/b.test.yaml")
    write(tmp_path, SMALL, "x/notes.yaml")
    other = write(tmp_path, SMALL, "any.yaml")
    assert find([tmp_path / "x"]) == [first, second]
    assert find([second, tmp_path / "x", other]) == [second, first, other]
    assert len(load([tmp_path / "x"])) == 2


def test_a_path_that_is_not_there(tmp_path):
    with pytest.raises(HarnessError, match="nowhere does not exist"):
        find([tmp_path / "nowhere"])


def test_a_folder_without_cases(tmp_path):
    with pytest.raises(
        HarnessError, match=r"MS-TEST-NONE: there is no test file below .*\.test\.yaml"
    ):
        find([tmp_path])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            SMALL + "engins: [native]\n",
            "MS-TEST-KEY at a.yaml, line 4, column 1: the key 'engins' is unknown. "
            "Did you mean 'engines'?",
        ),
        (
            SMALL + "inputs:\n  orders:\n    rows: []\n    shema: {a: int}\n",
            "MS-TEST-KEY at a.yaml, line 7, column 5: the key 'inputs.orders.shema' is unknown. "
            "Did you mean 'schema'?",
        ),
        (
            SMALL + "inputs: {o: {rows: [], watermark: {column: t, dely: 5s}}}\n",
            "MS-TEST-KEY at a.yaml, line 4, column 47: the key 'inputs.o.watermark.dely' is "
            "unknown. Did you mean 'delay'?",
        ),
        (
            "name: a\nsql: x\nexpect: {out: {rows: [], zzz: 1}}\n",
            "MS-TEST-KEY at a.yaml, line 3, column 26: the key 'expect.out.zzz' is unknown. "
            "Use one of rows, table, file, approx.",
        ),
        (
            "sql: x\nerror: MS-X\n",
            "MS-TEST-VALUE at a.yaml, line 1, column 1: the key 'name' is missing.",
        ),
        (
            "name: a\nerror: MS-X\n",
            "MS-TEST-VALUE at a.yaml, line 1, column 1: the case: needs exactly one of sql or "
            "file; it has none.",
        ),
        (
            "name: a\nsql: x\nfile: y.sql\nerror: MS-X\n",
            "MS-TEST-VALUE at a.yaml, line 1, column 1: the case: needs exactly one of sql or "
            "file; it has sql and file.",
        ),
        (
            "name: a\nsql: x\n",
            "MS-TEST-VALUE at a.yaml, line 1, column 1: the case: needs exactly one of expect or "
            "error; it has none.",
        ),
        (
            SMALL + "inputs:\n  o: {rows: [], batches: []}\n",
            "MS-TEST-VALUE at a.yaml, line 5, column 3: 'inputs.o': needs exactly one of "
            "batches, rows or file; it has batches and rows.",
        ),
        (
            SMALL + "inputs:\n  o:\n    rows: []\n    watermark: {column: t, delay: soon}\n",
            "MS-TEST-VALUE at a.yaml, line 7, column 28: 'inputs.o.watermark.delay': 'soon' is "
            "not a duration. Write a number and a unit: 500ms, 5s, 10m, 24h, 7d.",
        ),
        (
            SMALL + "end: never\n",
            "MS-TEST-VALUE at a.yaml, line 4, column 1: 'end': Input should be 'flush' or 'hold'.",
        ),
        (
            SMALL + "engines: [spark]\n",
            "MS-TEST-VALUE at a.yaml, line 4, column 11: 'engines.0': Input should be 'columnar' "
            "or 'native'.",
        ),
        (
            "- a\n",
            "MS-TEST-VALUE at a.yaml, line 1, column 1: a test case is not a mapping of keys such "
            "as name, sql, inputs and expect.",
        ),
        ("", "MS-TEST-YAML: a.yaml is empty. Write a test case with name, sql and expect."),
        (
            "name: a\nfile: no.sql\nerror: MS-X\n",
            "MS-TEST-FILE at a.yaml, line 2, column 1: cannot read no.sql: No such file or "
            "directory.",
        ),
        (
            SMALL + "inputs: {o: {file: rows.xlsx}}\n",
            "MS-TEST-FILE at a.yaml, line 4, column 14: rows.xlsx is not a row file. "
            "Use .csv with a header, or .jsonl with one object per line.",
        ),
    ],
)
def test_an_error_has_file_line_and_key(tmp_path, text, message):
    assert refusal(tmp_path, text) == message


@pytest.mark.parametrize(("approx", "line"), [("-1", 3), ("soon", 3), ("{total: -0.1}", 3)])
def test_a_bad_tolerance_is_refused(tmp_path, approx, line):
    text = f"name: a\nsql: x\nexpect: {{out: {{rows: [], approx: {approx}}}}}\n"
    message = refusal(tmp_path, text)
    assert message.startswith(
        f"MS-TEST-VALUE at a.yaml, line {line}, column 26: 'expect.out.approx"
    )


def test_an_error_code_must_look_like_one(tmp_path):
    assert "'error'" in refusal(tmp_path, "name: a\nsql: x\nerror: unbounded\n")


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("r.csv", "a,b\n1\n", "row 1 of r.csv does not have as many values as the header."),
        (
            "r.csv",
            "a,b\n1,2\n1,2,3\n",
            "row 2 of r.csv does not have as many values as the header.",
        ),
        ("r.csv", 'a\n"1\n', "r.csv is not CSV: unexpected end of data."),
        ("r.jsonl", '{"a": 1}\n{"a":\n', "line 2 of r.jsonl is not a row: Expecting value."),
        ("r.jsonl", "[1]\n", "line 1 of r.jsonl is not a row: not an object."),
    ],
)
def test_a_bad_file_of_rows_is_refused(tmp_path, name, content, reason):
    write(tmp_path, content, name)
    message = refusal(tmp_path, SMALL + f"inputs: {{o: {{file: {name}}}}}\n")
    assert message == f"MS-TEST-FILE at a.yaml, line 4, column 14: {reason}"


def test_a_file_that_is_not_utf_8_is_refused(tmp_path):
    path = tmp_path / "a.test.yaml"
    path.write_bytes(b"name: \xff")
    with pytest.raises(HarnessError, match="it is not UTF-8"):
        load_file(path)
