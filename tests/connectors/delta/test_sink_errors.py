"""A table that cannot store the rows of a sink is rejected before the job starts, with a fix."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Field, Schema
from deltalake.schema import PrimitiveType
from pyspark.sql.types import DayTimeIntervalType, StructField, StructType
from tests.connectors.delta.sinks import sink_on, table_rows
from tests.connectors.sink_batches import batch_id, rows_of, write

from millstream.connectors.delta.opening import open_sink
from millstream.connectors.lake.columns import to_columns
from millstream.errors import MillstreamError, PlanError, RunError
from millstream.plan.nodes import SinkDef

ROWS = pa.schema([("id", pa.int64()), ("note", pa.string())])


def create(path: Path, columns: pa.Schema, **more) -> None:
    DeltaTable.create(str(path), Schema.from_arrow(columns), **more)


def rejection(path: Path, schema: pa.Schema = ROWS, **options: str) -> MillstreamError:
    with pytest.raises(MillstreamError) as error:
        sink_on(path, schema, **options)
    return error.value


def test_a_missing_table_is_created_unless_that_is_forbidden(tmp_path):
    error = rejection(tmp_path / "t", create_table="false")
    assert error.code == "MS-RUN-DELTA-TABLE"
    assert "is not a Delta table" in error.cause
    assert "remove 'create.table'" in error.fix
    sink_on(tmp_path / "t", ROWS)
    assert table_rows(tmp_path / "t") == []


@pytest.mark.parametrize(
    ("columns", "cause", "fix"),
    [
        ([("id", pa.int64()), ("notes", pa.string())], "has no column note", "Did you mean notes?"),
        ([("id", pa.int32()), ("note", pa.string())], "column id of", "CAST it"),
        ([("id", pa.int64()), ("note", pa.binary())], "column note of", "CAST it"),
        (
            [("id", pa.int64()), ("note", pa.string()), pa.field("n", pa.int8(), nullable=False)],
            "column n of",
            "Select it",
        ),
    ],
)
def test_a_table_that_cannot_store_the_rows_is_rejected(tmp_path, columns, cause, fix):
    create(tmp_path / "t", pa.schema(columns))
    error = rejection(tmp_path / "t")
    assert error.code == "MS-RUN-DELTA-TABLE"
    assert cause in error.cause
    assert fix in error.fix


def test_a_column_is_added_to_a_table_as_the_fix_says(tmp_path):
    create(tmp_path / "t", pa.schema([("id", pa.int64())]))
    error = rejection(tmp_path / "t")
    assert "has no column note" in error.cause
    assert error.fix == (
        "Add it to the table (docs/lake-tables.md, Adding columns), or exclude note."
    )
    DeltaTable(tmp_path / "t").alter.add_columns([Field("note", PrimitiveType("string"))])
    sink = sink_on(tmp_path / "t", ROWS)
    write(sink, batch_id(0), [[rows_of([(1, "new")], ROWS)]])
    assert table_rows(tmp_path / "t") == [(1, "new")]


def test_times_with_and_without_a_zone_are_not_mixed(tmp_path):
    create(tmp_path / "t", pa.schema([("at", pa.timestamp("us"))]))
    error = rejection(tmp_path / "t", pa.schema([("at", pa.timestamp("us", "UTC"))]))
    assert "cannot store every value" in error.cause


def test_other_partitions_than_those_of_the_table_are_rejected(tmp_path):
    create(tmp_path / "t", ROWS, partition_by=["note"])
    error = rejection(tmp_path / "t", partition_by="id")
    assert "is partitioned by note, not by id" in error.cause
    write(sink_on(tmp_path / "t", ROWS), batch_id(0), [[rows_of([(1, "a")], ROWS)]])
    assert table_rows(tmp_path / "t") == [(1, "a")]


def test_floats_are_no_partitions(tmp_path):
    error = rejection(
        tmp_path / "t",
        pa.schema([("v", pa.float64()), ("n", pa.int8())]),
        partition_by="v",
    )
    assert error.code == "MS-PLAN-SINK-TYPE"
    assert "partitioned by v, which is double" in error.cause


def test_types_that_delta_lacks_are_rejected():
    schema = StructType([StructField("span", DayTimeIntervalType())])
    with pytest.raises(PlanError, match="MS-PLAN-SINK-TYPE") as error:
        to_columns("out", schema)
    assert "column span of the sink out has the type INTERVAL DAY TO SECOND" in str(error.value)


def test_tables_whose_rows_need_more_than_files_are_rejected(tmp_path):
    create(tmp_path / "mapped", ROWS, configuration={"delta.columnMapping.mode": "name"})
    assert "maps column names" in rejection(tmp_path / "mapped").cause
    create(tmp_path / "checked", ROWS)
    DeltaTable(str(tmp_path / "checked")).alter.add_constraint({"positive": "id > 0"})
    error = rejection(tmp_path / "checked")
    assert error.code == "MS-RUN-DELTA-FEATURE"
    assert "has the constraint positive" in error.cause
    create(tmp_path / "tracked", ROWS)
    log = tmp_path / "tracked" / "_delta_log" / f"{0:020d}.json"
    features = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": []}
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    actions = [each for each in actions if "protocol" not in each]
    actions.append({"protocol": features | {"writerFeatures": ["rowTracking"]}})
    log.write_text("\n".join(map(json.dumps, actions)))
    assert "has the feature rowTracking" in rejection(tmp_path / "tracked").cause
    field = pa.field("id", pa.int64(), metadata={"delta.generationExpression": "1 + 1"})
    create(tmp_path / "generated", pa.schema([field, ROWS.field("note")]))
    assert "generates the values of column id" in rejection(tmp_path / "generated").cause


def test_null_in_a_column_that_is_not_null_stops_the_job(tmp_path):
    create(tmp_path / "t", pa.schema([pa.field("id", pa.int64(), nullable=False)]))
    schema = pa.schema([("id", pa.int64())])
    sink = sink_on(tmp_path / "t", schema)
    with pytest.raises(RunError, match=r"MS-RUN-DELTA-TABLE.*column id .* is NOT NULL"):
        write(sink, batch_id(0), [[rows_of([(None,)], schema)]])


def test_a_table_that_is_created_again_stops_the_job(tmp_path):
    sink = sink_on(tmp_path / "t", ROWS)
    write(sink, batch_id(0), [[rows_of([(1, "a")], ROWS)]])
    for file in sorted((tmp_path / "t" / "_delta_log").iterdir()):
        file.unlink()
    with pytest.raises(RunError, match=r"MS-RUN-DELTA-(TABLE|FAILED)") as error:
        write(sink, batch_id(1), [[rows_of([(2, "b")], ROWS)]])
    assert "\n" not in str(error.value)


def test_an_append_only_table_rejects_merges_without_a_stack_trace(tmp_path):
    create(tmp_path / "t", ROWS, configuration={"delta.appendOnly": "true"})
    sink = sink_on(tmp_path / "t", ROWS, key_columns="id")
    write(sink, batch_id(0), [[rows_of([(1, "a")], ROWS)]])
    with pytest.raises(RunError, match=r"MS-RUN-DELTA-FAILED") as error:
        write(sink, batch_id(1), [[rows_of([(1, "b")], ROWS)]])
    assert "\n" not in str(error.value)


def test_without_the_package_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(RunError, match=r"MS-RUN-DELTA-DRIVER") as error:
        open_sink(SinkDef("out", "delta", (("path", "x"),)), Path())
    assert "pip install 'millstream[delta]'" in error.value.fix
