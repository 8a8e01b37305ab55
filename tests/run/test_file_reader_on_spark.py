"""Files read by executors: the rows of any query, rejections, and the ledger of them."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.run.trial import Trial, at

from millstream.connectors.file.csv_files import CsvFiles
from millstream.connectors.file.source import open_source
from millstream.engine.compile.columnar import ColumnarCompiler
from millstream.errors import PropertyError, RunError
from millstream.plan.build.job import build_job
from millstream.plan.nodes import Source
from millstream.plan.nodes.traversal import sources_of

TIME = pa.timestamp("us", "UTC")
ORDERS = """
CREATE SOURCE orders (
  id INT, amount DECIMAL(10, 2), paid BOOLEAN, day DATE, note STRING, at TIMESTAMP,
  WATERMARK FOR at AS at
) WITH ('connector' = 'file', 'path' = 'in/orders', 'format' = '{form}',
  'max.files.per.batch' = '1'{more});
"""
SHIPMENTS = """
CREATE SOURCE shipments (id INT, carrier STRING, at TIMESTAMP, WATERMARK FOR at AS at)
  WITH ('connector' = 'file', 'path' = 'in/shipments', 'format' = '{form}');
"""
QUERIES = {
    "join": """SELECT o.id, o.amount, o.paid, o.day, o.note, s.carrier, o.at
        FROM orders o LEFT JOIN shipments s
        ON o.id = s.id AND s.at BETWEEN o.at AND o.at + INTERVAL 10 MINUTES""",
    "filtered": """SELECT o.id, s.carrier FROM (SELECT id, at FROM orders WHERE id > 20) o
        JOIN shipments s ON o.id = s.id AND s.at BETWEEN o.at AND o.at + INTERVAL 10 MINUTES""",
    "aggregate": """SELECT paid, COUNT(*) AS n, SUM(amount) AS amount, MAX(note) AS note,
        _WINDOW_START AS start FROM orders WINDOW TUMBLING(INTERVAL 10 MINUTES)
        GROUP BY paid""",
    "expressions": """SELECT upper(note) AS note, SUM(id * 2) AS ids, _WINDOW_START AS start
        FROM orders WINDOW TUMBLING(INTERVAL 10 MINUTES) GROUP BY upper(note)""",
    "stateless": "SELECT id + 1 AS next, amount, day, upper(note) AS note FROM orders WHERE paid",
    "all": "SELECT * FROM orders",
}
READ_BY_PACKERS = {"join": 2, "filtered": 2, "aggregate": 1, "expressions": 0}
NAMES = ("id", "amount", "paid", "day", "note", "at")
HEADER = ",".join(NAMES)
ROWS = 80


def trial(spark: Any, folder: Any, query: str, form: str = "csv", more: str = "") -> Trial:
    sink = "CREATE SINK out WITH ('connector' = 'file', 'path' = 'out', 'format' = 'json') AS"
    sources = ORDERS.format(form=form, more=more)
    sources += SHIPMENTS.format(form=form) if "shipments" in query else ""
    return Trial(spark, folder, f"{sources}{sink}\n{query};")


def order(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "amount": Decimal(f"{number}.50"),
        "paid": bool(number % 3),
        "day": date(2026, 1, number % 28 + 1),
        "note": [None, "plain", "a, b", "é"][number % 4],
        "at": datetime.fromisoformat(at(number // 2)),
    }


def fill(made: Trial, form: str = "csv") -> None:
    orders = [order(number) for number in range(ROWS)]
    shipments = [
        {"id": number, "carrier": "UPS", "at": datetime.fromisoformat(at(number // 2, 1))}
        for number in range(0, ROWS, 2)
    ]
    types = [pa.int32(), pa.decimal128(10, 2), pa.bool_(), pa.date32(), pa.string(), TIME]
    schema = pa.schema(list(zip(NAMES, types, strict=True)))
    write(made, "orders", 0, form, orders[:40], schema)
    write(made, "orders", 1, form, orders[40:], schema)
    shipped = pa.schema([("id", pa.int32()), ("carrier", pa.string()), ("at", TIME)])
    write(made, "shipments", 0, form, shipments, shipped)


def write(
    made: Trial, source: str, number: int, form: str, rows: list[dict[str, Any]], schema: pa.Schema
) -> None:
    name = f"{number} é%20=.{form}"
    if form == "parquet":
        made.add(source, f"_{name}", [])
        folder = made.folder / "in" / source
        pq.write_table(pa.Table.from_pylist(rows, schema), folder / f"_{name}")
        (folder / f"_{name}").rename(folder / name)
    elif form == "json":
        made.add(source, name, [json.dumps(row, default=_text) for row in rows])
    else:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(reversed(schema.names))  # names are matched in any order
        writer.writerows([_text(row[name]) for name in reversed(schema.names)] for row in rows)
        made.add(source, name, text.getvalue().splitlines())
    # Spark takes files by their times.
    os.utime(made.folder / "in" / source / name, (number + 1, number + 1))


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, date) else None if value is None else str(value)


@pytest.mark.slow
@pytest.mark.parametrize("name", QUERIES)
def test_all_formats_give_the_same_rows(spark, tmp_path, monkeypatch, name):
    scanned: list[bool] = []
    cut = ColumnarCompiler._split_files

    def counted(self: ColumnarCompiler, inputs: Any) -> Any:
        scanned.extend(packing.scan is not None for _, packing in inputs)
        return cut(self, inputs)

    monkeypatch.setattr(ColumnarCompiler, "_split_files", counted)
    found = []
    for form in ("csv", "json", "parquet"):
        made = trial(spark, tmp_path / form, QUERIES[name], form)
        fill(made, form)
        ledger = made.flushed()
        orders = ledger.inputs[0]
        assert (orders["in"], orders["malformed"]) == (ROWS, 0)
        found.append(made.rows())
    assert found[0] == found[1] == found[2]
    assert found[0].total() > 4
    assert sum(scanned) == 3 * READ_BY_PACKERS.get(name, 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["join", "stateless"])
def test_parts_make_no_difference(spark, tmp_path, monkeypatch, name):
    found = []
    for least in (1, 16 << 20):
        monkeypatch.setattr(CsvFiles, "min_part_bytes", least)
        made = trial(spark, tmp_path / str(least), QUERIES[name])
        fill(made)
        assert made.flushed().inputs[0]["in"] == ROWS
        found.append(made.rows())
    assert found[0] == found[1]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["join", "expressions", "stateless"])
def test_rejected_records_and_files_are_dead_letters(spark, tmp_path, name):
    made = trial(spark, tmp_path, QUERIES[name])
    bad = ["", "1,2", "x,1.5,true,,,", '3,1,true,,"open,', f"4,1,maybe,,,{at(0)}"]
    fill(made)
    made.add("orders", "bad.csv", [HEADER, *bad, f"90,10000000000,true,,,{at(0)}"])
    made.add("orders", "other.csv", ["no,sum", "1,2"])
    truncated = gzip.compress(f"{HEADER}\n".encode() * 100)[:-9]
    (tmp_path / "in/orders/_split_files").write_bytes(truncated)
    (tmp_path / "in/orders/_split_files").rename(tmp_path / "in/orders/cut.csv.gz")
    started = datetime.now(UTC)
    ledger = made.flushed()
    assert (ledger.inputs[0]["in"], ledger.inputs[0]["malformed"]) == (ROWS + 7, 7)
    letters = made.read("checkpoint/out/dead-letter/orders")
    folder = tmp_path / "in/orders"
    files = {each["_file"]: each for each in letters if each["_reason"] == "unreadable_file"}
    assert files.keys() == {f"{folder}/other.csv", f"{folder}/cut.csv.gz"}
    assert files[f"{folder}/other.csv"]["_message"] == (
        "the file cannot be read: its header has none of the declared columns. The header is no, "
        "sum; the declared columns are id, amount, paid, day, note, at."
    )
    records = [each for each in letters if each["_reason"] == "malformed"]
    assert {(each["_line"], each["_column"], each["_value"]) for each in records} == {
        (3, None, None),
        (4, "id", "x"),
        (5, None, None),
        (6, "paid", "maybe"),
        (7, "amount", "10000000000"),
    }
    assert {each["_file"] for each in records} == {f"{folder}/bad.csv"}
    times = [datetime.fromisoformat(each["_time"]) for each in letters]
    assert all(started.replace(microsecond=0) <= time <= datetime.now(UTC) for time in times)


@pytest.mark.parametrize("engine", ["columnar", "native"])
def test_with_fail_the_error_names_the_place_on_both_engines(spark, tmp_path, engine):
    query = f"{QUERIES['join']} WITH ('engine' = '{engine}')"
    made = trial(spark, tmp_path, query, more=", 'malformed' = 'fail'")
    fill(made)
    made.add("orders", "bad.csv", [HEADER, f"1,2,true,,,{at(0)}", f"2,two,true,,,{at(0)}"])
    with pytest.raises(RunError) as caught:
        made.once()
    assert (caught.value.code, caught.value.cause) == (
        "MS-RUN-MALFORMED",
        f"source orders: {tmp_path}/in/orders/bad.csv, line 3: column amount: 'two' is not a "
        "DECIMAL(10,2).",
    )
    assert caught.value.fix.startswith("Correct the input")


def test_with_fail_a_file_that_does_not_fit_is_named_with_both_headers(spark, tmp_path):
    made = trial(spark, tmp_path, QUERIES["all"], more=", 'malformed' = 'fail'")
    made.add("orders", "1.csv", ["no,sum", "1,2"])
    with pytest.raises(RunError) as caught:
        made.once()
    assert (caught.value.code, caught.value.cause) == (
        "MS-RUN-MALFORMED",
        f"source orders: {tmp_path}/in/orders/1.csv: the file cannot be read: its header has "
        "none of the declared columns. The header is no, sum; the declared columns are id, amount, "
        "paid, day, note, at.",
    )


@pytest.mark.slow
def test_the_native_engine_counts_rows(spark, tmp_path):
    made = trial(spark, tmp_path, f"{QUERIES['join']} WITH ('engine' = 'native')")
    fill(made)
    run = made.start()
    try:
        run.process_available()
        run.flush()
    finally:
        run.stop()
    ledger = run.running[0].ledger_store.ledger
    assert ledger.as_data()["inputs"] == {"orders": {"in": ROWS}, "shipments": {"in": ROWS // 2}}


NESTED = """
CREATE SOURCE events (id INT, tags ARRAY<STRING>, place STRUCT<x: INT, y: INT>,
  counts MAP<STRING, INT>, day DATE) WITH ('connector' = 'file', 'path' = 'in/events',
  'format' = '{form}');
CREATE SINK out WITH ('connector' = 'file', 'path' = 'out', 'format' = 'json') AS
SELECT id, tags[1] AS tag, place.y AS y, counts['a'] AS a, day FROM events;
"""


@pytest.mark.parametrize("form", ["json", "parquet"])
def test_nested_columns_and_values_of_folders(spark, tmp_path, form):
    made = Trial(spark, tmp_path, NESTED.format(form=form))
    row = {"id": 1, "tags": ["s", "t"], "place": {"x": 2, "y": 3}, "counts": {"a": 4}}
    made.add("events", "_made", [json.dumps(row)])
    for day in ("2026-01-01", "2026-01-02"):
        folder = tmp_path / f"in/events/day={day}"
        folder.mkdir()
        if form == "json":
            (folder / "1.json").write_text(json.dumps(row))
        else:
            place = pa.struct([("x", pa.int32()), ("y", pa.int32())])
            table = {
                "id": pa.array([1], pa.int32()),
                "tags": pa.array([row["tags"]]),
                "place": pa.array([row["place"]], place),
                "counts": pa.array([[("a", 4)]], pa.map_(pa.string(), pa.int32())),
            }
            pq.write_table(pa.table(table), folder / "1.parquet")
    made.once()
    assert made.rows() == Counter(
        {("1", "t", "3", "4", "2026-01-01"): 1, ("1", "t", "3", "4", "2026-01-02"): 1}
    )


@pytest.mark.parametrize(
    ("columns", "options", "said"),
    [
        (
            "a TIMESTAMP",
            "'format' = 'csv', 'timestamp.format' = 'dd.MM.yyyy VV'",
            "s: 'timestamp.format' = 'dd.MM.yyyy VV' has 'VV', which is not supported.",
        ),
        (
            "a ARRAY<INT>",
            "'format' = 'csv'",
            "s: csv files do not support the type ARRAY<INT> of column a.",
        ),
        (
            "a MAP<INT, INT>",
            "'format' = 'json'",
            "s: json files do not support the type MAP<INT,INT> of column a.",
        ),
        (
            "a INTERVAL DAY",
            "'format' = 'parquet'",
            "s: parquet files do not support the type INTERVAL DAY of column a.",
        ),
        (
            "a INT",
            "'format' = 'csv', 'delimiter' = '||'",
            "s: 'delimiter' cannot be '||': it must be one ASCII character.",
        ),
        (
            "a INT",
            "'format' = 'csv', 'quote' = ','",
            "s: 'delimiter', 'quote' and 'escape' must be different characters.",
        ),
        (
            "a INT",
            "'format' = 'csv', 'encoding' = 'klingon'",
            "s: the encoding 'klingon' is not known.",
        ),
        (
            "a INT",
            "'format' = 'csv', 'encoding' = 'rot13'",
            "s: the encoding 'rot13' is not known.",
        ),
        (
            "a INT",
            "'format' = 'csv', 'max.rows.per.batch' = '5'",  # read without a checkpoint of a job
            "s: 'max.rows.per.batch' is not supported for ORC files, and needs the checkpoint of a "
            "job, which a DataFrame of the Python API does not have.",
        ),
    ],
)
def test_what_a_format_cannot_have_is_rejected_at_the_start(
    spark, tmp_path, columns, options, said
):
    with pytest.raises(PropertyError) as raised:
        open_source(spark, source(columns, options), tmp_path, ())
    assert (raised.value.code, raised.value.cause) == ("MS-PROP-FILE", said)
    assert raised.value.fix
    assert raised.value.place is not None


def test_a_property_that_a_format_has_no_use_for_is_rejected():
    with pytest.raises(PropertyError) as raised:
        source("a INT", "'format' = 'json', 'quote' = 'none'")
    assert str(raised.value).startswith("MS-PROP-UNUSED at line 1")
    assert raised.value.cause == (
        "'quote' applies to the format csv, and the format of the source s is json."
    )


def test_the_property_reader_is_rejected_with_what_to_do():
    with pytest.raises(PropertyError) as raised:
        source("a INT", "'reader' = 'arrow'")
    assert (raised.value.code, raised.value.fix) == (
        "MS-PROP-REMOVED",
        "Remove it: executors always read the files.",
    )


def source(columns: str, options: str) -> Source:
    text = f"""CREATE SOURCE s ({columns}) WITH ('connector' = 'file', 'path' = '.', {options});
    CREATE SINK out WITH ('connector' = 'console') AS SELECT * FROM s;"""
    (made,) = sources_of(build_job(text).pipelines[0].root)
    return made
