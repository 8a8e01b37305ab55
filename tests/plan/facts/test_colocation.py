"""Which operators read the results of a join without an exchange."""

from __future__ import annotations

import pytest

from millstream.plan.build.job import build_job
from millstream.plan.facts.colocation import SharedShuffle, find_shared_shuffle
from millstream.plan.nodes.traversal import operators_of

_SOURCES = "".join(
    f"CREATE SOURCE {name} (k STRING, n INT, m BIGINT, f DOUBLE, t TIMESTAMP, u TIMESTAMP, "
    "WATERMARK FOR t AS t - INTERVAL 1 SECONDS) WITH ('connector' = 'memory');\n"
    for name in "abcd"
)
NEAR = "{1}.t BETWEEN {0}.t AND {0}.t + INTERVAL 10 SECONDS"


def _shared(query: str) -> list[SharedShuffle | None]:
    """Of each join, from the last one on."""
    sink = f"CREATE SINK s WITH ('connector' = 'memory') AS {query};"
    (pipeline,) = build_job(_SOURCES + sink).pipelines
    return [find_shared_shuffle(operator) for operator in operators_of(pipeline.root)]


def _chain(first: str, second: str, how: str = "JOIN", then: str = "JOIN") -> str:
    return (
        f"SELECT a.k, b.n, c.m FROM a {how} b ON {first} AND {NEAR.format('a', 'b')} "
        f"{then} c ON {second} AND {NEAR.format('a', 'c')}"
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a.k = b.k", "a.k = c.k"),
        ("a.k = b.k", "b.k = c.k"),
        ("a.m = b.m", "c.m = b.m"),
        ("a.k = b.k AND a.n = b.n", "a.k = c.k AND b.n = c.n"),
        ("a.k = b.k", "a.k = c.k AND c.n > b.n"),
    ],
)
def test_joins_by_one_key_share_an_exchange(first: str, second: str) -> None:
    last, below = _shared(_chain(first, second))
    assert last is not None
    assert last.number == 0
    assert below is None


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a.k = b.k", "a.n = c.n"),
        ("a.k = b.k AND a.n = b.n", "a.k = c.k"),
        ("a.k = b.k AND a.n = b.n", "a.n = c.n AND a.k = c.k"),
        ("a.k = b.k", "upper(a.k) = c.k"),
        ("a.n = b.n", "a.n = c.m"),
        ("a.n = b.m", "a.n = c.n"),
        ("a.f = b.f", "a.f = c.f"),
        ("a.k = b.k", "a.k = c.k AND c.m > b.n"),
        ("a.k = b.k", "a.k = c.k AND c.f > b.f"),
        ("a.k = b.k", "a.k = c.k AND a.n > 3"),
        ("a.k = b.k AND abs(a.f - b.f) > 2", "a.k = c.k"),
    ],
)
def test_rows_are_spread_anew_where_keys_or_values_differ(first: str, second: str) -> None:
    assert _shared(_chain(first, second)) == [None, None]


def test_rows_without_a_partner_may_have_no_key() -> None:
    assert _shared(_chain("a.k = b.k", "a.k = c.k", how="LEFT JOIN")) == [None, None]


def test_an_outer_join_of_results_shares_their_exchange() -> None:
    assert _shared(_chain("a.k = b.k", "a.k = c.k", then="FULL JOIN"))[0] is not None


def _of_results(first: str, options: str = "") -> list[SharedShuffle | None]:
    """A join with the results of another, which is a stream of its own."""
    text = (
        f"CREATE STREAM p AS SELECT a.k, a.t, b.n FROM a JOIN b ON a.k = b.k AND "
        f"{NEAR.format('a', 'b')}{first}{options};\n"
        "CREATE SINK s WITH ('connector' = 'memory') AS "
        f"SELECT p.n, c.m FROM p JOIN c ON p.k = c.k AND {NEAR.format('p', 'c')};"
    )
    (pipeline,) = build_job(_SOURCES + text).pipelines
    return [find_shared_shuffle(operator) for operator in operators_of(pipeline.root)]


def test_results_of_another_query_share_its_exchange() -> None:
    assert _of_results("")[0] is not None


def test_a_filter_that_only_spark_decides_stands_between() -> None:
    assert _of_results(" AND abs(a.f - b.f) > 2") == [None, None]


def test_a_salted_join_has_a_key_in_several_groups() -> None:
    assert _of_results("", " WITH ('join.salt' = '2')") == [None, None]


def test_versions_are_found_where_results_lie() -> None:
    query = (
        f"SELECT a.k, b.n, c.m FROM a JOIN b ON a.k = b.k AND {NEAR.format('a', 'b')} "
        "JOIN c FOR SYSTEM_TIME AS OF a.t ON a.k = c.k"
    )
    assert _shared(query)[0] is not None


def test_columns_that_were_joined_by_are_one_key() -> None:
    query = _chain("a.k = b.k", "b.k = c.k") + f" JOIN d ON a.k = d.k AND {NEAR.format('a', 'd')}"
    last, middle, first = _shared(query)
    assert last is not None
    assert middle is not None
    assert first is None


WINDOW = "WINDOW TUMBLING(INTERVAL 5 SECONDS)"
LASTING = "EMIT CHANGES WITH ('state.ttl' = '1 hour')"
FIRST = "QUALIFY ROW_NUMBER() OVER (PARTITION BY {} ORDER BY {}) <= 1"


def _over(select: str, then: str, key: str = "a.k = b.k", how: str = "JOIN") -> str:
    """A query over results of a join."""
    return (
        f"SELECT {select} FROM (SELECT a.k, a.n, b.m, b.f, a.t, a.k || 'x' AS longer FROM a "
        f"{how} b ON {key} AND {NEAR.format('a', 'b')}) j {then}"
    )


@pytest.mark.parametrize(
    ("query", "whole"),
    [
        (_over("k, COUNT(*) AS c, SUM(f) AS s", f"{WINDOW} GROUP BY k"), True),
        (_over("k, MAX(m) AS c", f"{WINDOW} GROUP BY m, k"), False),
        (_over("k, n, COUNT(*) AS c", f"{WINDOW} GROUP BY k, n", "a.k = b.k AND a.n = b.n"), True),
        (_over("k, MAX_BY(n, t) AS c", f"GROUP BY k {LASTING}"), True),
        (_over("k, n, t", f"{FIRST.format('k', 'm DESC, t')} {LASTING}"), True),
        (_over("DISTINCT ON (k, n) k, n, t", "WITH ('state.ttl' = '1 hour')"), False),
    ],
)
def test_operators_by_the_key_of_a_join_share_its_exchange(query: str, whole: bool) -> None:
    last, below = _shared(query)
    assert last is not None
    assert last.has_whole_key is whole
    assert last.is_hashable
    assert below is None


@pytest.mark.parametrize(
    "query",
    [
        _over("n, COUNT(*) AS c", f"{WINDOW} GROUP BY n"),
        _over("COUNT(*) AS c", WINDOW),
        _over("k, COUNT(*) AS c", f"{WINDOW} GROUP BY k", "a.k = b.k AND a.n = b.n"),
        _over("upper(k) AS u, COUNT(*) AS c", f"{WINDOW} GROUP BY upper(k)"),
        _over("k, COUNT(*) AS c", f"{WINDOW} GROUP BY k", how="LEFT JOIN"),
        _over("k, COUNT(*) AS c", f"WHERE n > 1 {WINDOW} GROUP BY k"),
        _over("k, SUM(m + 1) AS c", f"{WINDOW} GROUP BY k"),
        _over("k, MAX(longer) AS c", f"{WINDOW} GROUP BY k"),
        _over("k, COUNT(*) FILTER (WHERE n = 1) AS c", f"{WINDOW} GROUP BY k"),
        _over("k, f, COUNT(*) AS c", f"{WINDOW} GROUP BY k, f"),
        _over("k, MAX_BY(n, f) AS c", f"{WINDOW} GROUP BY k"),
        _over("k, COLLECT_LIST(t) AS c", f"{WINDOW} GROUP BY k"),
        _over("k, n, t", f"{FIRST.format('k', 'f')} {LASTING}"),
        _over("m, COUNT(*) AS c", f"{WINDOW} GROUP BY m", "a.n = b.m"),
    ],
)
def test_results_are_spread_anew_for_other_operators(query: str) -> None:
    assert all(each is None for each in _shared(query))
