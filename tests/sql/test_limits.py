"""Texts of any size and depth are accepted or rejected with a code; none exhausts a resource."""

from __future__ import annotations

import os
import re
import sys
import threading
from pathlib import Path

import pytest

from millstream.errors import MillstreamError, PlanError, PropertyError, SqlError
from millstream.plan.build.job import build_job
from millstream.plan.explain.render import explain
from millstream.sql import limits
from millstream.sql.parse import parse

COLUMNS = "k BIGINT, s STRING, t TIMESTAMP, WATERMARK FOR t AS t - INTERVAL 5 SECONDS"
SOURCES = "".join(
    f"CREATE SOURCE {name} ({COLUMNS}) WITH ('connector' = 'memory');\n" for name in "ab"
)
SINK = "CREATE SINK o WITH ('connector' = 'memory') AS "


def error(query: str, before: str = "", **variables: str) -> MillstreamError:
    with pytest.raises(MillstreamError) as caught:
        build_job(f"{before}{SOURCES}{SINK}{query}", variables=variables)
    return caught.value


@pytest.mark.parametrize(
    ("before", "inside", "after"),
    [("(", "k", ")"), ("abs(", "k", ")"), ("CASE WHEN k = 1 THEN ", "1", " END")],
    ids=["brackets", "functions", "case"],
)
def test_expressions_nest_as_deep_as_the_limit_and_no_deeper(before, inside, after):
    def select(levels: int) -> str:
        return f"SELECT {before * levels}{inside}{after * levels} AS x FROM a"

    explain(build_job(f"{SOURCES}{SINK}{select(limits.MAX_NESTING)}"))
    rejected = error(select(limits.MAX_NESTING + 1))
    assert str(rejected).startswith("MS-SQL-SIZE at line 3, column ")
    assert rejected.cause == "the text is nested more than 100 levels deep here."
    assert rejected.place is not None
    assert rejected.place.column > len(before) * limits.MAX_NESTING


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT k FROM a WHERE {'NOT ' * 100_000} k = 1",
        f"SELECT {'- ' * 100_000} k AS x FROM a",
        f"SELECT {'(' * 200_000}",
        f"SELECT k FROM {'(SELECT k FROM ' * 10_000} a{')' * 10_000}",
        f"SELECT CAST(k AS {'ARRAY<' * 30_000}INT{'>' * 30_000}) AS x FROM a",
        f"SELECT k{'.x' * 20_000} AS x FROM a",
        f"SELECT s{'[0]' * 10_000} AS x FROM a",
        f"SELECT k FROM a WHERE {' OR '.join(['k = 1'] * 5_000)}",
        " UNION ALL ".join(["SELECT k FROM a"] * 3_000),
    ],
    ids=["not", "minus", "open", "subquery", "type", "field", "index", "or", "union"],
)
def test_deeply_nested_texts_are_rejected_at_their_position(query):
    rejected = error(query)
    assert rejected.code == "MS-SQL-SIZE"
    assert rejected.place is not None
    assert rejected.place.line == 3


def test_a_chain_of_operators_is_rejected_at_its_start():
    assert str(error(f"SELECT {'k + ' * 1_000}k AS x FROM a")) == (
        "MS-SQL-SIZE at line 3, column 55: more than 200 operators are chained here. "
        "Split it over several queries; for a list of values, write IN (…)."
    )


def test_two_hundred_alternatives_are_planned():
    job = f"{SOURCES}{SINK}SELECT k FROM a WHERE {' OR '.join(['k = 1'] * 200)}"
    assert "k = 1" in explain(build_job(job))


def test_the_recursion_limit_is_restored_after_parsing():
    before = sys.getrecursionlimit()
    error(f"SELECT {'NOT ' * 10_000} k FROM a")
    assert sys.getrecursionlimit() == before


def test_deeply_nested_texts_are_rejected_in_a_thread():
    found: list[MillstreamError] = []
    query = f"SELECT {'- ' * 20_000} k AS x FROM a"
    thread = threading.Thread(target=lambda: found.append(error(query)))
    thread.start()
    thread.join()
    assert [each.code for each in found] == ["MS-SQL-SIZE"]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (
            ";" * 500_001,
            "the text has 500,001 characters or more, and a job may have 500,000.",
        ),
        ("SELECT 9" + "9" * 5_000, "this number has 5,001 characters, and the maximum is 100."),
        ("SELECT x" + "x" * 1_000, "this name has 1,001 characters, and the maximum is 1,000."),
    ],
)
def test_large_texts_are_rejected(text, cause):
    with pytest.raises(SqlError) as caught:
        parse(text)
    assert (caught.value.code, caught.value.cause) == ("MS-SQL-SIZE", cause)


def test_substituted_variables_count_as_text():
    rejected = error("SELECT '${v}${v}${v}' AS x FROM a", v="x" * 200_000)
    assert rejected.code == "MS-SQL-SIZE"
    assert "after its variables are substituted" in rejected.cause
    assert rejected.place is not None
    assert rejected.place.column == 64


@pytest.mark.parametrize(
    "text",
    ["'\\" * 200_000, "${" * 50_000, "${a" * 50_000, "/*" * 200_000, "`" * 100_001, '"' * 99_999],
)
def test_unclosed_texts_are_rejected_in_linear_time(text):
    with pytest.raises(SqlError):
        parse(text)


def test_a_long_line_is_not_shown():
    rejected = error(f"SELECT {', '.join(f'k AS k{number}' for number in range(500))}, x FROM a")
    assert rejected.place is not None
    assert rejected.place.text == ""


@pytest.mark.parametrize(
    ("character", "shown"),
    [("\0", "U+0000 (NUL)"), ("\ud800", "U+D800 (unpaired surrogate)")],
)
def test_invalid_characters_are_rejected(character, shown):
    assert str(error(f"SELECT '{character}' AS x FROM a")) == (
        f"MS-SQL-CHARACTER at line 3, column 56: the character {shown} is not allowed in text. "
        "Remove it, or save the text as UTF-8."
    )
    rejected = error("SELECT '${v}' AS x FROM a", v=character)
    assert rejected.code == "MS-SQL-VARIABLE"


def test_an_escaped_nul_is_rejected_in_a_property():
    rejected = error("SELECT k FROM a", before="SET 'checkpoint' = 'a\\0b';")
    assert isinstance(rejected, PropertyError)
    assert rejected.cause == "the character U+0000 (NUL) is not allowed in text."


@pytest.mark.parametrize("value", ["9" * 5_000, "9" * 19, "٣", "-1", "1e3", "inf"])
def test_numbers_of_properties_have_64_bits(value):
    rejected = error(f"SELECT k FROM a WITH ('state.max_rows' = '{value}')")
    assert rejected.code == "MS-PROP-VALUE"
    assert len(rejected.cause) < 200


def test_there_are_not_more_key_groups_than_the_limit():
    assert error("SELECT k FROM a", before="SET 'key_groups' = '32769';").fix == (
        "Use a whole number from 1 to 32768."
    )


@pytest.mark.parametrize(
    "query",
    [
        "SELECT k, count(*) AS n FROM a WINDOW SLIDING(SIZE INTERVAL 30 DAYS, SLIDE INTERVAL 7 "
        "MICROSECONDS) GROUP BY k",
        "SELECT a.k FROM a JOIN b ON a.k = b.k WINDOW SLIDING(SIZE INTERVAL 30 DAYS, SLIDE "
        "INTERVAL 1 MILLISECOND)",
    ],
    ids=["aggregate", "join"],
)
def test_a_row_belongs_to_a_limited_number_of_windows(query):
    rejected = error(query)
    assert rejected.code == "MS-PLAN-WINDOW"
    assert rejected.cause.endswith("windows; at most 100,000 are allowed.")
    assert rejected.fix == "Use a slide of 25s 920ms or more."


@pytest.mark.parametrize("rows", [1_000_001, 10**18, 10**90])
def test_frames_and_rankings_have_a_limited_number_of_rows(rows):
    over = f"OVER (PARTITION BY k ORDER BY t ROWS BETWEEN {rows} PRECEDING AND CURRENT ROW)"
    rejected = error(f"SELECT k, sum(k) {over} AS x FROM a WITH ('state.ttl' = '1h')")
    assert (rejected.code, rejected.cause) == (
        "MS-PLAN-OVER",
        f"the frame has {rows:,} rows, and the maximum is 1,000,000.",
    )
    ranked = "SELECT k, ROW_NUMBER() OVER (PARTITION BY k ORDER BY t) AS n FROM a"
    rejected = error(f"SELECT k FROM ({ranked}) WHERE n <= {rows} WITH ('state.ttl' = '1h')")
    assert (rejected.code, rejected.cause) == (
        "MS-PLAN-TOP-N",
        f"the ranking keeps {rows:,} rows per group; the maximum is 1,000,000.",
    )


def test_a_stream_that_is_read_twice_counts_twice():
    within = "ON x.k = y.k AND y.t BETWEEN x.t AND x.t + INTERVAL 1 SECOND"
    below = ["a", *(f"s{number}" for number in range(40))]
    streams = "".join(
        f"CREATE STREAM s{number} AS SELECT x.k, x.t FROM {read} x JOIN {read} y {within};"
        for number, read in enumerate(below)
    )
    rejected = error("SELECT k FROM s40", before=streams)
    assert isinstance(rejected, PlanError)
    assert rejected.code == "MS-PLAN-SIZE"
    assert rejected.cause.startswith("this query has more than 500 sources, queries, joins")


def test_streams_read_streams_as_deep_as_the_limit_and_no_deeper():
    def job(count: int) -> str:
        streams = "".join(
            f"CREATE STREAM s{number} AS SELECT * FROM s{number - 1};" for number in range(1, count)
        )
        first = "CREATE STREAM s0 AS SELECT * FROM a;"
        return f"{SOURCES}{first}{streams}{SINK}SELECT k FROM s{count - 1}"

    explain(build_job(job(limits.MAX_NESTING)))
    with pytest.raises(PlanError) as caught:
        build_job(job(limits.MAX_NESTING + 1))
    assert caught.value.cause == "the stream s100 reads s0 through more than 100 streams."


def test_a_query_has_a_limited_number_of_joins_and_columns():
    joins = "".join(
        f" JOIN b b{n} ON a.k = b{n}.k AND b{n}.t BETWEEN a.t AND a.t + INTERVAL 1 SECOND"
        for n in range(101)
    )
    assert error(f"SELECT a.k FROM a{joins}").cause == (
        "this query has 101 joins; at most 100 are allowed."
    )
    stars = ", ".join(["*"] * 3_334)
    assert error(f"SELECT {stars} FROM a").cause == "there are more than 10,000 columns."
    columns = ", ".join(f"c{n} INT" for n in range(10_001))
    before = f"CREATE SOURCE w ({columns}) WITH ('connector' = 'memory');"
    assert error("SELECT k FROM a", before=before).cause == "there are more than 10,000 columns."


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"SELECT \xff", "it is not UTF-8 (byte 8)"),
        (b"x" * 11, "it is larger than 10 bytes"),
    ],
)
def test_large_or_binary_files_are_rejected(tmp_path: Path, content, reason):
    file = tmp_path / "job.sql"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(reason)):
        limits.read_text(file, 10)


def test_an_infinite_device_is_read_up_to_the_limit():
    with pytest.raises(ValueError, match=r"larger than 10 bytes"):
        limits.read_text(Path("/dev/zero"), 10)


def test_a_file_name_with_nul_is_rejected():
    with pytest.raises(ValueError, match="its name contains NUL"):
        limits.read_text(Path(f"a{os.sep}\0"), 10)
