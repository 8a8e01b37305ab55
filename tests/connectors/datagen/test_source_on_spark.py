"""Generated rows run through both engines, and a retried batch has the same rows."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.run.trial import Trial

JOB = """
SET 'engine' = '{engine}';
CREATE SOURCE views (id BIGINT, usr STRING, t TIMESTAMP, WATERMARK FOR t AS t - INTERVAL 1 SECOND)
WITH ('connector' = 'datagen', 'rows.per.second' = '1000', 'number.of.rows' = '5000', 'seed' = '1',
  'max.rows.per.batch' = '2000', 'start.time' = '2026-01-01T00:00:00Z',
  'fields.id.kind' = 'sequence', 'fields.usr.min' = '1', 'fields.usr.max' = '50');
CREATE SOURCE clicks (usr STRING, t TIMESTAMP, WATERMARK FOR t AS t - INTERVAL 1 SECOND)
WITH ('connector' = 'datagen', 'rows.per.second' = '1000', 'number.of.rows' = '5000', 'seed' = '2',
  'start.time' = '2026-01-01T00:00:00Z', 'fields.t.max.past' = '1s',
  'fields.usr.min' = '1', 'fields.usr.max' = '50');
CREATE SINK out WITH ('connector' = 'file', 'path' = 'out', 'format' = 'parquet') AS {query};
"""
JOIN = """SELECT v.id, v.usr, c.t FROM views v JOIN clicks c ON v.usr = c.usr
  AND c.t BETWEEN v.t AND v.t + INTERVAL 100 MILLISECONDS"""


def rows(trial: Trial) -> list[dict[str, object]]:
    table = pa.concat_tables([pq.read_table(path) for path in sorted(trial.folder.glob("out/*"))])
    keys = [(name, "ascending") for name in table.column_names]
    return table.sort_by(keys).to_pylist()  # type: ignore[no-any-return]


def test_every_row_is_generated_once_also_if_the_last_batch_is_retried(spark, tmp_path):
    trial = Trial(spark, tmp_path, JOB.format(engine="columnar", query="SELECT * FROM views"))
    trial.once()
    found = rows(trial)
    assert [each["id"] for each in found] == [*range(5000)]
    assert len(list(trial.folder.glob("checkpoint/out/spark/commits/[0-9]*"))) == 3
    trial.forget_last_commit()
    trial.once()
    assert rows(trial) == found


@pytest.mark.slow
def test_both_engines_join_the_same_rows(spark, tmp_path):
    found = {}
    for engine in ("columnar", "native"):
        trial = Trial(spark, tmp_path / engine, JOB.format(engine=engine, query=JOIN))
        trial.folder.mkdir()
        run = trial.start(once=True)
        try:
            while not run.wait(30):
                pass
        finally:
            run.stop()
        found[engine] = rows(trial)
    assert found["columnar"] == found["native"]
    assert len(found["native"]) > 5000
