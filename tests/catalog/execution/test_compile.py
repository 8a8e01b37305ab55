"""Names in operations: scopes, stored columns and problems, without Spark."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from millstream.catalog.execution.compile import CompiledOperation, compile_operation
from millstream.catalog.model import Assignment, Positions, RuntimeJoin, UpdateOperation
from millstream.errors import MillstreamError, Place
from millstream.plan.expressions import to_spark_sql
from millstream.values import JoinType

WORKING = ("id", "currency", "amount", "address")
FX = ("from_currency", "to_currency", "rate")
FX_ON = "transactions.currency = fx.from_currency AND fx.to_currency = 'USD'"


def compiled(
    joins: Sequence[RuntimeJoin] = (),
    assignments: Sequence[Assignment] = (),
    schemas: Sequence[Sequence[str] | None] | None = None,
) -> tuple[CompiledOperation, list[MillstreamError]]:
    problems: list[MillstreamError] = []
    operation = UpdateOperation(tuple(joins), tuple(assignments))
    found = [FX] * len(joins) if schemas is None else schemas
    return compile_operation(operation, "transactions", WORKING, found, problems), problems


def problem(joins: Sequence[RuntimeJoin] = (), *assignments: Assignment) -> MillstreamError:
    _, (found,) = compiled(joins, assignments)
    return found


def fx(alias: str = "fx", on: str = FX_ON, **settings: JoinType) -> RuntimeJoin:
    return RuntimeJoin(alias, "fx", on, **settings)  # type: ignore[arg-type]


def condition(operation: CompiledOperation, number: int = 0) -> str:
    found = operation.joins[number].condition
    assert found is not None
    return to_spark_sql(found.resolved)


def test_a_joined_column_is_stored_with_the_suffix_of_its_alias() -> None:
    operation, problems = compiled([fx()], [Assignment("usd", "amount * fx.rate")])
    assert problems == []
    assert condition(operation) == "currency = from_currency_fx AND to_currency_fx = 'USD'"
    assert operation.joins[0].stored == {name: f"{name}_fx" for name in FX}
    (assignment,) = operation.assignments
    assert assignment.expression is not None
    assert to_spark_sql(assignment.expression.resolved) == "amount * rate_fx"
    assert operation.columns == (*WORKING, "usd")


def test_only_columns_that_an_expression_uses_are_read() -> None:
    operation, _ = compiled([fx(on="currency = fx.from_currency")], [Assignment("id", "id + 1")])
    assert operation.joins[0].columns == ("from_currency",)


def test_a_joined_column_can_be_addressed_by_its_stored_name_and_in_any_case() -> None:
    operation, problems = compiled([fx()], [Assignment("a", "RATE_FX"), Assignment("b", "FX.Rate")])
    assert problems == []
    texts = [to_spark_sql(each.expression.resolved) for each in operation.assignments]  # type: ignore[union-attr]
    assert texts == ["rate_fx", "rate_fx"]


def test_a_condition_can_refer_to_an_earlier_alias_only() -> None:
    regions = RuntimeJoin("r", "regions", "fx.to_currency = r.code")
    operation, problems = compiled([fx(), regions], schemas=[FX, ("code", "name")])
    assert problems == []
    assert condition(operation, 1) == "to_currency_fx = code_r"
    _, (later,) = compiled([regions, fx()], schemas=[("code", "name"), FX])
    assert later.cause == "Unknown column 'fx.to_currency' in join condition"


def test_a_field_of_a_struct_is_not_taken_for_a_column_of_an_alias() -> None:
    operation, problems = compiled([], [Assignment("city", "upper(address.city)")])
    assert problems == []
    (assignment,) = operation.assignments
    assert assignment.expression is not None
    assert to_spark_sql(assignment.expression.resolved) == "upper(address.city)"


@pytest.mark.parametrize(
    ("join", "code", "cause"),
    [
        (fx("transactions", "true"), "MS-PROJECT-ALIAS-TABLE",
         "Join alias 'transactions' conflicts with working dataset table name"),
        (fx("f x", "true"), "MS-PROJECT-ALIAS", "the join alias 'f x' is not a name"),
        (fx(on="fx.rate = = 1"), "MS-PROJECT-CONDITION", "Join condition failed to compile: "),
        (fx(on="fx.rate = 1, 2"), "MS-PROJECT-CONDITION", "the text is not one expression"),
        (fx(on="fx.rate = 1 FROM t"), "MS-PROJECT-CONDITION", "the text is not one expression"),
        (fx(on="true; SELECT 1"), "MS-PROJECT-CONDITION", "the text is not one expression"),
        (fx(on="(SELECT true)"), "MS-PROJECT-CONDITION", "the text is not one expression"),
        (fx(on="fx.rat = 1"), "MS-PROJECT-CONDITION-COLUMN",
         "Unknown column 'fx.rat' in join condition"),
        (fx(on="transactions.curency = fx.rate"), "MS-PROJECT-CONDITION-COLUMN",
         "Unknown column 'transactions.curency' in join condition"),
        (fx(on="fx.rate > rand()"), "MS-PROJECT-NONDETERMINISTIC", "RAND() in the join condition"),
        (fx(join_type=JoinType.SEMI), "MS-PROJECT-JOIN-TYPE", "join_type cannot be semi"),
    ],
)  # fmt: skip
def test_a_wrong_join_is_a_problem(join: RuntimeJoin, code: str, cause: str) -> None:
    found = problem([join])
    assert (found.code, cause in found.cause) == (code, True), str(found)


@pytest.mark.parametrize(
    ("expression", "code", "cause"),
    [
        ("fx.rte", "MS-PROJECT-ASSIGNMENT-COLUMN",
         "Unknown column 'fx.rte' in assignment expression"),
        ("amunt", "MS-PROJECT-ASSIGNMENT-COLUMN",
         "Unknown column 'amunt' in assignment expression"),
        ("amount *", "MS-PROJECT-ASSIGNMENT", "Assignment expression failed to compile: "),
        ("uuid()", "MS-PROJECT-NONDETERMINISTIC", "UUID() in the assignment expression"),
        ("current_date()", "MS-PROJECT-NONDETERMINISTIC", "another value in a replay"),
        ("row_number() OVER (ORDER BY id)", "MS-PROJECT-NONDETERMINISTIC", "another value"),
    ],
)  # fmt: skip
def test_a_wrong_assignment_is_a_problem(expression: str, code: str, cause: str) -> None:
    found = problem([fx()], Assignment("usd", expression))
    assert (found.code, cause in found.cause) == (code, True), str(found)


def test_a_misspelt_column_gets_a_suggestion() -> None:
    assert problem([fx()], Assignment("usd", "fx.rte")).fix == "Did you mean fx.rate?"
    assert problem([fx()], Assignment("usd", "amunt")).fix == "Did you mean amount?"


def test_an_alias_is_unique_within_its_operation() -> None:
    _, problems = compiled([fx(), fx("FX", "true")], schemas=[FX, ()])
    assert [each.code for each in problems] == ["MS-PROJECT-ALIAS-REPEATED"]
    assert problems[0].cause == "Join alias 'FX' is already used in this operation"


def test_columns_of_an_alias_that_is_the_name_of_the_table_are_no_second_problem() -> None:
    found = problem([fx("transactions", "amount = transactions.rate")])
    assert found.code == "MS-PROJECT-ALIAS-TABLE"


def test_a_stored_column_must_not_exist_already() -> None:
    problems: list[MillstreamError] = []
    operation = UpdateOperation((fx(on="true"),))
    compile_operation(operation, "t", ("id", "rate_fx"), [("rate",)], problems)
    assert [each.code for each in problems] == ["MS-PROJECT-COLUMN-EXISTS"]
    assert "is stored as rate_fx, and a column of this name already exists" in problems[0].cause


def test_a_column_is_assigned_once_in_an_operation() -> None:
    _, problems = compiled([], [Assignment("a", "1"), Assignment("A", "2")])
    assert [each.code for each in problems] == ["MS-PROJECT-ASSIGNMENT"]


def test_a_column_of_an_unknown_dataset_is_no_second_problem() -> None:
    _, problems = compiled([fx()], [Assignment("usd", "fx.rate * amount")], schemas=[None])
    assert problems == []


def test_all_problems_are_reported_at_once_with_their_places_in_yaml() -> None:
    at = Positions(Place(3, 5, file="p.yaml"), {"on": Place(4, 13, file="p.yaml")})
    join = RuntimeJoin("fx", "fx", "currency = fx.fromcurrency\nAND fx.x = 1", positions=at)
    other = Positions(Place(8, 1), {"expression": Place(9, 20, file="p.yaml")})
    _, problems = compiled([join], [Assignment("usd", "amount * fx.rte", other)])
    assert [str(each.place) for each in problems] == [
        "p.yaml, line 4, column 24",
        "p.yaml, line 5, column 17",
        "p.yaml, line 9, column 29",
    ]
