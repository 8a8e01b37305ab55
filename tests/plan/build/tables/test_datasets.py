"""Datasets of a catalog in a job: which table they become, and what is rejected."""

from __future__ import annotations

import pytest

from millstream.errors import CatalogError, MillstreamError, PlanError
from millstream.plan.build.job import build_job
from millstream.plan.build.tables.datasets import DatasetTable
from millstream.plan.nodes import Broadcast, Job, TableJoin, TemporalJoin
from millstream.plan.nodes.traversal import nodes_of
from millstream.values import Condition

ORDERS = """
CREATE SOURCE orders (id STRING, currency STRING, at TIMESTAMP, WATERMARK FOR at AS at)
  WITH ('connector' = 'file', 'path' = 'in', 'format' = 'csv');
"""
SINK = "CREATE SINK out WITH ('connector' = 'console') AS\n"


def datasets(name: str, version: int | None, table: str) -> DatasetTable:
    if name.lower() != "fx":
        raise CatalogError("MS-CATALOG-UNKNOWN", f"there is no dataset {name}.")
    return DatasetTable(
        (
            ("currency", "string"),
            ("rate", "double"),
            ("since", "timestamp"),
            ("day", "date"),
            ("number", "int"),
        ),
        (("connector", "file"), ("path", f"/fx/v{version or 7}"), ("format", "parquet")),
    )


def job(query: str, before: str = "") -> Job:
    return build_job(ORDERS + before + SINK + query, datasets=datasets)


def table_joins(built: Job) -> list[TableJoin]:
    nodes = [node for each in built.pipelines for node in nodes_of(each.root)]
    return [node for node in nodes if isinstance(node, TableJoin)]


@pytest.mark.parametrize(
    ("written", "alias", "name", "path"),
    [
        ("CATALOG.fx", "fx", "CATALOG.fx", "/fx/v7"),
        ("catalog.FX", "FX", "CATALOG.FX", "/fx/v7"),
        ("CATALOG.fx f", "f", "CATALOG.fx", "/fx/v7"),
        ("CATALOG.fx FOR VERSION AS OF 3", "fx", "CATALOG.fx.v3", "/fx/v3"),
        ("CATALOG.fx FOR VERSION AS OF 3 AS f", "f", "CATALOG.fx.v3", "/fx/v3"),
    ],
)
def test_a_dataset_is_a_broadcast_table_of_the_job(
    written: str, alias: str, name: str, path: str
) -> None:
    built = job(f"SELECT o.id, {alias}.rate FROM orders o "
                f"LEFT JOIN {written} ON o.currency = {alias}.currency")  # fmt: skip
    (join,) = table_joins(built)
    assert isinstance(join.table.access, Broadcast)
    assert (join.table.name, join.alias, join.table.option("path")) == (name, alias, path)
    assert [column.name for column in join.table.columns] == [
        *("currency", "rate", "since", "day", "number")
    ]


def test_two_versions_of_one_dataset_are_two_tables() -> None:
    built = job(
        "SELECT o.id, a.rate - b.rate AS change FROM orders o "
        "JOIN CATALOG.fx a ON o.currency = a.currency "
        "JOIN CATALOG.fx FOR VERSION AS OF 3 b ON o.currency = b.currency"
    )
    assert {each.table.name for each in table_joins(built)} == {"CATALOG.fx", "CATALOG.fx.v3"}


def test_a_dataset_in_a_view_and_in_a_subquery_is_found() -> None:
    view = (
        "CREATE STREAM priced AS SELECT o.id, o.currency, fx.rate FROM orders o "
        "JOIN CATALOG.fx ON o.currency = fx.currency;"
    )
    built = job(
        "SELECT q.id, fx.rate, q.rate AS before FROM (SELECT * FROM priced) q "
        "JOIN CATALOG.fx FOR VERSION AS OF 2 ON q.currency = fx.currency",
        view,
    )
    assert {each.table.name for each in table_joins(built)} == {"CATALOG.fx", "CATALOG.fx.v2"}


def test_a_table_that_reads_a_dataset_can_be_the_temporal_side() -> None:
    table = """
    CREATE TABLE rates (currency STRING, rate DOUBLE, since TIMESTAMP, PRIMARY KEY (currency),
      WATERMARK FOR since AS since) WITH ('catalog.dataset' = 'fx', 'catalog.version' = '4');
    """
    built = job(
        "SELECT o.id, r.rate FROM orders o "
        "JOIN rates FOR SYSTEM_TIME AS OF o.at r ON o.currency = r.currency",
        table,
    )
    nodes = [node for each in built.pipelines for node in nodes_of(each.root)]
    (join,) = [node for node in nodes if isinstance(node, TemporalJoin)]
    source = next(node for node in nodes if getattr(node, "name", "") == "rates")
    assert join is not None
    assert dict(source.options)["path"] == "/fx/v4"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT o.id FROM orders o JOIN CATALOG.fy ON o.currency = fy.currency",
         "MS-CATALOG-UNKNOWN at line 5, column 32: there is no dataset fy"),
        ("SELECT o.id FROM orders o JOIN CATALOG.fx FOR VERSION AS OF 'a' ON o.id = fx.currency",
         "MS-PLAN-CATALOG at line 5, .*by version number only"),
        ("SELECT o.id FROM orders o JOIN CATALOG.fx FOR SYSTEM_TIME AS OF o.at ON o.id = fx.rate",
         "declare CREATE TABLE with 'catalog.dataset', WATERMARK and PRIMARY KEY"),
        ("SELECT fx.rate FROM CATALOG.fx", "MS-PLAN-TABLE"),
    ],
)  # fmt: skip
def test_a_dataset_that_cannot_be_used_is_an_error_at_its_place(query: str, message: str) -> None:
    with pytest.raises(MillstreamError, match=message):
        job(query)


def test_a_table_with_a_dataset_and_a_path_is_rejected() -> None:
    table = (
        "CREATE TABLE rates (currency STRING, rate DOUBLE) "
        "WITH ('catalog.dataset' = 'fx', 'path' = 'x');"
    )
    with pytest.raises(MillstreamError, match=r"'path' and 'catalog.dataset' both define"):
        job("SELECT id FROM orders", table)
    with pytest.raises(MillstreamError, match=r"MS-PROP-VALUE.*number of a version"):
        job("SELECT id FROM orders", table.replace("'path' = 'x'", "'catalog.version' = 'x'"))


def test_a_dataset_in_a_job_without_a_catalog_is_rejected() -> None:
    query = "SELECT o.id FROM orders o JOIN CATALOG.fx ON o.currency = fx.currency"
    with pytest.raises(PlanError, match=r"MS-PLAN-CATALOG.*the job has no catalog.*--catalog"):
        build_job(ORDERS + SINK + query)


@pytest.mark.parametrize(
    ("term", "conditions"),
    [
        ("fx.day <= DATE '2026-01-31'", (Condition("day", "<=", ("2026-01-31",)),)),
        ("'2026-01-31' <= fx.day", (Condition("day", ">=", ("2026-01-31",)),)),
        ("(fx.day IS NULL OR fx.day > '2026-01-31')",
         (Condition("day", "null or >", ("2026-01-31",)),)),
        ("(DATE '2026-01-31' >= fx.day OR (fx.day IS NULL))",
         (Condition("day", "null or <=", ("2026-01-31",)),)),
        ("(fx.number IS NULL OR fx.number < 3)", (Condition("number", "null or <", (3,)),)),
    ],
)  # fmt: skip
def test_an_outer_join_selects_rows_of_a_dataset_by_days(
    term: str, conditions: tuple[Condition, ...]
) -> None:
    built = job(
        f"SELECT o.id, fx.rate FROM orders o LEFT JOIN CATALOG.fx "
        f"ON o.currency = fx.currency AND {term}"
    )
    (join,) = table_joins(built)
    assert (join.conditions, join.across_sql) == (conditions, None)


@pytest.mark.parametrize(
    "term",
    [
        "fx.day <= DATE '2026-02-30'",
        "(fx.day IS NULL OR fx.number > 3)",
        "(fx.day IS NULL OR fx.day = '2026-01-31')",
        "(fx.day > '2026-01-31' OR fx.number > 3)",
        "fx.day <= o.at",
    ],
)
def test_another_predicate_needs_a_key_that_create_table_declares(term: str) -> None:
    with pytest.raises(PlanError, match=r"CATALOG\.fx has no primary key") as error:
        job(
            f"SELECT o.id, fx.rate FROM orders o LEFT JOIN CATALOG.fx "
            f"ON o.currency = fx.currency AND {term}"
        )
    assert error.value.fix == (
        "Declare a table with PRIMARY KEY (…) and 'catalog.dataset' in CREATE TABLE, or write JOIN."
    )
