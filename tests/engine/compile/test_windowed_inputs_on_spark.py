"""A window join of a stream that has windows of its own."""

from __future__ import annotations

from tests.run.trial import Trial, at

JOB = """
CREATE SOURCE a (k BIGINT, t TIMESTAMP, WATERMARK FOR t AS t)
  WITH ('connector' = 'file', 'path' = 'in/a', 'format' = 'csv');
CREATE SOURCE b (k BIGINT, t TIMESTAMP, WATERMARK FOR t AS t)
  WITH ('connector' = 'file', 'path' = 'in/b', 'format' = 'csv');
CREATE STREAM s AS SELECT k, _WINDOW_START, _WINDOW_TIME, count(*) AS n FROM a
  WINDOW TUMBLING(INTERVAL '1' MINUTE) GROUP BY k;
CREATE SINK o WITH ('connector' = 'file', 'path' = 'out', 'format' = 'json') AS
SELECT date_format(l._WINDOW_START, 'mm:ss') AS own, date_format(_WINDOW_START, 'mm:ss') AS joined,
  date_format(r.t, 'mm:ss') AS t, l.n
FROM s l JOIN b r ON r.k = l.k AND r.t < l._window_time WINDOW TUMBLING(INTERVAL '30' MINUTES);
"""


def test_a_qualified_window_column_is_the_streams_own(spark, tmp_path) -> None:
    trial = Trial(spark, tmp_path, JOB)
    trial.add("a", "1.csv", ["k,t", f"1,{at(0, 10)}", f"1,{at(0, 20)}", f"1,{at(2, 10)}"])
    trial.add("b", "1.csv", ["k,t", f"1,{at(0, 30)}", f"1,{at(2, 30)}", f"1,{at(29)}"])
    trial.flushed()
    assert sorted(map(tuple, (row.values() for row in trial.read("out")))) == [
        ("00:00", "00:00", "00:30", 2),
        ("02:00", "00:00", "00:30", 1),
        ("02:00", "00:00", "02:30", 1),
    ]
