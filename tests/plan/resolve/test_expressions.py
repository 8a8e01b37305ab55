"""The user's expressions reach Spark as they were written, with columns qualified and no more."""

from __future__ import annotations

import pytest
from tests.plan.plans import error_of, plan

from millstream.plan.expressions.parse import parse_expression

# The expression, and the same with its columns qualified; None: it stays as it is.
EXPRESSIONS: list[tuple[str, str | None]] = [
    ("CASE WHEN a > 1 THEN 'x' ELSE s END", "CASE WHEN e.a > 1 THEN 'x' ELSE e.s END"),
    ("CASE a WHEN 1 THEN b WHEN 2 THEN c END", "CASE e.a WHEN 1 THEN e.b WHEN 2 THEN e.c END"),
    ("CAST(a AS DECIMAL(10,2))", "CAST(e.a AS DECIMAL(10,2))"),
    ("TRY_CAST(s AS INT)", "TRY_CAST(e.s AS INT)"),
    ("s::INT", "e.s::INT"),
    ("date_trunc('HOUR', t)", "date_trunc('HOUR', e.t)"),
    ("trunc(d, 'MM')", "trunc(e.d, 'MM')"),
    ("named_struct('a', a, 'b', b)", "named_struct('a', e.a, 'b', e.b)"),
    ("struct(a, b AS z)", "struct(e.a, e.b AS z)"),
    ("transform(xs, x -> x + a)", "transform(e.xs, x -> x + e.a)"),
    ("transform(xs, (a, i) -> a + i + b)", "transform(e.xs, (a, i) -> a + i + e.b)"),
    ("filter(items, i -> i.price > c)", "filter(e.items, i -> i.price > e.c)"),
    ("exists(xs, x -> x > a)", "exists(e.xs, x -> x > e.a)"),
    (
        "aggregate(xs, 0, (acc, x) -> acc + x, acc -> acc * a)",
        "aggregate(e.xs, 0, (acc, x) -> acc + x, acc -> acc * e.a)",
    ),
    ("zip_with(xs, xs, (x, y) -> x * y + a)", "zip_with(e.xs, e.xs, (x, y) -> x * y + e.a)"),
    ("tags['key']", "e.tags['key']"),
    ("tags[s]", "e.tags[e.s]"),
    ("xs[0] + xs[a]", "e.xs[0] + e.xs[e.a]"),
    ("items[0].sku", "e.items[0].sku"),
    ("items.sku", "e.items.sku"),
    ("payload.inner.x", "e.payload.inner.x"),
    ("e.payload.inner.x + 1", None),
    ("`payload`.`kind`", "e.payload.`kind`"),
    ("lower(`weird col`)", "lower(e.`weird col`)"),
    ("date_format(t, 'yyyy-MM-dd HH:mm')", "date_format(e.t, 'yyyy-MM-dd HH:mm')"),
    ("to_timestamp(s, 'yyyy/MM/dd')", "to_timestamp(e.s, 'yyyy/MM/dd')"),
    ("to_date(s)", "to_date(e.s)"),
    (r"regexp_extract(s, '(\\d+)-(\\d+)', 1)", r"regexp_extract(e.s, '(\\d+)-(\\d+)', 1)"),
    (r"regexp_replace(s, r'\d', '#')", r"regexp_replace(e.s, r'\d', '#')"),
    (r"s LIKE 'a\\_%'", r"e.s LIKE 'a\\_%'"),
    ("s RLIKE '^a' OR s ILIKE '%b'", "e.s RLIKE '^a' OR e.s ILIKE '%b'"),
    ("t + INTERVAL '1' DAY", "e.t + INTERVAL '1' DAY"),
    ("t - INTERVAL 1 HOUR 30 MINUTES", "e.t - INTERVAL 1 HOUR 30 MINUTES"),
    ("t - INTERVAL '1 02:03:04' DAY TO SECOND", "e.t - INTERVAL '1 02:03:04' DAY TO SECOND"),
    ("timestampadd(HOUR, a, t)", "timestampadd(HOUR, e.a, e.t)"),
    ("dateadd(DAY, 1, d)", "dateadd(DAY, 1, e.d)"),
    ("date_add(d, a)", "date_add(e.d, e.a)"),
    ("datediff(d, DATE '2026-01-01')", "datediff(e.d, DATE '2026-01-01')"),
    ("timestampdiff(MINUTE, t, t)", "timestampdiff(MINUTE, e.t, e.t)"),
    ("extract(HOUR FROM t)", "extract(HOUR FROM e.t)"),
    ("date_part('hour', t)", "date_part('hour', e.t)"),
    ("TIMESTAMP '2026-01-15 10:00:00'", None),
    ("1L + 2S + 3Y + 1.5BD + 2D + 1.5F + 1e3", None),
    ("12345678901234567890.123456789", None),
    ("-1 + +2 - -3", None),
    ("x'1F'", None),
    (r"'it\'s \n ünïcode 日本'", None),
    ('"double quoted"', None),
    ("'--' || s || '/* no */'", "'--' || e.s || '/* no */'"),
    ("a div b % 3", "e.a div e.b % 3"),
    ("a & b | 1 ^ ~a", "e.a & e.b | 1 ^ ~e.a"),
    ("shiftleft(a, 2)", "shiftleft(e.a, 2)"),
    ("NOT a > 1 AND !(b = 2)", "NOT e.a > 1 AND !(e.b = 2)"),
    ("a <=> b", "e.a <=> e.b"),
    ("a IS DISTINCT FROM b", "e.a IS DISTINCT FROM e.b"),
    ("a BETWEEN 1 AND b", "e.a BETWEEN 1 AND e.b"),
    ("a NOT IN (1, 2, b)", "e.a NOT IN (1, 2, e.b)"),
    ("(a IS NOT NULL) = true", "(e.a IS NOT NULL) = true"),
    ("if(a > 1, b, c)", "if(e.a > 1, e.b, e.c)"),
    ("nvl2(a, b, c)", "nvl2(e.a, e.b, e.c)"),
    ("coalesce(a, b, 0)", "coalesce(e.a, e.b, 0)"),
    ("decode(a, 1, 'x', 'y')", "decode(e.a, 1, 'x', 'y')"),
    ("concat_ws(',', s, s)", "concat_ws(',', e.s, e.s)"),
    ("substring(s, 1, 2)", "substring(e.s, 1, 2)"),
    ("substring(s FROM 2 FOR 3)", "substring(e.s FROM 2 FOR 3)"),
    ("trim(BOTH 'x' FROM s)", "trim(BOTH 'x' FROM e.s)"),
    ("position('a' IN s)", "position('a' IN e.s)"),
    ("split(s, ',')[0]", "split(e.s, ',')[0]"),
    ("element_at(tags, 'x')", "element_at(e.tags, 'x')"),
    ("map('a', a, 'b', b)", "map('a', e.a, 'b', e.b)"),
    ("array(a, b)[1]", "array(e.a, e.b)[1]"),
    ("sort_array(xs, false)", "sort_array(e.xs, false)"),
    ("array_sort(xs)", "array_sort(e.xs)"),
    ("from_json(s, 'a INT, b STRING')", "from_json(e.s, 'a INT, b STRING')"),
    ("get_json_object(s, '$.a')", "get_json_object(e.s, '$.a')"),
    ("unix_timestamp(t)", "unix_timestamp(e.t)"),
    ("from_utc_timestamp(t, 'Europe/Rome')", "from_utc_timestamp(e.t, 'Europe/Rome')"),
    ("make_interval(0, 0, 0, a)", "make_interval(0, 0, 0, e.a)"),
    ("pmod(a, b)", "pmod(e.a, e.b)"),
    ("current_timestamp()", None),
    ("current_date", None),
    ("typeof(a)", "typeof(e.a)"),
    ("date(t)", "date(e.t)"),
    ("int(c)", "int(e.c)"),
    ("greatest(a, b)", "greatest(e.a, e.b)"),
    ("explode(xs)", "explode(e.xs)"),
    ("a /* first */ + -- second\n b", "e.a + e.b"),
]


@pytest.mark.parametrize(("expression", "expected"), EXPRESSIONS, ids=[e for e, _ in EXPRESSIONS])
def test_expression_reaches_spark_unchanged_but_for_its_columns(
    expression: str, expected: str | None
) -> None:
    output = plan(f"SELECT {expression} AS result FROM events AS e").root.outputs[0]
    assert str(output.expression) == (expected or expression)


@pytest.mark.parametrize(("expression", "expected"), EXPRESSIONS, ids=[e for e, _ in EXPRESSIONS])
def test_a_qualified_expression_is_a_fixed_point(expression: str, expected: str | None) -> None:
    text = expected or expression
    output = plan(f"SELECT {text} AS result FROM events AS e").root.outputs[0]
    assert str(output.expression) == text
    assert output.expression == parse_expression(text)


def test_a_filter_keeps_its_text_too() -> None:
    sql = "SELECT a FROM events e WHERE exists(xs, x -> x > a) AND (s = 'a\\'b' OR tags['k'] = s)"
    where = "exists(e.xs, x -> x > e.a) AND (e.s = 'a\\'b' OR e.tags['k'] = e.s)"
    assert str(plan(sql).root.where) == where


def test_a_lambda_variable_that_hides_a_stream_is_refused() -> None:
    assert error_of("SELECT filter(items, e -> e.price > c) AS x FROM events e") == (
        "MS-PLAN-AMBIGUOUS at line 1, column 22: the lambda's variable e hides the stream e. "
        "Give the variable another name."
    )


def test_a_lambda_variable_may_hide_a_stream_that_its_body_does_not_read() -> None:
    output = plan("SELECT transform(xs, e -> e + 1) AS x FROM events e").root.outputs[0]
    assert str(output.expression) == "transform(e.xs, e -> e + 1)"
