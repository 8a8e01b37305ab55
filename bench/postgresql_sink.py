"""The PostgreSQL sink: a job that copies Parquet files to a table, appended and upserted."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.services.postgres import USER, Postgres

from bench.data import write
from bench.job_batches import batch_seconds

FILES = 4  # a micro-batch reads one
# As in production: a commit is on disk when the server reports it.
_SETTINGS = {
    "fsync": "on",
    "log_statement": "none",
    "shared_buffers": "256MB",
    "max_wal_size": "4GB",
}
JOB = """
CREATE SOURCE orders (order_id BIGINT, customer_id BIGINT, amount DOUBLE, event_time TIMESTAMP)
WITH ('connector' = 'file', 'path' = 'orders', 'format' = 'parquet', 'max.files.per.batch' = '1');
CREATE SINK {table} WITH ('connector' = 'postgresql', 'url' = '{url}', 'user' = '{user}'{key}) AS
SELECT order_id, customer_id, amount, event_time FROM orders;
"""
KINDS = {"append": "", "upsert, new keys": ", 'key.columns' = 'order_id'"}


def run(rows: int, rounds: int, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Returns rows per second of micro-batches, after the first one of each job."""
    from millstream.engine.runtime.session import local_session

    with tempfile.TemporaryDirectory(prefix="millstream-bench-") as folder:
        parent = Path(folder)
        parent.chmod(0o755)  # PostgreSQL may run as another user
        (parent / "server").mkdir()
        write(parent / "data", rows, FILES)
        server = Postgres(parent / "server")
        server.start(_SETTINGS)
        os.environ["PGPASSWORD"] = server.password  # Python workers get it from this process
        spark = local_session()
        try:
            return _measure(spark, server, parent, rows, rounds, say)
        finally:
            spark.stop()
            server.stop()


def _measure(
    spark: Any,
    server: Postgres,
    folder: Path,
    rows: int,
    rounds: int,
    say: Callable[[str], None],
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for number in range(rounds):
        for kind, key in [*KINDS.items(), ("upsert, known keys", KINDS["upsert, new keys"])]:
            table = "appended" if not key else "upserted"
            if kind != "upsert, known keys":
                server.run(f"DROP TABLE IF EXISTS {table}", "CHECKPOINT")
            say(f"{kind}, round {number + 1}")
            job = JOB.format(table=table, url=server.url, user=USER, key=key)
            checkpoint = folder / f"checkpoint-{number}-{kind.replace(', ', '-')}"
            seconds = batch_seconds(spark, job, checkpoint, folder / "data")
            steady = rows * (FILES - 1) // FILES
            rate = round(steady / sum(seconds[1:]))
            found.append({"kind": kind, "round": number + 1, "rows_per_second": rate})
            with server.connect() as connection:
                count = connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchone()
            assert count == (rows,), f"{kind}: {count}"
    return found
