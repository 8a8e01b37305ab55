"""The month-end example as a catalog: transactions in three currencies, rates, customers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from millstream.catalog.execution.resolver_registry import ResolverRegistry
from millstream.catalog.execution.runner import ProjectRunner
from millstream.catalog.model import (
    Assignment,
    Column,
    Dataset,
    DatasetVersion,
    Definitions,
    Period,
    Project,
    ProjectInput,
    ProjectOutput,
    ProjectOverride,
    ResolverRef,
    Run,
    RuntimeJoin,
    Table,
    TemporalMode,
    UpdateOperation,
)
from millstream.catalog.publishing.prepare import prepare
from millstream.catalog.store.open import OpenCatalog

TYPES = {"string": pa.string(), "double": pa.float64(), "bigint": pa.int64(), "date": pa.date32()}
TABLES = {
    "transactions": Table(
        "transactions",
        (
            Column("id", "bigint"),
            Column("customer", "bigint"),
            Column("currency", "string"),
            Column("amount", "double"),
        ),
        TemporalMode.PERIOD,
    ),
    "fx": Table(
        "rates",
        (
            Column("from_currency", "string"),
            Column("to_currency", "string"),
            Column("rate", "double"),
        ),
        TemporalMode.PERIOD,
    ),
    "customers": Table(
        "customers", (Column("id", "bigint"), Column("segment", "string")), TemporalMode.BITEMPORAL
    ),
}
TRANSACTIONS = [
    (1, 10, "EUR", 100.0, "2026-01"),
    (2, 11, "GBP", 50.0, "2026-01"),
    (3, 10, "JPY", 10_000.0, "2026-01"),
    (4, 11, "EUR", 10.0, "2026-02"),
]
RATES = [
    ("EUR", "USD", 1.5, "2026-01"),
    ("GBP", "USD", 2.0, "2026-01"),
    ("JPY", "USD", 0.01, "2026-01"),
    ("EUR", "GBP", 0.8, "2026-01"),
    ("EUR", "USD", 1.25, "2026-02"),
]
NEW_RATES = [(*row[:2], row[2] * 2, row[3]) for row in RATES]
CUSTOMERS = [
    (10, "retail", date(2025, 1, 1), date(2026, 2, 1)),
    (10, "private", date(2026, 2, 1), None),
    (11, "corporate", date(2025, 6, 1), None),
]
FX_ON = "transactions.currency = fx.from_currency AND fx.to_currency = 'USD'"
FX = RuntimeJoin("fx", "fx", FX_ON)
SEGMENT = RuntimeJoin("c", "customers", "transactions.customer = c.id")
USD = Assignment("usd", "amount * fx.rate")


@dataclass(frozen=True)
class MonthEnd:
    """A catalog with periods, three datasets with one version each, and their files in `base`."""

    catalog: OpenCatalog
    base: Path
    ids: dict[str, UUID]

    @classmethod
    def create(cls, catalog: OpenCatalog, base: Path) -> MonthEnd:
        datasets = {name: Dataset(uuid4(), name, table) for name, table in TABLES.items()}
        months = [
            Period("2026-01", date(2026, 1, 1), date(2026, 1, 31), "month"),
            Period("2026-02", date(2026, 2, 1), date(2026, 2, 28), "month"),
        ]
        catalog.writer.apply(
            Definitions(0, datasets=tuple(datasets.values()), periods=tuple(months))
        )
        made = cls(catalog, base, {name: each.id for name, each in datasets.items()})
        made.publish("transactions", TRANSACTIONS)
        made.publish("fx", RATES)
        made.publish("customers", CUSTOMERS)
        return made

    def publish(self, name: str, rows: Sequence[tuple[Any, ...]]) -> DatasetVersion:
        """Publishes rows as a Parquet file."""
        number = len(self.catalog.reader.versions(self.ids[name])) + 1
        path = self.base / "data" / name / f"v{number}.parquet"
        write(path, name, rows)
        dataset = self.catalog.reader.find_dataset(name)
        assert dataset is not None
        content, files = prepare(dataset, str(path))
        return self.catalog.writer.publish(dataset.id, content, files)

    def apply(self, *operations: UpdateOperation, **changes: Any) -> Project:
        """Stores the project month-end."""
        project = Project(
            name="month-end",
            input=ProjectInput("transactions"),
            output=ProjectOutput("out/{period}"),
            operations=operations or (UpdateOperation((FX, SEGMENT), (USD, SEGMENT_OF)),),
        )
        project = replace(project, **changes)
        revision = self.catalog.reader.definitions().revision
        self.catalog.writer.apply(Definitions(revision, projects=(project,)))
        return project

    def runner(self, spark: SparkSession, **settings: Any) -> ProjectRunner:
        reader, writer = self.catalog.reader, self.catalog.writer
        return ProjectRunner(
            spark, reader, writer, ResolverRegistry(self.base), self.base, **settings
        )

    def output(self, period: str = "2026-01") -> list[tuple[Any, ...]]:
        """Returns the output of a period by id."""
        rows = pq.read_table(self.base / "out" / period).to_pylist()
        return sorted(tuple(row.values()) for row in rows)


SEGMENT_OF = Assignment("segment", "c.segment")
FROM_FILES = ProjectOverride("customers", ResolverRef("path", {"template": "crm/{period}.parquet"}))


def write(path: Path, name: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Writes rows of a dataset as a Parquet file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fields = [(each.name, TYPES[each.type]) for each in TABLES[name].all_columns]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(fields)
    arrays = [pa.array(values, kind) for values, (_, kind) in zip(columns, fields, strict=True)]
    pq.write_table(pa.table(arrays, names=[each for each, _ in fields]), path)


RESULT = [
    (1, 10, "EUR", 100.0, "2026-01", 150.0, "retail"),
    (2, 11, "GBP", 50.0, "2026-01", 100.0, "corporate"),
    (3, 10, "JPY", 10_000.0, "2026-01", 100.0, "retail"),
]
DOUBLED_RESULT = [(*row[:5], row[5] * 2, row[6]) for row in RESULT]


def run(month_end: MonthEnd, spark: SparkSession, period: str = "2026-01") -> Run:
    runner = month_end.runner(spark)
    runner.activate("month-end")
    return runner.run("month-end", period)


def runs(month_end: MonthEnd) -> list[Run]:
    return month_end.catalog.reader.runs()
