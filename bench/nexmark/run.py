"""Measures queries on each engine and in Spark's own form, one by one and on the same files."""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.metadata import version
from math import exp, log
from pathlib import Path
from statistics import median
from typing import Any

from bench.nexmark.options import Options
from bench.nexmark.raw_spark import NOT_POSSIBLE
from bench.nexmark.suite import DELAY, Query, job_of
from bench.nexmark.worker import Task
from bench.nexmark.write import Data, Say, manifest, read, write
from bench.runs import compared, measure
from millstream.errors import PlanError

RAW = "spark"
_WORKER = "bench.nexmark.worker"


def run(
    queries: Sequence[Query],
    engines: Sequence[str],
    options: Options,
    say: Say,
    *,
    batches: int = 10,
    data: Path | None = None,
    files: int = 1,
    raw: bool = True,
) -> dict[str, Any]:
    """All figures as data. `data` is a folder with events; without one they are generated. A
    micro-batch takes so many `files` of each kind."""
    with ExitStack() as folders:
        if data is None:
            folder = Path(
                folders.enter_context(tempfile.TemporaryDirectory(prefix="millstream-nexmark-"))
            )
            made = write(options, folder / "data", files=batches)
            say(f"{made.options.events:,} events in {batches} files of each kind")
        else:
            made = read(data.resolve())
        table, missing = [], []
        for query in queries:
            wanted = (*engines, *((RAW,) if raw else ()))
            measured, not_run = _measured(query, wanted, made, files, say)
            table += _compared(query, measured)
            missing += not_run
    return {
        "benchmark": "nexmark",
        "settings": {
            **manifest(made),
            "files_per_batch": files,
            "delay_us": DELAY,
            "cores": Task("", "", "").cores,
        },
        "machine": _machine(),
        "throughput": table,
        "not_run": missing,
        "means": _means(table, engines),
    }


def _measured(
    query: Query, engines: Sequence[str], data: Data, files: int, say: Say
) -> tuple[dict[str, dict[str, Any]], list[dict[str, str]]]:
    """Figures by engine, and reasons of those that cannot."""
    measured, missing = {}, []
    for engine in engines:
        if reason := _why_not(query, engine, data):
            say(f"  {engine:15} {query.name:9} {reason}")
            missing.append({"query": query.name, "engine": engine, "reason": reason})
            continue
        try:
            task = Task(engine, query.name, str(data.folder), files=files)
            measured[engine] = measure(task, say, _WORKER)
        except RuntimeError as error:
            say(str(error))
            missing.append({"query": query.name, "engine": engine, "reason": "it failed"})
    return measured, missing


def _why_not(query: Query, engine: str, data: Data) -> str:
    if engine == RAW:
        return NOT_POSSIBLE.get(query.name, "")
    try:
        job_of(query, data, data.folder / "out", files=1, engine=engine)
    except PlanError as error:
        if error.code == "MS-PLAN-ENGINE":
            return error.cause
        raise
    return ""


def _compared(query: Query, measured: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """A row an engine, with how many times as fast as Spark's own form it was."""
    rows = compared(query.name, measured)
    for row in rows:
        one = measured[row["engine"]]
        row["batch_ms"] = one["batch_ms"]
        row["cpu_seconds"] = one["cpu_seconds"]
        row["late_to_early"] = _late_to_early(one)
        if own := measured.get(RAW):
            row["to_spark"] = round(own["seconds"] / one["seconds"], 2)
            baseline = next(other for other in rows if other["engine"] == RAW)
            ours, theirs = (each["steady_rows_per_second"] for each in (row, baseline))
            row["to_spark_steady"] = round(ours / theirs, 2)
    return rows


def _late_to_early(one: dict[str, Any]) -> float | None:
    """Rows a second of the last fifth of the batches to those of the second fifth."""
    fifth = len(one["batch_ms"]) // 5
    if not fifth:
        return None
    rates: list[float] = [
        rows / ms for rows, ms in zip(one["batch_rows"], one["batch_ms"], strict=True)
    ]
    return round(median(rates[-fifth:]) / median(rates[fifth : 2 * fifth]), 2)


def _means(table: list[dict[str, Any]], engines: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Geometric means over the queries that Spark runs, too."""
    means = {}
    for engine in engines:
        rows = [row for row in table if row["engine"] == engine and "to_spark" in row]
        if rows:
            means[engine] = {
                "queries": len(rows),
                "to_spark": geometric([row["to_spark"] for row in rows]),
                "to_spark_steady": geometric([row["to_spark_steady"] for row in rows]),
                "least_to_spark": min(row["to_spark"] for row in rows),
            }
    return means


def geometric(values: list[float]) -> float:
    return round(exp(sum(log(value) for value in values) / len(values)), 2)


def _machine() -> dict[str, Any]:
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "pyspark": version("pyspark"),
        "polars": version("polars"),
    }
