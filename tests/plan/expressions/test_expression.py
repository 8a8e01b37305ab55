"""The expression as a value: what a plan knows of it without parsing a text again."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token
from tests.golden.cases import HERE
from tests.plan.plans import plan

import millstream
from millstream.plan.build.job import build_job
from millstream.plan.explain.render import explain_json
from millstream.plan.expressions import (
    ColumnReference,
    Expression,
    column,
    join_with_and,
    template,
    to_spark_sql,
)
from millstream.plan.expressions.parse import parse_expression
from millstream.plan.expressions.shapes import explode_call
from millstream.plan.facts.pipeline import derive_pipeline_facts
from millstream.plan.identity import query_identity
from millstream.plan.nodes import Query

FOLDER = Path(millstream.__file__).parent


def planned(text: str) -> Expression:
    return plan(f"SELECT {text} AS result FROM orders AS o").root.outputs[0].expression


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("total", ColumnReference("o", "total")),
        ("O.TOTAL", ColumnReference("o", "total")),
        ("(total)", ColumnReference("o", "total")),
        ("`total`", ColumnReference("o", "total")),
        ("total + 0", None),
        ("abs(total)", None),
        ("1", None),
        ("true", None),
        ("current_date", None),
    ],
)
def test_a_column_reference_is_known_as_one(text: str, reference: ColumnReference | None) -> None:
    expression = planned(text)
    assert expression.column == reference
    assert expression.is_column is (reference is not None)


def test_a_field_of_a_struct_is_no_column_reference() -> None:
    expression = parse_expression("e.payload.kind")
    assert expression.column is None
    assert expression.columns == (ColumnReference("e", "payload"),)


def test_columns_are_listed_once_in_the_order_of_the_text() -> None:
    expression = planned("customer_id + total * total - order_id")
    assert [each.name for each in expression.columns] == ["customer_id", "total", "order_id"]


@pytest.mark.parametrize(
    "text",
    [
        "nvl(o.total, 0)",
        "mod(o.order_id, 2)",
        "to_timestamp('2024-01-01', 'yyyy-MM-dd')",
        "regexp_extract('a1', '(\\\\d)', 1)",
        "o.order_id :: INT",
        "1L + 2.50BD",
    ],
)
def test_spark_runs_the_users_own_characters(text: str) -> None:
    assert to_spark_sql(planned(text)) == text


@pytest.mark.parametrize(
    ("text", "deterministic"),
    [
        ("total + 1", True),
        ("rand() + total", False),
        ("uuid()", False),
        ("current_timestamp()", False),
        ("unix_timestamp()", False),
        ("unix_timestamp('2024-01-01', 'yyyy-MM-dd')", True),
    ],
)
def test_functions_of_time_and_chance_are_not_deterministic(text: str, deterministic: bool) -> None:
    assert planned(text).is_deterministic is deterministic


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Coalesce( Total ,0 )", "coalesce(o.total, 0)"),
        ("case when total > 1 then 1 end", "CASE WHEN total > 1 /* more */ THEN 1\nEND"),
        ("cast(total AS int)", "CAST(total as INT)"),
        ("(total)", "total"),
        ("1e3", "1E3"),
    ],
)
def test_spelling_does_not_change_the_canonical_text(one: str, other: str) -> None:
    assert planned(one).canonical() == planned(other).canonical()
    assert planned(one) == planned(other)
    assert hash(planned(one)) == hash(planned(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("total", "order_id"),
        ("total + 1", "total + 2"),
        ("upper('a')", "upper('A')"),
        ("'a b'", "'a  b'"),
        ("total - 1 - 2", "total - (1 - 2)"),
        ("nvl(total, 0)", "coalesce(total, 0)"),
        ("struct(total AS City)", "struct(total AS city)"),
    ],
)
def test_meaning_and_names_of_fields_change_the_canonical_text(one: str, other: str) -> None:
    assert planned(one).canonical() != planned(other).canonical()


def test_the_canonical_text_is_frozen() -> None:
    expression = planned("CASE WHEN Total >= 1.50 THEN nvl(customer_id, 'It''s') END")
    assert expression.canonical() == (
        "case when `o`.`total` >= 1.50 then nvl(`o`.`customer_id`, 'It''s') end"
    )


names = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=8)


@given(names, names)
def test_the_text_of_any_column_reads_as_the_same_column(alias: str, name: str) -> None:
    made = column(alias, name)
    assert made.column == ColumnReference(alias, name)
    assert parse_expression(to_spark_sql(made)) == made


def test_a_template_is_a_tree_and_a_text() -> None:
    made = template("CASE WHEN {} THEN {} END", planned("rand() > 0.5"), column("o", "total"))
    assert to_spark_sql(made) == "CASE WHEN rand() > 0.5 THEN o.total END"
    assert made.columns == (ColumnReference("o", "total"),)
    assert not made.is_deterministic
    assert made == parse_expression("CASE WHEN rand() > 0.5 THEN o.total END")


def test_a_conjunction_of_nothing_is_none() -> None:
    assert join_with_and([]) is None
    assert str(join_with_and([column("a", "x"), column("b", "y")])) == "a.x AND b.y"


def test_a_call_of_explode_is_taken_apart_by_its_tree() -> None:
    found = explode_call(parse_expression("EXPLODE_OUTER( split(e.s, ')') )"))
    assert found is not None
    assert found.outer
    assert to_spark_sql(found.argument).strip() == "split(e.s, ')')"
    assert found.argument.columns == (ColumnReference("e", "s"),)
    assert explode_call(parse_expression("size(e.xs) + size(e.xs)")) is None


@pytest.mark.parametrize("file", sorted((HERE / "explain").glob("*.sql")), ids=lambda it: it.stem)
def test_each_text_is_parsed_once(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    parse = Parser.parse

    def counted(self: Parser, tokens: list[Token], sql: str) -> object:
        parsed.append(sql)
        return parse(self, tokens, sql)

    monkeypatch.setattr(Parser, "parse", counted)
    job = build_job(file.read_text())
    for pipeline in job.pipelines:
        derive_pipeline_facts(pipeline)
        query_identity(Query((pipeline,)))
        for output in pipeline.root.outputs:
            assert output.expression.tree is output.expression.tree
    explain_json(job)
    assert len(parsed) == len(set(parsed))
    # What is parsed beside the user's text are templates of the planner's own.
    templates = [text for text in parsed if "_ms_operand_" in text]
    assert len(parsed) - len(templates) == 1


def test_texts_are_parsed_where_expressions_are_made_only() -> None:
    calling = {
        path.relative_to(FOLDER).as_posix()
        for path in FOLDER.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom | ast.Import)
        and any(name.name in ("parse", "parse_one", "sqlglot") for name in node.names)
        and (not isinstance(node, ast.ImportFrom) or node.module == "sqlglot")
    }
    # `failures.py` finds the places of an expression's parts in the text that Spark evaluates.
    modules = ("compose", "failures", "parse")
    allowed = {f"plan/expressions/{name}.py" for name in modules}
    assert {path for path in calling if not path.startswith("sql/")} == allowed


def test_the_engine_does_not_know_the_parser() -> None:
    for folder in ("spark", "kernels", "connectors", "run", "observe"):
        for path in (FOLDER / folder).rglob("*.py"):
            assert "sqlglot" not in path.read_text(), path


@pytest.mark.parametrize(
    "text",
    [
        *("randstr(5)", "uniform(1, 9)", "current_timezone()", "current_database()"),
        *("current_catalog()", "current_schema()", "reflect('java.util.UUID', 'randomUUID')"),
    ],
)
def test_functions_of_chance_and_of_the_session_are_not_deterministic(text):
    assert not parse_expression(text).is_deterministic
