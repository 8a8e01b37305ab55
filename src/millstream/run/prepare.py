"""Creates the class data archive: runs a small job of each kind in a separate process."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from millstream.engine.runtime.class_archive import dump_options
from millstream.engine.runtime.jvm import end
from millstream.engine.runtime.session import java_options, local_session, warm
from millstream.errors import RunError
from millstream.plan.build.job import build_job
from millstream.plan.facts.pipeline import derive_job_facts
from millstream.run.job import JobRun

_JOB = """
CREATE SOURCE a (k BIGINT, name STRING, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 1 SECONDS)
WITH ('connector' = 'file', 'path' = 'parquet', 'format' = 'parquet', 'max.files.per.batch' = '1');
CREATE SOURCE b (k BIGINT, name STRING, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 1 SECONDS)
WITH ('connector' = 'file', 'path' = 'json', 'format' = 'json', 'max.files.per.batch' = '1');
CREATE SOURCE c (k BIGINT, name STRING, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 1 SECONDS)
WITH ('connector' = 'file', 'path' = 'csv', 'format' = 'csv', 'header' = 'false');
CREATE SINK joined WITH ('connector' = 'file', 'path' = 'joined', 'format' = 'parquet') AS
SELECT a.k, a.name, b.name AS other FROM a LEFT JOIN b
ON a.k = b.k AND b.at BETWEEN a.at AND a.at + INTERVAL 10 SECONDS WHERE a.k % 7 < 6;
CREATE SINK counted WITH ('connector' = 'file', 'path' = 'counted', 'format' = 'json') AS
SELECT k, count(*) AS rows, max(name) AS last, _WINDOW_END
FROM b WINDOW TUMBLING(INTERVAL 5 SECONDS) GROUP BY k;
CREATE SINK passed WITH ('connector' = 'file', 'path' = 'passed', 'format' = 'csv') AS
SELECT k, upper(name) AS name, at FROM c WHERE k > 1;
"""


def make(path: Path) -> None:
    """Creates the archive, completely or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix="making-") as folder:
        made, log = Path(folder) / path.name, Path(folder) / "log"
        command = [sys.executable, "-m", "millstream.run.prepare", str(made), folder]
        with log.open("wb") as out:
            done = subprocess.run(command, stdout=out, stderr=out, check=False)  # noqa: S603 -- ours
        if done.returncode or not made.exists():
            lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise RunError(
                "MS-RUN-PREPARE",
                "the class data archive was not created: "
                f"{lines[-1] if lines else 'no file was written'}",
                fix="Jobs run without it; they start a few seconds later.",
            )
        made.replace(path)


def _run(archive: Path, folder: Path) -> None:
    options = {"spark.driver.extraJavaOptions": java_options() + dump_options(archive)}
    spark = local_session(2, log=folder / "spark.log", ends=True, **options)
    warm(spark)
    stamps = spark.range(4000).selectExpr(
        "id % 50 AS k", "concat('name ', id) AS name", "timestamp_micros(id * 10000) AS at"
    )
    for kind in ("parquet", "json", "csv"):
        stamps.coalesce(2).write.format(kind).save(str(folder / kind))
    job = build_job(_JOB)
    derive_job_facts(job)
    run = JobRun(spark, job, folder / "checkpoint", folder)
    run.start({"availableNow": True})
    while not run.wait(60):
        pass
    end(spark)


if __name__ == "__main__":
    _run(Path(sys.argv[1]), Path(sys.argv[2]))
