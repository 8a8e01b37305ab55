"""`${name}` in a text: where it may stand, how values are made safe, where errors point."""

from __future__ import annotations

import pytest

from millstream.errors import MillstreamError, SqlError
from millstream.plan.build.job import build_job
from millstream.sql.parse import parse
from millstream.sql.statements import SetProperty
from millstream.sql.text import substitute_variables


def value_of(text: str, **variables: str) -> str:
    (statement,) = parse(text, variables)
    assert isinstance(statement, SetProperty)
    return statement.property.value


def test_a_variable_in_a_string_accepts_any_value() -> None:
    given = """it's "quoted" \\ and ${not} a
new line; -- no comment"""
    assert value_of("SET 'checkpoint' = 'x${v}y'", v=given) == f"x{given}y"


def test_a_value_in_double_quotes_is_escaped_too() -> None:
    assert value_of("SET 'checkpoint' = \"${v}\"", v='say "hi"') == 'say "hi"'


def test_a_variable_outside_of_strings_is_parsed_as_tokens() -> None:
    assert substitute_variables(
        "SELECT ${what} FROM ${where}", {"what": "a.b", "where": "t"}
    ).parsed == ("SELECT a.b FROM t")


@pytest.mark.parametrize("value", ["x'y", "a;b", "a(b)", "a\nb", "a--b", "--", "a,b", "`a`"])
def test_a_value_that_could_change_the_statement_is_rejected_outside_of_strings(value: str) -> None:
    with pytest.raises(SqlError) as caught:
        substitute_variables("SELECT a FROM\n ${t}", {"t": value})
    assert str(caught.value) == (
        "MS-SQL-VARIABLE at line 2, column 2: the value of ${t} has characters that are allowed "
        "only in a string literal. Write '${t}' if it is a string; elsewhere a value may contain "
        "letters, digits, spaces and _ . : / -"
    )


@pytest.mark.parametrize("text", ["SELECT 1 -${v}", "SELECT ${w}-1"])
def test_a_value_may_not_complete_a_comment(text: str) -> None:
    with pytest.raises(SqlError, match="MS-SQL-VARIABLE"):
        substitute_variables(text, {"v": "-1", "w": "1-"})


def test_a_value_may_not_leave_a_quoted_name_or_a_raw_string() -> None:
    for text in ("SELECT `${v}`", "SELECT r'${v}'"):
        with pytest.raises(SqlError, match="MS-SQL-VARIABLE"):
            substitute_variables(text, {"v": "a`b'c"})


def test_a_variable_without_a_value_is_rejected_at_its_position() -> None:
    with pytest.raises(SqlError) as caught:
        parse("SET 'engine' = 'native';\nSET 'checkpoint' = '${root}/x'", {"home": "h"})
    assert str(caught.value) == (
        "MS-SQL-VARIABLE at line 2, column 21: the variable ${root} has no value. Pass it with "
        "--set root=…, or under `variables` of a test case. Variables with a value: home."
    )
    assert caught.value.place
    assert caught.value.place.text == "SET 'checkpoint' = '${root}/x'"


def test_variables_in_comments_are_not_substituted() -> None:
    text = "-- ${a}\nSELECT /* ${b} */ 'x'"
    assert substitute_variables(text, {}).parsed == text


def test_positions_after_a_substitution_refer_to_the_written_text() -> None:
    with pytest.raises(SqlError) as caught:
        parse("SELECT '${secret}' AS a b c FROM t", {"secret": "a very long value"})
    error = caught.value
    assert str(error) == 'MS-SQL-PARSE at line 1, column 25: unexpected "b".'
    assert error.place
    assert error.place.text == "SELECT '${secret}' AS a b c FROM t"


@pytest.mark.parametrize(
    "text",
    [
        "CREATE SOURCE a (id INT) WITH ('password' = ${password});",
        "CREATE SOURCE a (id INT) WITH ('connector' = '${password}');",
        "CREATE SOURCE a (id INT) WITH ('${password}' = 'x');",
        "CREATE SOURCE a (id INT); CREATE SINK s AS SELECT id FROM a WHERE id = ${password};",
        "CREATE SOURCE a (id INT); CREATE SINK s AS SELECT ${password}(id) FROM ${password};",
    ],
)
def test_no_error_shows_the_value_of_a_variable(text: str) -> None:
    with pytest.raises(MillstreamError) as caught:
        build_job(text, variables={"password": "hunter2"})
    assert "hunter2" not in str(caught.value)
    assert "${password}" in str(caught.value)
