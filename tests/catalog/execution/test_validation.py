"""VR-001 to VR-008 at activation, each with a project that breaks it and one that does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from pyspark.sql import SparkSession
from tests.catalog.execution.month_end import FX, FX_ON, SEGMENT, SEGMENT_OF, USD, MonthEnd

from millstream.catalog.execution.resolver_registry import ResolverRegistry
from millstream.catalog.execution.validation import InvalidProjectError, validate
from millstream.catalog.model import (
    Assignment,
    Positions,
    ProjectInput,
    ProjectOutput,
    ProjectOverride,
    ProjectStatus,
    ResolverRef,
    RuntimeJoin,
    Status,
    UpdateOperation,
)
from millstream.catalog.publishing.prepare import prepare
from millstream.errors import MillstreamError, Place

NOBODY = UUID("00000000-0000-0000-0000-00000000dead")


def problems(month_end: MonthEnd, spark: SparkSession) -> list[MillstreamError]:
    """Returns the problems of the project; it is active if there are none, and a draft if not."""
    try:
        month_end.runner(spark).activate("month-end")
        found: list[MillstreamError] = []
    except InvalidProjectError as error:
        found = list(error.problems)
    project = month_end.catalog.reader.find_project("month-end")
    assert project is not None
    assert project.status is (ProjectStatus.DRAFT if found else ProjectStatus.ACTIVE)
    return found


def operation(join: RuntimeJoin, *assignments: Assignment) -> UpdateOperation:
    return UpdateOperation((join,), assignments)


def disable(month_end: MonthEnd) -> None:
    month_end.catalog.writer.set_dataset_status(month_end.ids["fx"], Status.DISABLED)


def nothing(month_end: MonthEnd) -> None:
    pass


RULES: list[tuple[str, str, str, UpdateOperation, UpdateOperation, Callable[[MonthEnd], None]]] = [
    (
        "VR-001", "MS-PROJECT-DATASET-UNKNOWN", f"Dataset {NOBODY} not found in MetadataStore",
        operation(replace(FX, dataset=NOBODY)), operation(FX), nothing,
    ),
    (
        "VR-002", "MS-PROJECT-DATASET-DISABLED",
        "Dataset fx is disabled and cannot be used in joins",
        operation(FX), operation(SEGMENT), disable,
    ),
    (
        "VR-003", "MS-PROJECT-VERSION-UNKNOWN", "Dataset fx version 7 not found",
        operation(replace(FX, dataset_version=7)), operation(replace(FX, dataset_version=1)),
        nothing,
    ),
    (
        "VR-004", "MS-PROJECT-ALIAS-REPEATED", "Join alias 'fx' is already used in this operation",
        UpdateOperation((FX, replace(FX, dataset="customers", on="true"))),
        UpdateOperation((FX, replace(FX, alias="fx2", on="true"))), nothing,
    ),
    (
        "VR-005", "MS-PROJECT-ALIAS-TABLE",
        "Join alias 'transactions' conflicts with working dataset table name",
        operation(replace(FX, alias="transactions", on="true")),
        operation(replace(FX, alias="rates", on="true")), nothing,
    ),
    (
        "VR-006", "MS-PROJECT-CONDITION",
        "Join condition failed to compile: it is double, not boolean.",
        operation(replace(FX, on="fx.rate + amount")),
        operation(replace(FX, on="fx.rate > amount")), nothing,
    ),
    (
        "VR-007", "MS-PROJECT-CONDITION-COLUMN", "Unknown column 'fx.curency' in join condition",
        operation(replace(FX, on="currency = fx.curency")), operation(FX), nothing,
    ),
    (
        "VR-008", "MS-PROJECT-ASSIGNMENT-COLUMN",
        "Unknown column 'fx.rte' in assignment expression",
        operation(FX, Assignment("usd", "amount * fx.rte")), operation(FX, USD), nothing,
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("code", "cause", "wrong", "right", "before"),
    [pytest.param(*rule[1:], id=rule[0]) for rule in RULES],
)
def test_a_rule_rejects_one_project_and_accepts_another(
    spark: SparkSession,
    month_end: MonthEnd,
    code: str,
    cause: str,
    wrong: UpdateOperation,
    right: UpdateOperation,
    before: Callable[[MonthEnd], None],
) -> None:
    before(month_end)
    month_end.apply(wrong)
    assert [(each.code, each.cause) for each in problems(month_end, spark)] == [(code, cause)]
    month_end.apply(right)
    assert problems(month_end, spark) == []


def test_all_problems_of_a_project_are_reported_at_once(
    spark: SparkSession, month_end: MonthEnd
) -> None:
    at = Positions(Place(9, 3, file="p.yaml"), {"on": Place(10, 9, file="p.yaml")})
    month_end.apply(
        UpdateOperation((replace(FX, on="currency = fx.fromcurrency", positions=at),), (USD,)),
        UpdateOperation(
            (replace(FX, dataset="fxx"), SEGMENT),
            (
                Assignment("a", "fx.rate"),
                Assignment("b", "c.segment + current_date()"),
                Assignment("c", "usd + customer + named_struct('a', 1)"),
                Assignment("d", "sum(usd)"),
            ),
        ),
        input=ProjectInput("transactions"),
        output=ProjectOutput("out/{version}"),
        resolver_overrides=(ProjectOverride("customers", ResolverRef("pth")),),
    )
    with pytest.raises(InvalidProjectError, match=r"MS-PROJECT-INVALID: .* has 7 problems:"):
        month_end.runner(spark).activate("month-end")
    found = problems(month_end, spark)
    assert [each.code for each in found] == [
        "MS-PROJECT-CONDITION-COLUMN",
        "MS-PROJECT-RESOLVER",
        "MS-PROJECT-OUTPUT",
        "MS-PROJECT-DATASET-UNKNOWN",
        "MS-PROJECT-NONDETERMINISTIC",
        "MS-PROJECT-ASSIGNMENT",
        "MS-PROJECT-ASSIGNMENT",
    ]
    assert str(found[0]) == (
        "MS-PROJECT-CONDITION-COLUMN at p.yaml, line 10, column 20: Unknown column "
        "'fx.fromcurrency' in join condition. Did you mean fx.from_currency?"
    )
    assert found[3].fix == "Did you mean fx?"
    assert "DATATYPE_MISMATCH" not in found[5].cause
    assert "due to data type mismatch" in found[5].cause


def test_problems_are_listed_in_the_order_of_the_file(
    spark: SparkSession, month_end: MonthEnd
) -> None:
    wrong_type, wrong_column = "transactions.customer", "transactions.customer = d.idd"
    joins = [
        replace(SEGMENT, alias=alias, on=on, positions=Positions(Place(line, 5, file="p.yaml")))
        for line, alias, on in ((8, "c", wrong_type), (9, "d", wrong_column))
    ]
    month_end.apply(UpdateOperation(tuple(joins)))
    # Spark checks types after all names are resolved.
    assert [each.place.line for each in problems(month_end, spark) if each.place] == [8, 9]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"input": ProjectInput("transaction")}, "MS-PROJECT-DATASET-UNKNOWN"),
        ({"input": ProjectInput("transactions", 9)}, "MS-PROJECT-VERSION-UNKNOWN"),
        ({"output": ProjectOutput("s3://bucket/out")}, "MS-PROJECT-OUTPUT"),
    ],
)
def test_a_wrong_input_or_output_is_a_problem(
    spark: SparkSession, month_end: MonthEnd, changes: dict[str, Any], code: str
) -> None:
    month_end.apply(**changes)
    assert [each.code for each in problems(month_end, spark)] == [code]


def check(month_end: MonthEnd, *operations: UpdateOperation, **changes: Any) -> list[str]:
    """Returns the causes of the problems that are found without Spark."""
    project = month_end.apply(*operations, **changes)
    resolvers = ResolverRegistry(month_end.base)
    try:
        validate(None, month_end.catalog.reader, project, resolvers, month_end.base)
    except InvalidProjectError as error:
        return [each.cause for each in error.problems]
    return []


def test_operations_are_checked_although_the_input_is_unknown(month_end: MonthEnd) -> None:
    wrong = UpdateOperation(
        (FX, replace(SEGMENT, alias="fx"), replace(SEGMENT, on="customer = c.idd")),
        (Assignment("usd", "amount * fx.rte"), Assignment("x", "amount +"), SEGMENT_OF),
    )
    found = check(month_end, wrong, UpdateOperation((FX,), (USD,)), input=ProjectInput("nothing"))
    assert found[:4] == [
        "Dataset nothing not found in MetadataStore",
        "Join alias 'fx' is already used in this operation",
        "Unknown column 'c.idd' in join condition",
        "Unknown column 'fx.rte' in assignment expression",
    ]
    assert found[4].startswith("Assignment expression failed to compile")
    assert len(found) == 5


def test_an_unknown_version_is_reported_with_the_dataset_as_written(month_end: MonthEnd) -> None:
    for key in (month_end.ids["fx"], "FX"):
        pinned = replace(FX, dataset=key, dataset_version=7)
        found = check(month_end, UpdateOperation((pinned,)))
        assert found == [f"Dataset {key} version 7 not found"]


def test_a_self_join_is_checked_with_the_version_of_the_input(month_end: MonthEnd) -> None:
    dataset = month_end.catalog.reader.find_dataset("transactions")
    assert dataset is not None
    content, files = prepare(dataset, str(month_end.base / "data/transactions/v1.parquet"))
    without_amount = tuple(each for each in content.schema if each.name != "amount")
    changed = replace(content, schema=without_amount, content_hash="sha256:2")
    month_end.catalog.writer.publish(dataset.id, changed, files)
    before = RuntimeJoin("before", "transactions", "transactions.id = before.id + 1")
    operation = UpdateOperation((before,), (Assignment("change", "amount - before.amount"),))
    assert check(month_end, operation, input=ProjectInput("transactions", 1)) == []
    assert check(month_end, operation, input=ProjectInput("transactions", 2)) == [
        "Unknown column 'amount' in assignment expression",
        "Unknown column 'before.amount' in assignment expression",
    ]


def test_an_override_must_be_used_and_given_once(month_end: MonthEnd) -> None:
    path = ResolverRef("path", {"template": "a.csv"})
    given = [ProjectOverride(key, path) for key in ("fx", "FX", month_end.ids["fx"], "customers")]
    found = check(month_end, UpdateOperation((FX,), (USD,)), resolver_overrides=tuple(given))
    assert found == [
        "there are several resolver overrides for the dataset fx: FX.",
        f"there are several resolver overrides for the dataset fx: {month_end.ids['fx']}.",
        "there is a resolver override for customers, which the project does not use.",
    ]
    by_input = ProjectOverride("Transactions", path)
    assert check(month_end, UpdateOperation(), resolver_overrides=(by_input, given[0])) == [
        "there is a resolver override for fx, which the project does not use."
    ]
    assert check(month_end, resolver_overrides=(by_input, given[0], given[3])) == []
    project = month_end.apply(UpdateOperation(), resolver_overrides=(given[0],))
    reader, base = month_end.catalog.reader, month_end.base
    with pytest.raises(InvalidProjectError, match="MS-PROJECT-OVERRIDE: there is a resolver"):
        validate(None, reader, project, ResolverRegistry(base), base)


def test_types_of_one_operation_are_those_of_the_operations_before_it(
    spark: SparkSession, month_end: MonthEnd
) -> None:
    text = UpdateOperation((), (Assignment("amount", "named_struct('value', amount)"),))
    month_end.apply(text, UpdateOperation((), (Assignment("x", "amount + 1"),)))
    (found,) = problems(month_end, spark)
    assert found.code == "MS-PROJECT-ASSIGNMENT"
    month_end.apply(text, UpdateOperation((), (Assignment("x", "amount.value + 1"),)))
    assert problems(month_end, spark) == []


def test_an_alias_of_one_operation_is_unknown_in_another(
    spark: SparkSession, month_end: MonthEnd
) -> None:
    month_end.apply(
        UpdateOperation((FX,), (USD,)), UpdateOperation((), (Assignment("r", "fx.rate"),))
    )
    assert [each.cause for each in problems(month_end, spark)] == [
        "Unknown column 'fx.rate' in assignment expression"
    ]
    again = UpdateOperation((RuntimeJoin("fx", "customers", "customer = fx.id"),), (SEGMENT_OF_FX,))
    month_end.apply(UpdateOperation((FX,), (USD,)), again)
    assert problems(month_end, spark) == []


SEGMENT_OF_FX = replace(SEGMENT_OF, expression="fx.segment")


def test_a_project_can_be_activated_before_a_dataset_has_versions(
    spark: SparkSession, month_end: MonthEnd
) -> None:
    catalog = month_end.catalog
    for version in catalog.reader.versions(month_end.ids["fx"]):
        catalog.writer.set_version_status(version.dataset_id, version.number, Status.DISABLED)
    month_end.apply(UpdateOperation((replace(FX, on=FX_ON),), (USD,)))
    assert problems(month_end, spark) == []
    with pytest.raises(
        MillstreamError, match="MS-PROJECT-NO-VERSION: Dataset fx has no active version"
    ):
        month_end.runner(spark).run("month-end", "2026-01")


NONDETERMINISTIC = [
    *("rand()", "rand(1)", "random()", "randn()", "uuid()", "shuffle(array(1, 2))"),
    *("monotonically_increasing_id()", "spark_partition_id()", "input_file_name()"),
    *("now()", "curdate()", "current_date()", "current_timestamp()", "localtimestamp()"),
    *("unix_timestamp()", "current_user()", "current_timezone()", "randstr(5)", "uniform(1, 9)"),
    *("reflect('java.util.UUID', 'randomUUID')", "java_method('java.util.UUID', 'randomUUID')"),
    *("first_value(id) OVER (ORDER BY customer)", "current_time()", "current_database()"),
    *("DATE 'today'", "TIMESTAMP ' Now'", "CAST('10:00:00' AS TIMESTAMP)", "version()"),
    *("try_to_timestamp('10:00')", "to_timestamp('T10:00')", "current_path()"),
]


def test_functions_that_are_not_deterministic_are_rejected(
    spark: SparkSession, month_end: MonthEnd
) -> None:
    assignments = [
        Assignment(f"c{number}", f"CAST({text} AS STRING)")
        for number, text in enumerate(NONDETERMINISTIC)
    ]
    deterministic = [
        *("unix_timestamp(_period, 'yyyy-MM')", "hash(id)", "md5(currency)"),
        *("DATE '2026-01-31'", "TIMESTAMP '2026-01-31 10:00:00'"),
    ]
    accepted = [Assignment(f"d{number}", text) for number, text in enumerate(deterministic)]
    month_end.apply(UpdateOperation((), (*assignments, *accepted)))
    found = problems(month_end, spark)
    assert {each.code for each in found} == {"MS-PROJECT-NONDETERMINISTIC"}, found
    assert len(found) == len(NONDETERMINISTIC)


def test_an_expression_that_has_not_one_value_for_each_row_is_rejected(
    spark: SparkSession, month_end: MonthEnd
) -> None:
    texts = ("explode(array(1, 2))", "sum(amount)", "1 + max(amount)", "nosuch(amount)")
    month_end.apply(
        UpdateOperation((), tuple(Assignment(f"c{n}", text) for n, text in enumerate(texts)))
    )
    found = problems(month_end, spark)
    assert {each.code for each in found} == {"MS-PROJECT-ASSIGNMENT"}
    generator, *aggregates, function = [each.cause for each in found]
    assert "generator" in generator
    assert aggregates == 2 * [
        "Assignment expression failed to compile: it has an aggregate function, and the value of "
        "each row is computed on its own."
    ]
    assert function == "Assignment expression failed to compile: there is no function nosuch."
