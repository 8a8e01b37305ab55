"""Columns of a source that a plan may refer to."""

from __future__ import annotations

import pytest

from millstream.plan.build.job import build_job
from millstream.plan.facts.used_columns import used_columns
from millstream.plan.nodes.traversal import sources_of

SOURCES = """
CREATE SOURCE s (a INT, B INT, `c d` INT, e STRING, at TIMESTAMP, WATERMARK FOR at AS at)
  WITH ('connector' = 'memory');
CREATE SOURCE r (a INT, e STRING, at TIMESTAMP, WATERMARK FOR at AS at)
  WITH ('connector' = 'memory');
"""


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("SELECT a FROM s", ("a", "at")),
        ("SELECT b + 1 AS x FROM s WHERE e = 'a b'", ("B", "e", "at")),
        ("SELECT `c d` * 2 AS x FROM s", ("c d", "at")),
        ("SELECT * FROM s", ("a", "B", "c d", "e", "at")),
        ("SELECT to_json(struct(*)) AS x FROM s", ("a", "B", "c d", "e", "at")),
        ("SELECT COUNT(*) AS n FROM s WINDOW TUMBLING(INTERVAL 1 MINUTE) GROUP BY b", ("B", "at")),
        ("SELECT x.a FROM s x JOIN r ON x.b = r.a AND r.at = x.at", ("a", "B", "at")),
        ("SELECT y FROM (SELECT a, upper(e) AS y FROM s) WHERE a > 1", ("a", "e", "at")),
    ],
)
def test_columns_are_read_that_a_text_may_name(query, names):
    sink = "CREATE SINK out WITH ('connector' = 'console') AS"
    root = build_job(f"{SOURCES}{sink}\n{query};").pipelines[0].root
    source = next(each for each in sources_of(root) if each.name == "s")
    assert used_columns(root, source) == names
