"""One text for expressions and types that differ only in spacing and case."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.sql.dialect import Millstream
from millstream.sql.normal_form import normal_form, normal_type


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("o.Total>1", "o.total > 1"),
        ("UPPER ( o.id )", "upper(o.id)"),
        ("a IN(1,2)", "a in (1, 2)"),
        ("a  AND\n(b OR c)", "a and (b or c)"),
        ("x -- why\n + 1", "x + 1"),
        ("x /* why */ + 1", "x + 1"),
        ("`My Column`.x", "`My Column`.x"),
        ("s = 'It''s  A'", "s = 'It''s  A'"),
        (r"s = 'a\'  B'", r"s = 'a\'  B'"),
        (r"s RLIKE R'\d  \'", r"s rlike r'\d  \'"),
        ('s = "Text"', 's = "Text"'),
        ("X'1F' = b", "x'1F' = b"),
        ("1E3 + 1.50D + .5", "1e3 + 1.50d + .5"),
        ("a<=>b", "a <=> b"),
        ("- -1", "- - 1"),
        ("a [0] .b", "a[0].b"),
        ("DATE '2026-01-01'", "date '2026-01-01'"),
    ],
)
def test_spacing_and_case_are_normal(text: str, normal: str) -> None:
    assert normal_form(text) == normal
    assert normal_form(normal) == normal


@pytest.mark.parametrize(
    ("one", "other"),
    [("'a'", "'A'"), ("'a b'", "'a  b'"), ("'It' 's'", "'It''s'"), ("`a`", "`A`"), ("a", "`a`")],
)
def test_what_may_mean_something_else_stays_different(one: str, other: str) -> None:
    assert normal_form(one) != normal_form(other)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("DECIMAL(10, 2)", "decimal(10,2)"),
        ("INTEGER", "int"),
        ("ARRAY<LONG>", "array<bigint>"),
        ("STRUCT<long: TEXT, x: INT>", "struct<long:string,x:int>"),
        ("TIMESTAMP_LTZ", "timestamp"),
    ],
)
def test_types_have_sparks_names(text: str, normal: str) -> None:
    assert normal_type(text) == normal


TOKENS = st.sampled_from(
    ["a", "B", "`C d`", "1", "2.5", "'x  Y'", "+", "-", "<=", "(", ")", ",", "AND", "not", "f", "."]
)


@given(tokens=st.lists(TOKENS, min_size=1, max_size=12), data=st.data())
def test_spaces_and_case_never_matter(tokens: list[str], data: st.DataObject) -> None:
    text = " ".join(tokens)
    spaces = data.draw(st.lists(st.sampled_from([" ", "\n ", "\t"]), min_size=12, max_size=12))
    other = "".join(
        (token if token[0] in "'`" else token.swapcase()) + space
        for token, space in zip(tokens, spaces, strict=False)
    )
    assert normal_form(text) == normal_form(other)
    assert normal_form(normal_form(text)) == normal_form(text)


@pytest.mark.parametrize(
    "text",
    ["o.a + INTERVAL 30 MINUTES <= b", "CASE WHEN (x) THEN f(y) ELSE 'Z' END", "a NOT IN ('B', 1)"],
)
def test_the_normal_form_has_the_tokens_of_the_text(text: str) -> None:
    def tokens(sql: str) -> list[tuple[object, str]]:
        found = Millstream().tokenize(sql)
        return [
            (each.token_type, each.text if "'" in sql[each.start] else each.text.lower())
            for each in found
        ]

    assert tokens(normal_form(text)) == tokens(text)
