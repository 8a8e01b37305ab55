"""Starts workers one after the other, never two at once, and reads what they measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import Field, asdict
from pathlib import Path
from statistics import median
from typing import Any, ClassVar, Protocol

ROOT = Path(__file__).resolve().parent.parent
Say = Callable[[str], None]


class Task(Protocol):
    """What a worker shall measure: a dataclass, whose `checkpoint` is filled in here."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def engine(self) -> str: ...
    @property
    def query(self) -> str: ...


def measure(task: Task, say: Say, worker: str = "bench.worker") -> dict[str, Any]:
    """Run a worker's module in a process of its own and read what it measured."""
    say(f"  {task.engine:15} {task.query:9} …")
    os.sync()  # what a run before this one left to be written is no part of it
    with tempfile.TemporaryDirectory(prefix="millstream-bench-") as scratch:
        result, log = Path(scratch) / "result.json", Path(scratch) / "log"
        argument = json.dumps(asdict(task) | {"checkpoint": f"{scratch}/checkpoint"})
        with log.open("wb") as output:
            done = subprocess.run(  # noqa: S603 -- our own module
                [sys.executable, "-m", worker, argument, str(result)],
                cwd=ROOT,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            )
        if done.returncode:
            tail = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-30:])
            raise RuntimeError(f"{task.engine} {task.query} failed:\n{tail}")
        measured: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
    say(f"  {task.engine:15} {task.query:9} {measured['rows'] / measured['seconds']:12,.0f} rows/s")
    return measured


def steady_rate(measured: dict[str, Any]) -> float:
    """Rows a second over the later half of the batches, when everything is warm."""
    half = len(measured["batch_ms"]) // 2
    rates: list[float] = [
        rows / (ms / 1000)
        for rows, ms in zip(measured["batch_rows"][half:], measured["batch_ms"][half:], strict=True)
    ]
    return median(rates)


def compared(query: str, measured: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """A row an engine: what it did, and how many times as fast the columnar one was."""
    table = []
    for engine, one in measured.items():
        ours = measured.get("columnar", one)
        table.append(
            {
                "query": query,
                "engine": engine,
                "rows_per_second": round(one["rows"] / one["seconds"]),
                "steady_rows_per_second": round(steady_rate(one)),
                "columnar_is": round(one["seconds"] / ours["seconds"], 2),
                "columnar_is_steady": round(steady_rate(ours) / steady_rate(one), 2),
                "seconds": one["seconds"],
                "prepare_seconds": one["prepare_seconds"],
                "first_batch_ms": one["batch_ms"][0],
                "rows_out": one["rows_out"],
                "peak_memory_mb": round(one["peak_memory_bytes"] / 2**20),
                "state_rows": one["state_rows"],
                "checkpoint_mb": round(one["checkpoint_bytes"] / 2**20, 1),
                "phases_ms": one["phases_ms"],
            }
        )
    return table


def median_batch(measured: dict[str, Any]) -> float:
    times: list[float] = measured["batch_ms"]
    return median(times[len(times) // 2 :])
