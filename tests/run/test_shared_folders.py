"""Folders that sinks must not share, and files in them that are none of the sink's."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.connectors.file.output import batch_files
from millstream.errors import PlanError, StateError
from millstream.plan.build.job import build_job
from millstream.plan.build.query_groups import group_into_queries
from millstream.run.checkpoint import Checkpoint
from millstream.run.outputs import reject_foreign_files, remove_outputs
from millstream.run.settings import settings_of

_JOB = """
CREATE SOURCE s (id INT) WITH ('connector' = 'rate');
CREATE SINK a WITH ('connector' = 'file', 'path' = 'out') AS SELECT id FROM s;
CREATE SINK b WITH ('connector' = 'file', 'path' = './out/') AS SELECT id FROM s;
"""


def test_two_file_sinks_with_one_path_are_rejected(tmp_path):
    with pytest.raises(PlanError) as caught:
        settings_of(build_job(_JOB), tmp_path / "job.sql")
    assert caught.value.code == "MS-PLAN-SHARED-SINK"
    assert "the sinks a and b both write to ./out/" in caught.value.cause


@pytest.mark.parametrize("path", ["in", "in/new", "./in/"])
def test_a_sink_in_a_folder_that_is_read_is_rejected(tmp_path, path):
    job = f"""
    CREATE SOURCE s (id INT) WITH ('connector' = 'file', 'path' = 'in', 'format' = 'csv');
    CREATE SINK a WITH ('connector' = 'file', 'path' = '{path}') AS SELECT id FROM s;
    """
    with pytest.raises(PlanError, match="where the source s would read its files again"):
        settings_of(build_job(job), tmp_path / "job.sql")


@pytest.mark.parametrize(
    ("path", "cause"),
    [
        (".millstream/job", "the sink a writes to .millstream/job, in the checkpoint"),
        (".millstream/job/a/spark", "the sink a writes to .millstream/job/a/spark, in the"),
        (".", "the sink a writes to ., and the checkpoint"),
        (".millstream", "the sink a writes to .millstream, and the checkpoint"),
        ("in", "where the source s would read its files again"),
        ("table.csv", "where the table t would read its files again"),
        ("table.csv/x", "where the table t would read its files again"),
    ],
)
def test_a_sink_in_the_checkpoint_or_in_the_input_is_rejected_with_its_place(tmp_path, path, cause):
    job = f"""
    CREATE SOURCE s (id INT) WITH ('connector' = 'file', 'path' = 'in/*.csv', 'format' = 'csv');
    CREATE TABLE t (id INT, PRIMARY KEY (id)) WITH ('connector' = 'file', 'path' = 'table.csv');
    CREATE SINK a WITH ('connector' = 'file', 'path' = '{path}', 'format' = 'csv') AS
    SELECT s.id FROM s JOIN t ON s.id = t.id;
    """
    with pytest.raises(PlanError) as caught:
        settings_of(build_job(job), tmp_path / "job.sql")
    assert caught.value.code == "MS-PLAN-SHARED-SINK"
    assert cause in caught.value.cause
    assert caught.value.place is not None
    assert caught.value.place.line == 4


@pytest.mark.parametrize(
    ("pattern", "path", "is_read"),
    [
        ("in/*.csv", "in", True),
        ("in/*", "in/out", True),
        ("in/*/x", "in/out", False),
        ("in/*.json", "in", False),
        ("in/*.csv", "in/out", False),
        ("in/[ab]", "in/b/c", True),
    ],
)
def test_a_sink_whose_files_match_a_pattern_of_a_source_is_rejected(
    tmp_path, pattern, path, is_read
):
    job = build_job(f"""
    CREATE SOURCE s (id INT) WITH ('connector' = 'file', 'path' = '{pattern}', 'format' = 'csv');
    CREATE SINK a WITH ('connector' = 'file', 'path' = '{path}', 'format' = 'csv') AS
    SELECT id FROM s;
    """)
    if not is_read:
        settings_of(job, tmp_path / "job.sql")
        return
    with pytest.raises(PlanError, match="where the source s would read its files again"):
        settings_of(job, tmp_path / "job.sql")


def _wrote(folder: Path, *names: str) -> None:
    for name in names:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x", encoding="utf-8")


def test_a_fresh_start_removes_what_the_sink_wrote_and_nothing_else(tmp_path):
    job = build_job("""
    CREATE SOURCE s (id INT) WITH ('connector' = 'file', 'path' = 'data/in', 'format' = 'csv');
    CREATE SINK a WITH ('connector' = 'file', 'path' = 'data') AS SELECT id FROM s;
    """)
    _wrote(tmp_path / "data", "in/20260115-1.csv", "other/000000-0.json", "000000-0.json", "note")
    remove_outputs(job, settings_of(job, tmp_path / "job.sql"))
    left = sorted(str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*") if file.is_file())
    assert left == ["data/in/20260115-1.csv", "data/note", "data/other/000000-0.json"]


def test_files_of_a_partitioned_sink_are_in_its_folders_of_values(tmp_path):
    _wrote(tmp_path, "day=1/hour=2/000003-0.csv", "day=1/000003-1.csv", "old/hour=2/000003-0.csv")
    assert batch_files(str(tmp_path), ("Day", "hour")) == [
        str(tmp_path / "day=1/hour=2/000003-0.csv")
    ]
    assert batch_files(str(tmp_path), ("day", "hour"), first_batch=4) == []


def test_files_with_the_label_of_another_query_are_neither_found_nor_replaced(tmp_path):
    names = ("000003-0.json", "000003-0.a.json", "000003-0.a b.json", "000003-1.a.json.gz")
    _wrote(tmp_path, *names, "000004-0.b.a.json", "_writing.a-3-0f", "note")
    found = {
        label: [Path(file).name for file in batch_files(str(tmp_path), label=label)]
        for label in ("", ".a", ".b.a", ".b")
    }
    assert found == {
        "": ["000003-0.json"],
        ".a": ["000003-0.a.json", "000003-1.a.json.gz"],
        ".b.a": ["000004-0.b.a.json"],
        ".b": [],
    }
    assert len(batch_files(str(tmp_path))) == 5


def test_a_new_query_may_write_to_the_late_sink_of_another_one(tmp_path):
    late = "WITH ('late.policy' = 'side_output', 'late.sink' = 'late')"
    job = build_job(f"""
    CREATE SOURCE s (id INT, t TIMESTAMP, WATERMARK FOR t AS t) WITH ('connector' = 'rate');
    CREATE SINK late WITH ('connector' = 'file', 'path' = 'late');
    CREATE SINK a WITH ('connector' = 'console') AS
    SELECT id, count(*) AS n FROM s WINDOW TUMBLING(INTERVAL 1 MINUTE) GROUP BY id {late};
    CREATE SINK b WITH ('connector' = 'console') AS
    SELECT count(*) AS n FROM s WINDOW TUMBLING(INTERVAL 1 MINUTE) {late};
    """)
    settings = settings_of(job, tmp_path / "job.sql")
    _wrote(tmp_path / "late", "000000-0.a.json")
    with pytest.raises(StateError, match="has files of another run"):
        reject_foreign_files(job, settings)
    first = group_into_queries(job)[0]
    Checkpoint(settings.checkpoint / "a").open(first, 2, job.sinks)
    _wrote(settings.checkpoint, "a/spark/offsets/0", "a/spark/commits/0")
    reject_foreign_files(job, settings)
    _wrote(tmp_path / "late", "000000-0.b.json")
    with pytest.raises(StateError, match="has files of another run"):
        reject_foreign_files(job, settings)
