"""CSV read by Arrow: the rows of Spark's reader in any query, and the same account of them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from tests.run.trial import Trial, at

from millstream.connectors.csv_files import CsvFiles
from millstream.connectors.sources import read_stream
from millstream.errors import PlanError, PropertyError, RunError
from millstream.plan.build import build_job
from millstream.plan.walk import sources_of
from millstream.spark.columnar import Columnar

ORDERS = """
CREATE SOURCE orders (
  id INT, amount DECIMAL(10, 2), paid BOOLEAN, day DATE, note STRING, at TIMESTAMP,
  WATERMARK FOR at AS at
) WITH ('connector' = 'file', 'path' = 'in/orders', 'format' = 'csv', 'reader' = '{reader}',
  'max.files.per.batch' = '1'{more});
"""
SHIPMENTS = """
CREATE SOURCE shipments (id INT, carrier STRING, at TIMESTAMP, WATERMARK FOR at AS at)
  WITH ('connector' = 'file', 'path' = 'in/shipments', 'format' = 'csv', 'reader' = '{reader}');
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
HEADER = "id,amount,paid,day,note,at"


def trial(spark: Any, folder: Any, query: str, reader: str, more: str = "") -> Trial:
    sink = "CREATE SINK out WITH ('connector' = 'file', 'path' = 'out', 'format' = 'json') AS"
    sources = ORDERS.format(reader=reader, more=more)
    sources += SHIPMENTS.format(reader=reader) if "shipments" in query else ""
    return Trial(spark, folder, f"{sources}{sink}\n{query};")


def fill(made: Trial) -> None:
    for number in range(2):
        lines = [
            f"{i},{i}.5,{'true' if i % 3 else 'false'},2026-01-{i % 28 + 1:02d},"
            f"{['', 'plain', 'a, b', 'é'][i % 4] if i % 4 != 2 else chr(34) + 'a, b' + chr(34)},"
            f"{at(i % 60)}"
            for i in range(number * 40, number * 40 + 40)
        ]
        made.add("orders", f"{number}.csv", [HEADER, *lines])
    shipped = [f"{i},UPS,{at(i % 60, 1)}" for i in range(0, 80, 2)]
    made.add("shipments", "1.csv", ["id,carrier,at", *shipped])


@pytest.mark.slow
@pytest.mark.parametrize("name", QUERIES)
def test_the_rows_are_those_of_sparks_reader(spark, tmp_path, monkeypatch, name):
    scanned: list[bool] = []
    cut = Columnar._cut

    def counted(self: Columnar, inputs: Any) -> Any:
        scanned.extend(packing.scan is not None for _, packing in inputs)
        return cut(self, inputs)

    monkeypatch.setattr(Columnar, "_cut", counted)
    found: dict[str, Counter[tuple[str, ...]]] = {}
    counts = {}
    for reader in ("spark", "arrow"):
        made = trial(spark, tmp_path / reader, QUERIES[name], reader)
        fill(made)
        account = made.flushed()
        found[reader] = made.rows()
        counts[reader] = [(each["in"], each["malformed"]) for each in account.inputs]
    assert found["arrow"] == found["spark"]
    assert found["arrow"].total() > 4
    assert counts["arrow"] == counts["spark"]
    assert counts["arrow"][0] == (80, 0)
    assert sum(scanned) == READ_BY_PACKERS.get(name, 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["join", "stateless"])
def test_a_checkpoint_goes_on_with_either_reader_and_with_parts(spark, tmp_path, monkeypatch, name):
    monkeypatch.setattr(CsvFiles, "least_part", 1)
    for folder, readers in (("whole", ("spark",) * 3), ("changed", ("arrow", "spark", "arrow"))):
        for number, reader in enumerate(readers):
            made = trial(spark, tmp_path / folder, QUERIES[name], reader)
            lines = [f"{number * 9 + i},1,true,,,{at(number, i)}" for i in range(9)]
            made.add("orders", f"{number} é%20=.csv", [HEADER, *lines])
            made.add("shipments", f"{number}.csv", ["id,carrier,at", f"{number},UPS,{at(number)}"])
            account = made.once()
            assert account.inputs[0]["in"] == 9 * (number + 1)
    whole, changed = (Trial(spark, tmp_path / folder, "").rows() for folder in ("whole", "changed"))
    assert whole == changed
    assert whole.total() > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["join", "expressions", "stateless"])
def test_malformed_records_are_set_aside(spark, tmp_path, name):
    made = trial(spark, tmp_path, QUERIES[name], "arrow")
    bad = [
        "",
        "1,2",
        "x,1.5,true,,,",
        '3,1,true,,"open,',
        f"4,1,maybe,,,{at(0)}",
        f"5,1,true,,,,{at(0)}",
    ]
    fill(made)
    made.add("orders", "bad.csv", [HEADER, *bad, f"90,1,true,,,{at(0)}"])
    account = made.flushed()
    # Whether an order is paid makes a difference where that is read.
    found = [line for line in bad[1:] if name != "expressions" or "maybe" not in line]
    assert (account.inputs[0]["in"], account.inputs[0]["malformed"]) == (86, len(found))
    letters = made.read("checkpoint/out/dead-letter/orders")
    assert sorted(letter["_raw"] for letter in letters) == sorted(found)
    assert {letter["_reason"] for letter in letters} == {"malformed"}


@pytest.mark.parametrize("name", ["join", "stateless"])
def test_a_malformed_record_stops_the_job_if_asked_to(spark, tmp_path, name):
    made = trial(spark, tmp_path, QUERIES[name], "arrow", ", 'malformed' = 'fail'")
    fill(made)
    made.add("orders", "bad.csv", [HEADER, "garbage"])
    with pytest.raises(RunError) as caught:
        made.once()
    assert caught.value.code == "MS-RUN-MALFORMED"
    assert "source orders holds a record that does not fit its schema" in caught.value.cause
    assert "garbage" in caught.value.cause


def test_another_header_stops_the_job(spark, tmp_path):
    made = trial(spark, tmp_path, QUERIES["all"], "arrow")
    made.add("orders", "1.csv", ["id,amount", "1,2"])
    with pytest.raises(RunError, match="begins with 'id,amount', and the source has") as caught:
        made.once()
    assert caught.value.code == "MS-RUN-CSV"
    assert caught.value.fix.startswith("Declare the file's columns, all and in its order")


@pytest.mark.parametrize(
    ("columns", "options", "said"),
    [
        (
            "a INT",
            "'format' = 'json'",
            "the reader 'arrow' of source s reads CSV and Parquet, not json.",
        ),
        (
            "a TIMESTAMP",
            "'format' = 'csv', 'timestamp.format' = 'dd.MM.yyyy'",
            "the reader 'arrow' of source s reads times in ISO 8601, and knows no "
            "'timestamp.format'.",
        ),
        (
            "a ARRAY<INT>",
            "'format' = 'csv'",
            "the reader 'arrow' of source s cannot read column a, of the type array<int>.",
        ),
        (
            "a TIMESTAMP_NTZ",
            "'format' = 'csv'",
            "the reader 'arrow' of source s cannot read column a, of the type timestamp_ntz.",
        ),
        (
            "a INT",
            "'format' = 'csv', 'delimiter' = '||'",
            "the reader 'arrow' of source s cannot take '||' for a 'delimiter'.",
        ),
    ],
)
def test_what_arrow_cannot_read_is_refused(spark, tmp_path, columns, options, said):
    text = f"""CREATE SOURCE s ({columns}) WITH (
      'connector' = 'file', 'path' = '.', 'reader' = 'arrow', {options});
    CREATE SINK out WITH ('connector' = 'console') AS SELECT * FROM s;"""
    (source,) = sources_of(build_job(text).pipelines[0].root)
    with pytest.raises(PropertyError) as refused:
        read_stream(spark, source, tmp_path)
    assert (refused.value.code, refused.value.cause) == ("MS-PROP-READER", said)
    assert refused.value.fix == "Leave 'reader' out: Spark reads the files then."
    assert refused.value.place is not None


def test_the_native_engine_is_not_for_it(spark, tmp_path):
    query = f"{QUERIES['join']} WITH ('engine' = 'native')"
    made = trial(spark, tmp_path, query, "arrow")
    fill(made)
    with pytest.raises(PlanError, match="with 'reader' = 'arrow' these are files, not rows"):
        made.once()
