"""Folders that sinks must not share, and files in them that are none of the sink's."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.connectors.file.output import batch_files
from millstream.errors import PlanError
from millstream.plan.build.job import build_job
from millstream.run.outputs import remove_outputs
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
