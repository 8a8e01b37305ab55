"""Ways through a plan."""

from __future__ import annotations

from dataclasses import replace

from tests.plan.plans import job, plan

from millstream.plan.walk import nodes_of, sources_of, with_sources


def test_a_source_that_is_read_twice_is_named_once() -> None:
    sql = "SELECT a.total FROM orders a JOIN orders b WITHIN 1 HOUR USING (order_id)"
    assert [source.name for source in sources_of(plan(sql).root)] == ["orders"]


def test_every_source_of_a_job_can_be_replaced() -> None:
    before = job(
        """CREATE STREAM v AS SELECT * FROM orders;
        CREATE SINK one AS SELECT * FROM v;
        CREATE SINK two AS SELECT v.total FROM v JOIN shipments s WITHIN 1 HOUR USING (order_id)"""
    )
    after = with_sources(before, lambda source: replace(source, connector="elsewhere"))
    for old, new in zip(before.pipelines, after.pipelines, strict=True):
        assert {source.connector for source in sources_of(new.root)} == {"elsewhere"}
        kinds = [[type(node) for node in nodes_of(p.root)] for p in (old, new)]
        assert kinds[0] == kinds[1]
