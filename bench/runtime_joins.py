"""Runs of a project against the same joins written by hand in PySpark.

Both read the same Parquet files, join three datasets to the working rows, and write Parquet. Rounds
alternate in one Spark session; the ratio is that of the medians. The project also records its
snapshot, verifies files, checks the cardinality of two joins and hashes the result.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from millstream.catalog.execution.resolver_registry import ResolverRegistry
from millstream.catalog.execution.runner import ProjectRunner
from millstream.catalog.model import (
    Assignment,
    Cardinality,
    Column,
    Dataset,
    Definitions,
    Period,
    Project,
    ProjectInput,
    ProjectOutput,
    RuntimeJoin,
    Table,
    TemporalMode,
    UpdateOperation,
)
from millstream.catalog.publishing.prepare import prepare
from millstream.catalog.store.open import OpenCatalog, open_catalog
from millstream.engine.runtime.session import local_session

Say = Callable[[str], None]
LIMIT_RATIO = 1.1
_CORES = 2
_CURRENCIES = 150
_CUSTOMERS = 200_000
_PRODUCTS = 20_000
_PERIOD = Period("2026-01", date(2026, 1, 1), date(2026, 1, 31))
_TRANSACTIONS = "id bigint, currency string, customer bigint, product bigint, amount double"
_ONE = Cardinality.MANY_TO_ONE
_PROJECT = Project(
    name="bench",
    input=ProjectInput("transactions"),
    output=ProjectOutput("project"),
    operations=(
        UpdateOperation(
            (
                RuntimeJoin(
                    "fx", "fx", "transactions.currency = fx.code", expected_cardinality=_ONE
                ),
                RuntimeJoin("c", "customers", "transactions.customer = c.id"),
                RuntimeJoin(
                    "p", "products", "transactions.product = p.id", expected_cardinality=_ONE
                ),
            ),
            (
                Assignment("usd", "amount * fx.rate"),
                Assignment("segment", "c.segment"),
                Assignment("margin", "amount * fx.rate * p.margin"),
            ),
        ),
    ),
)


def run(rows: int, rounds: int, say: Say) -> dict[str, Any]:
    """Returns the times of both and their ratio, as a row of a table."""
    with tempfile.TemporaryDirectory(prefix="millstream-bench-") as folder:
        base = Path(folder)
        adaptive = {"spark.sql.adaptive.enabled": "true"}
        spark = local_session(_CORES, log=base / "spark.log", **adaptive)
        try:
            return _measure(spark, base, rows, rounds, say)
        finally:
            spark.stop()


def _measure(spark: SparkSession, base: Path, rows: int, rounds: int, say: Say) -> dict[str, Any]:
    _write(spark, base, rows)
    catalog = open_catalog(base / "catalog.db", create=True)
    _publish(catalog, base)
    runner = ProjectRunner(spark, catalog.reader, catalog.writer, ResolverRegistry(base), base)
    runner.activate(_PROJECT.name)
    say(f"{rows:,} working rows, three joins, {rounds} rounds")
    seconds: dict[str, list[float]] = {"by hand": [], "project": []}
    cpu_seconds: dict[str, list[float]] = {"by hand": [], "project": []}
    for number in range(rounds + 1):
        for name, execute in (
            ("by hand", lambda: _by_hand(spark, base)),
            ("project", lambda: runner.run(_PROJECT.name, _PERIOD.identifier)),
        ):
            started, used = time.perf_counter(), _cpu_seconds()
            execute()
            took, used = time.perf_counter() - started, _cpu_seconds() - used
            note = " (warm-up)" if number == 0 else ""
            say(f"  {name}: {took:.2f} s, {used:.2f} CPU s{note}")
            if number:  # the first one warms the JVM
                seconds[name].append(took)
                cpu_seconds[name].append(used)
    _compare(spark, base)
    catalog.close()
    medians = {name: statistics.median(each) for name, each in seconds.items()}
    cpu = {name: statistics.median(each) for name, each in cpu_seconds.items()}
    ratio = medians["project"] / medians["by hand"]
    return {
        "rows": rows,
        "joins": 3,
        "rounds": rounds,
        "by_hand_seconds": round(medians["by hand"], 3),
        "project_seconds": round(medians["project"], 3),
        "ratio": round(ratio, 3),
        "limit_ratio": LIMIT_RATIO,
        "within_limit": ratio <= LIMIT_RATIO,
        "by_hand_cpu_seconds": round(cpu["by hand"], 3),
        "project_cpu_seconds": round(cpu["project"], 3),
        "cpu_ratio": round(cpu["project"] / cpu["by hand"], 3),
    }


def _cpu_seconds() -> float:
    """Of this process and its JVM. On a busy machine it is steadier than the time."""
    own = psutil.Process()
    return sum(sum(each.cpu_times()[:2]) for each in (own, *own.children(recursive=True)))


def _by_hand(spark: SparkSession, base: Path) -> None:
    path = base / "by_hand"
    shutil.rmtree(path, ignore_errors=True)
    at = F.lit(_PERIOD.start)
    fx = _read(spark, base, "fx").where(F.col("_period") == _PERIOD.identifier)
    customers = _read(spark, base, "customers").where(
        (F.col("_period_from") <= at) & (F.col("_period_to").isNull() | (F.col("_period_to") > at))
    )
    products = _read(spark, base, "products")
    working = _read(spark, base, "transactions")
    joined = (
        working.join(fx, working.currency == fx.code, "left")
        .join(customers, working.customer == customers.id, "left")
        .join(products, working["product"] == products.id, "left")
    )
    usd = working.amount * fx.rate
    joined.select(
        *(working[name] for name in working.columns),
        usd.alias("usd"),
        customers.segment,
        (usd * products.margin).alias("margin"),
    ).write.parquet(str(path))


def _compare(spark: SparkSession, base: Path) -> None:
    """Both have written the same rows."""
    written = [spark.read.parquet(str(base / name)) for name in ("by_hand", "project")]
    one, other = (each.agg(*_sums(each)).first() for each in written)
    assert one == other, f"{one} and {other}"


def _sums(frame: DataFrame) -> list[Any]:
    row = F.xxhash64(*frame.columns).bitwiseAND(F.lit((1 << 32) - 1))
    return [F.count(F.lit(1)), F.sum(row)]


def _read(spark: SparkSession, base: Path, name: str) -> DataFrame:
    return spark.read.parquet(str(base / "data" / name))


def _write(spark: SparkSession, base: Path, rows: int) -> None:
    number = F.col("id")
    frames = {
        "transactions": spark.range(0, rows, 1, 8).select(
            number,
            F.concat(F.lit("C"), F.pmod(number * 7, F.lit(_CURRENCIES))).alias("currency"),
            F.pmod(number * 31, F.lit(_CUSTOMERS)).alias("customer"),
            F.pmod(number * 17, F.lit(_PRODUCTS)).alias("product"),
            (F.pmod(number * 13, F.lit(100_000)) / 100).alias("amount"),
        ),
        "fx": spark.range(0, _CURRENCIES * 2, 1, 1).select(
            F.concat(F.lit("C"), F.pmod(number, F.lit(_CURRENCIES))).alias("code"),
            (1 + number / 100).alias("rate"),
            F.when(number < _CURRENCIES, "2026-01").otherwise("2026-02").alias("_period"),
        ),
        "customers": spark.range(0, _CUSTOMERS * 2, 1, 1).select(
            F.pmod(number, F.lit(_CUSTOMERS)).alias("id"),
            F.concat(F.lit("segment "), F.pmod(number, F.lit(9))).alias("segment"),
            F.when(number < _CUSTOMERS, F.lit(date(2025, 1, 1)))
            .otherwise(F.lit(date(2026, 2, 1)))
            .alias("_period_from"),
            F.when(number < _CUSTOMERS, F.lit(date(2026, 2, 1))).alias("_period_to"),
        ),
        "products": spark.range(0, _PRODUCTS, 1, 1).select(
            number, (F.pmod(number, F.lit(50)) / 100).alias("margin")
        ),
    }
    for name, frame in frames.items():
        frame.write.parquet(str(base / "data" / name))


def _publish(catalog: OpenCatalog, base: Path) -> None:
    tables = {
        "transactions": (_TRANSACTIONS, TemporalMode.NONE),
        "fx": ("code string, rate double", TemporalMode.PERIOD),
        "customers": ("id bigint, segment string", TemporalMode.BITEMPORAL),
        "products": ("id bigint, margin double", TemporalMode.NONE),
    }
    datasets = [
        Dataset(uuid4(), name, Table(name, _columns(text), mode))
        for name, (text, mode) in tables.items()
    ]
    catalog.writer.apply(Definitions(0, tuple(datasets), (_PERIOD,), (_PROJECT,)))
    for dataset in datasets:
        content, files = prepare(dataset, str(base / "data" / dataset.name))
        catalog.writer.publish(dataset.id, content, files)


def _columns(text: str) -> tuple[Column, ...]:
    return tuple(Column(*each.split()) for each in text.split(", "))
