"""The retention that `explain` states is how long rows really are in state."""

from __future__ import annotations

import polars as pl
import pytest

from millstream.kernels.core.kernel import WatermarkAdvance
from millstream.kernels.core.specs import DeduplicateSpec, TemporalJoinSpec
from millstream.kernels.deduplicate import Deduplicate
from millstream.kernels.state.memory_state import MemoryState
from millstream.kernels.temporal_join.kernel import TemporalJoin
from millstream.plan.build.job import build_job
from millstream.plan.facts.pipeline import derive_job_facts
from millstream.temporal import BEGIN_OF_TIME
from millstream.values import JoinType

SOURCES = """
CREATE SOURCE o (id STRING, k STRING, t TIMESTAMP, WATERMARK FOR t AS t - INTERVAL 5 SECONDS);
CREATE SOURCE p (k STRING, v INT, t TIMESTAMP, WATERMARK FOR t AS t - INTERVAL 5 SECONDS);
CREATE STREAM d AS SELECT DISTINCT ON (id) id, k, t FROM o WITH ('state.ttl' = '1h');
"""
AS_OF = "SELECT x.id, p.v FROM {} x JOIN p FOR SYSTEM_TIME AS OF x.t ON x.k = p.k"


def state_of(query: str) -> str:
    [facts] = derive_job_facts(build_job(f"{SOURCES}CREATE SINK s AS {query};"))
    return facts.operators[-1].state_size


@pytest.mark.parametrize("stream", ["o", "d"], ids=["source", "distinct"])
def test_rows_wait_in_an_as_of_join_for_the_delay_of_their_source(stream: str) -> None:
    name = "o" if stream == "o" else "x"
    assert state_of(AS_OF.format(stream)).startswith(f"the last 5s of {name},")
    # A row a second, and a watermark 5 s behind: those of 5 s wait.
    distinct = Deduplicate(DeduplicateSpec(("k",), ("k", "at"), 3600))
    join = TemporalJoin(
        TemporalJoinSpec(JoinType.INNER, ("k",), ("rk",), ("k",), ("v",)),
        {"k": pl.Int64, "v": pl.Int64},
    )
    states, before, waiting = (MemoryState(), MemoryState()), BEGIN_OF_TIME, 0
    for second in range(20):
        advance = WatermarkAdvance(before, second - 5)
        rows = pl.DataFrame({"k": [second], "at": [second], "_t": [second], "_h": [second]})
        if stream == "d":
            [rows] = distinct.step(states[0], {0: rows}, advance).main
            rows = rows.with_columns(_t=pl.col("at"), _h=pl.col("k"))
        version = pl.DataFrame({"rk": [second], "v": [1], "_t": [second], "_h": [second]})
        result = join.step(states[1], {0: rows, 1: version}, advance)
        waiting, before = result.counts["left.in_state"], advance.after
    assert waiting == 6  # at 14, 15, … 19: from the first to the last, 5 s


def test_operators_over_results_count_the_delay_of_the_sources() -> None:
    window = "WINDOW TUMBLING(INTERVAL '1' HOUR) GROUP BY k"
    assert "1h 5s" in state_of(f"SELECT k, count(*) AS n FROM o {window}")
    assert "1h 5s" in state_of(f"SELECT k, count(*) AS n FROM d {window}")
    joined = "SELECT x.id, p.v FROM {} x JOIN p ON x.k = p.k WITH ('state.ttl' = '1h')"
    assert state_of(joined.format("o")) == "the last 1h 5s of o and the last 1h 5s of p"
    assert state_of(joined.format("d")) == "the last 1h 5s of x and the last 1h 5s of p"
