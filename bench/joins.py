"""Every join against the best form of the same query in plain Spark; lookups; a hot key."""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import data
from bench.runs import Say, compared, measure, steady_rate
from bench.worker import Task

KINDS = ("interval", "window", "session", "temporal", "lookup", "hot")
ENGINES = ("columnar", "native-rocksdb")
_FILES = 8
_HOT_KEYS = 10_000
_HOT_SHARE = 0.8

_WRITE: dict[str, Callable[[Path, int, int], data.Written]] = {
    "interval": lambda folder, rows, files: data.write(folder, rows // 2, files),
    "window": lambda folder, rows, files: data.write(folder, rows // 2, files),
    "session": data.write_visits,
    "temporal": data.write_trades,
}
_QUERY = {
    "interval": "inner",
    "window": "window-join",
    "session": "session-join",
    "temporal": "temporal-join",
}


def run(rows: int, kinds: tuple[str, ...], engines: tuple[str, ...], say: Say) -> dict[str, Any]:
    result: dict[str, Any] = {
        "benchmark": "joins",
        "settings": {"rows": rows, "cores": 2, "files": _FILES, "cpus": os.cpu_count()},
        "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "throughput": [],
    }
    for kind in kinds:
        if kind in _QUERY:
            result["throughput"] += _throughput(kind, rows, engines, say)
    if "lookup" in kinds:
        result["lookups"] = _lookups(rows, say)
    if "hot" in kinds:
        result["hot"] = _hot(rows, say)
    return result


def _throughput(kind: str, rows: int, engines: tuple[str, ...], say: Say) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="millstream-bench-") as folder:
        written = _WRITE[kind](Path(folder), rows, _FILES)
        say(f"{kind}: {written.rows:,} rows in {_FILES} files a stream")
        measured = {engine: measure(Task(engine, _QUERY[kind], folder), say) for engine in engines}
        return compared(kind, measured)


def _hot(rows: int, say: Say) -> list[dict[str, Any]]:
    """One key of four rows in five, against a key a pair; and the same with 'join.salt'."""
    table: list[dict[str, Any]] = []
    uniform = 0.0
    for name, share, query in (
        ("a key a pair", 0.0, "hot-join"),
        ("one key of 80 % of the rows", _HOT_SHARE, "hot-join"),
        ("the same, salted", _HOT_SHARE, "salted-join"),
    ):
        with tempfile.TemporaryDirectory(prefix="millstream-bench-") as folder:
            data.write_hot(Path(folder), rows, _FILES, share)
            one = measure(Task("columnar", query, folder), say)
        uniform = uniform or one["seconds"]
        table.append(
            {
                "keys": name,
                "rows_per_second": round(one["rows"] / one["seconds"]),
                "steady_rows_per_second": round(steady_rate(one)),
                "times_uniform": round(one["seconds"] / uniform, 2),
                "rows_out": one["rows_out"],
            }
        )
    return table


def _lookups(rows: int, say: Say) -> list[dict[str, Any]]:
    from bench.lookups import database

    table = []
    cold = rows // 8
    with database(max(cold, _HOT_KEYS)) as url:
        for name, count, keys in (("hot", rows // 2, _HOT_KEYS), ("cold", cold, cold)):
            with tempfile.TemporaryDirectory(prefix="millstream-bench-") as folder:
                data.write_keys(Path(folder), count, _FILES, keys)
                one = measure(Task("columnar", "lookup", folder, url=url), say)
            table.append(
                {
                    "keys": f"{keys:,} {name}",
                    "rows": one["rows"],
                    "rows_per_second": round(one["rows"] / one["seconds"]),
                    "steady_rows_per_second": round(steady_rate(one)),
                    "rows_out": one["rows_out"],
                }
            )
    return table
