"""Which pipelines run as one query, and which operators it computes once."""

from __future__ import annotations

import pytest

from millstream.errors import PlanError
from millstream.plan.build.job import build_job
from millstream.plan.build.query_groups import choose_query_engine, group_into_queries
from millstream.plan.facts.output_groups import operator_order, output_groups_of, query_operators
from millstream.plan.identity import operator_identities, query_identity
from millstream.plan.nodes import Aggregate, Engine, IntervalJoin, Query, Source, WindowJoin
from millstream.state_format import describe_changes

SOURCES = """
CREATE SOURCE a (k BIGINT, v INT, at TIMESTAMP, WATERMARK FOR at AS at);
CREATE SOURCE b (k BIGINT, w INT, at TIMESTAMP, WATERMARK FOR at AS at);
CREATE STREAM clean AS SELECT k, v, at FROM a WHERE v > 0;
CREATE STREAM m AS SELECT c.k, c.v, b.w, c.at FROM clean c JOIN b
  ON c.k = b.k AND b.at BETWEEN c.at AND c.at + INTERVAL 5 SECONDS;
CREATE STREAM hourly AS SELECT k, sum(v) AS v, _WINDOW_END AS at FROM m
  WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY k;
"""
DAILY = "SELECT k, count(*) AS n FROM {} WINDOW TUMBLING(INTERVAL 1 DAY) GROUP BY k"


def queries(*selects: str, settings: str = "") -> tuple[Query, ...]:
    """One sink for each SELECT, named s0, s1, …; or a statement as it stands."""
    texts = [
        text if text.startswith("INSERT") else f"CREATE SINK s{number} AS {text}"
        for number, text in enumerate(selects)
    ]
    return group_into_queries(build_job(settings + SOURCES + ";\n".join(texts)))


@pytest.mark.parametrize(
    ("selects", "titles"),
    [
        (["SELECT k FROM a", "SELECT v FROM a"], ["s0", "s1"]),
        (["SELECT k FROM clean", "SELECT v FROM clean"], ["s0, s1"]),
        (["SELECT k FROM m", "SELECT k FROM b", "SELECT v FROM m"], ["s0, s2", "s1"]),
        (["SELECT k FROM clean", "SELECT k FROM m"], ["s0, s1"]),
        (["SELECT k FROM hourly", DAILY.format("m")], ["s0, s1"]),
        (["SELECT k FROM a", "SELECT k FROM b", "INSERT INTO s0 SELECT k FROM b"], ["s0", "s1"]),
        ([DAILY.format("clean"), DAILY.format("a")], ["s0", "s1"]),
        # Two that have nothing in common, and a third that shares a stream with both.
        (["SELECT k FROM a", DAILY.format("m"), "INSERT INTO s0 SELECT k FROM m"], ["s0, s1"]),
    ],
)
def test_pipelines_of_one_stream_or_sink_are_one_query(
    selects: list[str], titles: list[str]
) -> None:
    assert [query.title for query in queries(*selects)] == titles


def test_an_operator_is_computed_once_and_read_by_later_branches() -> None:
    (query,) = queries(
        "SELECT k FROM m",
        DAILY.format("m"),
        "SELECT v FROM m",
        DAILY.format("b"),
        "SELECT k, v FROM hourly",
    )[:1]
    first, second, third = output_groups_of(query)
    assert [group.outputs for group in (first, second, third)] == [(0, 2), (1,), (3,)]
    assert first.shared is None
    assert isinstance(second.shared, IntervalJoin)
    assert second.shared == third.shared == first.operators[0]
    assert [type(each) for each in query_operators(query)] == [IntervalJoin, Aggregate, Aggregate]
    assert operator_order(query) == (0, 1, 2)


def test_a_branch_reads_the_largest_operator_that_it_has_in_common_with_others() -> None:
    (query,) = queries("SELECT k FROM m", "SELECT k FROM hourly", DAILY.format("hourly"))
    *_, last = output_groups_of(query)
    assert isinstance(last.shared, Aggregate)
    assert len(query_operators(query)) == 3


def test_operators_are_ordered_from_the_sources_within_a_branch() -> None:
    (query,) = queries(DAILY.format("hourly"), "SELECT k FROM m")
    assert [type(each) for each in query_operators(query)] == [Aggregate, Aggregate, IntervalJoin]
    assert operator_order(query) == (2, 1, 0)


def test_a_stream_that_a_query_joins_with_itself_is_read_once_from_another_branch() -> None:
    both = (
        "SELECT l.k FROM m l JOIN m r ON l.k = r.k "
        "AND r.at BETWEEN l.at AND l.at + INTERVAL 1 MINUTE"
    )
    (query,) = queries("SELECT k FROM m", both)
    assert [type(each) for each in query_operators(query)] == [IntervalJoin] * 3


def test_the_identity_of_a_query_depends_on_all_its_outputs() -> None:
    def state(*selects: str) -> dict[str, object]:
        (query,) = queries(*selects)
        found: dict[str, object] = query_identity(query)["state"]
        return found

    one, two = ["SELECT k FROM m", "SELECT v FROM m"], ["SELECT k FROM m", "SELECT w FROM m"]
    assert (
        describe_changes(state(*one), state(*two)) == []
    )  # columns above the last operator are output
    assert describe_changes(state(*one), state(*one, DAILY.format("m")))
    assert describe_changes(state(*one), state("SELECT k FROM m"))


def test_only_the_last_operator_depends_on_the_columns_of_results_that_change() -> None:
    total = "SELECT k, count(*) AS n FROM m GROUP BY k WITH ('state.ttl' = '1h')"
    (query,) = queries("SELECT k FROM m", total)
    join, counts = operator_identities(query)
    assert "results" not in join
    assert len(counts["results"]) == 1


def test_outputs_without_state_do_not_choose_the_engine() -> None:
    (query,) = queries("SELECT k FROM clean", "SELECT k FROM m")
    assert choose_query_engine(query)[0] is Engine.COLUMNAR


def test_the_native_engine_runs_one_operator_in_a_query() -> None:
    native = "SET 'engine' = 'native';"
    shared = queries("SELECT k FROM m", "SELECT v FROM m", settings=native)
    assert [query.title for query in shared] == ["s0, s1"]
    apart = queries("SELECT k FROM m", DAILY.format("clean"), settings=native)
    assert [query.title for query in apart] == ["s0", "s1"]
    with pytest.raises(PlanError) as caught:
        queries("SELECT k FROM m", "INSERT INTO s0 SELECT k FROM b", settings=native)
    assert caught.value.code == "MS-PLAN-SHARED-SINK"


def test_one_sink_takes_one_output_mode() -> None:
    inner = "SELECT k, count(*) AS n FROM a GROUP BY k WITH ('state.ttl' = '1h')"
    total = f"SELECT k FROM ({inner}) WITH ('output.mode' = 'retract')"
    with pytest.raises(PlanError) as caught:
        queries("SELECT k FROM m", f"INSERT INTO s0 {total}")
    assert "'output.mode'" in str(caught.value)


def test_one_sink_runs_on_one_engine() -> None:
    native = "SELECT k FROM m WITH ('engine' = 'native')"
    with pytest.raises(PlanError) as caught:
        queries(native, "INSERT INTO s0 SELECT v AS k FROM m")
    assert caught.value.code == "MS-PLAN-SHARED-SINK"
    assert "native engine, another on the columnar engine" in caught.value.cause


def test_outputs_have_names_of_their_own() -> None:
    (query,) = queries("SELECT k FROM a", "INSERT INTO s0 SELECT k FROM b")
    assert query.output_names == ("s0", "s0 2")


WINDOWED = """
CREATE STREAM pairs AS SELECT a.k, a.v FROM a JOIN b ON a.k = b.k
  WINDOW TUMBLING(INTERVAL 1 MINUTE);
CREATE SINK one AS SELECT * FROM pairs;
CREATE SINK two AS SELECT v, count(*) AS n FROM pairs WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY v;
"""


def test_a_sink_that_reads_no_window_time_shares_the_operator_with_one_that_does() -> None:
    (query,) = group_into_queries(build_job(SOURCES + WINDOWED))
    assert [type(each) for each in query_operators(query)] == [WindowJoin, Aggregate]
    (single,) = group_into_queries(
        build_job(SOURCES + WINDOWED[: WINDOWED.index("CREATE SINK two")])
    )
    assert query_operators(single)[0] != query_operators(query)[0]
    assert query.outputs[0].root.columns == single.outputs[0].root.columns


RANDOM = "CREATE STREAM r AS SELECT k, at, uuid() AS id FROM a;\n"


def test_a_stream_with_random_values_is_computed_once_or_rejected() -> None:
    both = "CREATE SINK s0 AS SELECT id FROM r; CREATE SINK s1 AS SELECT k, id FROM r"
    assert len(group_into_queries(build_job(SOURCES + RANDOM + both))) == 1
    text = f"CREATE SINK s0 AS SELECT id FROM r; CREATE SINK s1 AS {DAILY.format('r')}"
    with pytest.raises(PlanError) as caught:
        build_job(SOURCES + RANDOM + text)
    assert caught.value.code == "MS-PLAN-NONDETERMINISTIC"
    assert caught.value.cause.startswith("uuid() in the stream r would have different values")


def test_two_streams_of_the_same_text_are_two_streams() -> None:
    twins = RANDOM + RANDOM.replace("STREAM r", "STREAM s")
    text = twins + "CREATE SINK s0 AS SELECT id FROM r; INSERT INTO s0 SELECT id FROM s"
    (query,) = group_into_queries(build_job(SOURCES + text))
    (group,) = output_groups_of(query)
    assert isinstance(group.root, Source)
