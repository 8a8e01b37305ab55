"""The interval join against Spark's own, and against itself as state grows.

Measures the rate of a whole run and of a warm one, the time of a small micro-batch, and how much
longer a micro-batch takes with ten times as much state.
"""

from __future__ import annotations

import os
import platform
import tempfile
from pathlib import Path
from typing import Any

from bench import data
from bench.runs import Say, compared, measure, median_batch
from bench.worker import Task

ENGINES = ("columnar", "native-rocksdb", "native-hdfs")
PARTS = ("throughput", "small", "growth")
_FILES = 8
_SMALL_BATCHES = 60
_SMALL_ROWS = 4_000
_GROWTH_BATCHES = 44
_GROWTH_ROWS = 100_000
_FOREVER = 86_400_000_000


def run(
    rows: int, hows: tuple[str, ...], engines: tuple[str, ...], parts: tuple[str, ...], say: Say
) -> dict[str, Any]:
    """Returns all requested parts, as data."""
    result: dict[str, Any] = {
        "benchmark": "interval-join",
        "settings": {"orders": rows, "cores": 2, "files": _FILES, "cpus": os.cpu_count()},
        "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
    }
    if "throughput" in parts:
        result["throughput"] = _throughput(rows, hows, engines, say)
    if "small" in parts:
        result["small"] = _small(engines, say)
    if "growth" in parts:
        result["growth"] = _growth(say)
    return result


def _throughput(
    rows: int, hows: tuple[str, ...], engines: tuple[str, ...], say: Say
) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="millstream-bench-") as folder:
        written = data.write(Path(folder), rows, _FILES)
        say(f"{written.rows:,} rows of orders and shipments in {_FILES} files each")
        table = []
        for how in hows:
            measured = {engine: measure(Task(engine, how, folder), say) for engine in engines}
            table += compared(how, measured)
        return table


def _small(engines: tuple[str, ...], say: Say) -> list[dict[str, Any]]:
    say(f"micro-batches of {_SMALL_ROWS:,} rows")
    with tempfile.TemporaryDirectory(prefix="millstream-bench-") as folder:
        data.write(Path(folder), _SMALL_BATCHES * _SMALL_ROWS * 10 // 19, _SMALL_BATCHES)
        measured = {engine: measure(Task(engine, "inner", folder), say) for engine in engines}
        ours = median_batch(measured["columnar"]) if "columnar" in measured else 0
        return [
            {
                "engine": engine,
                "median_batch_ms": median_batch(one),
                "columnar_to_it": round(ours / median_batch(one), 2),
            }
            for engine, one in measured.items()
        ]


def _growth(say: Say) -> list[dict[str, Any]]:
    """One run in which nothing expires: the same new rows a batch, ever more state."""
    say(f"micro-batches of {_GROWTH_ROWS * 19 // 10:,} rows while state grows")
    with tempfile.TemporaryDirectory(prefix="millstream-bench-") as folder:
        data.write(Path(folder), _GROWTH_ROWS * _GROWTH_BATCHES, _GROWTH_BATCHES)
        measured = measure(Task("columnar", "inner", folder, upper=_FOREVER), say)
    times = measured["batch_ms"]
    table = []
    for at in (4, 8, 16, 24, 32, 40):
        near = sorted(times[at - 2 : at + 3])
        table.append(
            {
                "batches_held": at,
                "rows_held": sum(measured["batch_rows"][:at]),
                "median_batch_ms": near[len(near) // 2],
            }
        )
    for row in table:
        row["to_the_first"] = round(row["median_batch_ms"] / table[0]["median_batch_ms"], 2)
    return table
