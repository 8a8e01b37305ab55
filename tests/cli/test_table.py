"""`millstream table` compacts and cleans Delta tables."""

from __future__ import annotations

import json
import os

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from tests.cli.jobs import command

OLD = 1_000_000_000  # a time in 2001


def write_versions(path, count: int) -> None:
    for number in range(count):
        write_deltalake(str(path), pa.table({"n": [number]}), mode="append")


def test_compaction_keeps_the_rows_in_fewer_files(tmp_path):
    write_versions(tmp_path / "t", 5)
    done = command("table", "compact", str(tmp_path / "t"), "--target-mb", "10", "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout) == {"removed": 5, "added": 1, "version": 5}
    table = DeltaTable(str(tmp_path / "t"))
    assert len(table.file_uris()) == 1
    assert sorted(pa.table(table.scan().read_all())["n"].to_pylist()) == [0, 1, 2, 3, 4]
    again = command("table", "compact", str(tmp_path / "t"))
    assert again.stdout == "0 files were compacted to 0: version 5.\n"


def test_vacuum_removes_files_of_no_version_after_their_retention(tmp_path):
    write_versions(tmp_path / "t", 2)
    lost = tmp_path / "t" / "part-00000-lost.snappy.parquet"
    fresh = tmp_path / "t" / "part-00001-fresh.snappy.parquet"
    for each in (lost, fresh):
        each.write_bytes(b"x")
    os.utime(lost, (OLD, OLD))
    listed = command("table", "vacuum", str(tmp_path / "t"), "--dry-run")
    assert listed.stdout == f"{lost.name}\n1 files would be removed.\n"
    assert lost.exists()
    done = command("table", "vacuum", str(tmp_path / "t"), "--retain", "8d", "--json")
    assert json.loads(done.stdout) == {"files": [lost.name], "removed": True}
    assert not lost.exists()
    assert fresh.exists()
    assert pa.table(DeltaTable(str(tmp_path / "t")).scan().read_all()).num_rows == 2


def test_mistakes_are_errors_with_a_fix(tmp_path):
    none = command("table", "compact", str(tmp_path / "none"))
    assert none.exit_code == 1
    assert "MS-RUN-DELTA-TABLE" in none.stderr
    write_versions(tmp_path / "t", 1)
    short = command("table", "vacuum", str(tmp_path / "t"), "--retain", "1h")
    assert short.exit_code == 1
    assert "MS-RUN-DELTA-FAILED" in short.stderr
    wrong = command("table", "vacuum", str(tmp_path / "t"), "--retain", "soon")
    assert wrong.exit_code == 2
    assert "MS-CLI-VALUE" in wrong.stderr
