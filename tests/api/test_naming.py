"""Names of sources and tables: given, by keyword, or by position."""

from __future__ import annotations

import pytest

import millstream as ms
from millstream.connectors.memory import MemoryStream
from millstream.errors import PlanError

SCHEMA = "k string, n bigint, t timestamp"


@pytest.fixture(scope="module")
def frames(spark):
    return [MemoryStream(spark, SCHEMA).frame() for _ in range(3)]


def join(left: ms.Stream, right: ms.Stream, suffix: str = "_right") -> ms.Stream:
    return left.interval_join(right, on="k", lower="0s", upper="1m", suffix=suffix)


def test_sources_are_named_by_the_order_of_first_use(frames) -> None:
    a, b, c = (ms.stream(frame, time="t") for frame in frames)
    assert join(a, b).sources == ["stream0", "stream1"]
    assert join(b, a).sources == ["stream0", "stream1"]
    assert join(a, join(b, c)).sources == ["stream0", "stream1", "stream2"]
    assert join(join(a, b), c).sources == ["stream0", "stream1", "stream2"]


def test_a_name_is_kept_and_a_position_is_not_given_twice(frames) -> None:
    named = ms.stream(frames[0], time="t", name="stream0")
    assert join(ms.stream(frames[1], time="t"), named).sources == ["stream0", "stream1"]
    sources = ms.stream(frames[0], time="t", name="Orders").sources
    assert sources == ["Orders"]


def test_one_stream_used_twice_is_one_source(frames) -> None:
    stream = ms.stream(frames[0], time="t")
    assert join(stream, stream).sources == ["stream0"]
    assert join(stream.where("n > 1"), ms.stream(frames[0], time="t")).sources == ["stream0"]


def test_one_name_for_two_streams_is_rejected(frames) -> None:
    a, b = (ms.stream(frame, time="t", name="s") for frame in frames[:2])
    with pytest.raises(PlanError, match="MS-PLAN-DUPLICATE-NAME: two inputs of the query have"):
        join(a, b)
    with pytest.raises(PlanError, match="MS-PLAN-NAME"):
        ms.stream(frames[0], time="t", name="../s")


def test_a_keyword_of_sql_names_a_source_without_a_name(frames) -> None:
    text = "SELECT a.k, a.t FROM a JOIN b ON a.k = b.k AND a.t = b.t"
    a, b = ms.stream(frames[0], time="t"), ms.stream(frames[1], time="t", name="other")
    assert sorted(ms.sql(text, a=a, b=b).sources) == ["a", "other"]
    assert ms.sql(text, a=a, b=a).sources == ["a"]


def test_names_are_part_of_the_plan(frames) -> None:
    def plan(name: str) -> str:
        stream = ms.stream(frames[0], time="t", name=name)
        return stream.deduplicate("k", within="1h").explain()

    assert "Source old" in plan("old")
    assert plan("old").replace("old", "new") == plan("new")


def test_a_chain_of_joins_repeats_the_suffix(frames) -> None:
    a, b, c = (ms.stream(frame, time="t") for frame in frames)
    assert join(join(a, b), c).columns == [
        *("k", "n", "t"),
        *("n_right", "t_right"),
        *("n_right_right", "t_right_right"),
    ]
    assert join(join(a, b), c, suffix="_c").columns[-2:] == ["n_c", "t_c"]


def test_tables_are_named_by_position_or_by_keyword(spark, frames) -> None:
    table = ms.table(spark.createDataFrame([], "k string, name string"))
    stream = ms.stream(frames[0], time="t")
    found = stream.lookup_join(table, on="k").explain(json=True)
    assert "table0" in str(found)
    text = "SELECT s.n, x.name FROM s JOIN x ON s.k = x.k"
    assert "'x'" in str(ms.sql(text, s=stream, x=table).explain(json=True))
