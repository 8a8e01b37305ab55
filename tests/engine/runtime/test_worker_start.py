"""How Spark's Python workers are started."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pyarrow as pa

from millstream.engine.runtime import worker_start


def test_workers_pass_over_what_spark_puts_on_their_path_and_what_is_imported(spark) -> None:
    def report_environment(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import gc
        import sys

        for _ in batches:
            found = [each for each in sys.path if each.endswith(("src.zip", "pyspark.zip", ".jar"))]
            yield pa.RecordBatch.from_pydict(
                {
                    "archives": [", ".join(found)],
                    "aside": [gc.get_freeze_count()],
                    "collects": [gc.isenabled()],
                }
            )

    schema = "archives string, aside bigint, collects boolean"
    rows = spark.range(1).coalesce(1).mapInArrow(report_environment, schema)
    ((archives, aside, collects),) = rows.collect()
    assert archives == ""
    assert aside > 10_000
    assert collects


def test_sockets_of_a_run_that_ends_are_in_a_folder_of_its_own(monkeypatch, tmp_path) -> None:
    settings = worker_start.sockets()
    folder = Path(settings["spark.python.unix.domain.socket.dir"])
    assert settings["spark.python.unix.domain.socket.enabled"] == "true"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert len(f"{folder}/.{uuid4()}.sock") <= 104
    monkeypatch.setattr(worker_start, "own_folder", lambda: tmp_path / ("long" * 20))
    assert worker_start.sockets() == {}
