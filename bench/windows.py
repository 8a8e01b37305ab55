"""Windows, sessions and deduplication against Spark's own, and against themselves.

How fast over a whole run and when warm; how much memory a million open groups take; whether a
micro-batch takes longer once many windows have closed behind it.
"""

from __future__ import annotations

import os
import platform
import tempfile
from pathlib import Path
from typing import Any

from bench import data
from bench.runs import Say, compared, measure
from bench.worker import Task

KINDS = ("tumbling", "sliding", "session", "short-session", "dedup")
ENGINES = ("columnar", "native-rocksdb")
PARTS = ("throughput", "open", "behind")
_FILES = 8
_OPEN = 1_000_000
_OPEN_FILES = 20
_BEHIND_FILES = 60
_BEHIND_ROWS = 50_000


def run(
    rows: int, kinds: tuple[str, ...], engines: tuple[str, ...], parts: tuple[str, ...], say: Say
) -> dict[str, Any]:
    """Returns all requested parts, as data."""
    result: dict[str, Any] = {
        "benchmark": "windows",
        "settings": {"events": rows, "cores": 2, "files": _FILES, "cpus": os.cpu_count()},
        "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
    }
    if "throughput" in parts:
        result["throughput"] = _throughput(rows, kinds, engines, say)
    if "open" in parts:
        result["open"] = [_open(kind, say) for kind in ("tumbling", "session") if kind in kinds]
    if "behind" in parts:
        result["behind"] = _behind(say)
    return result


def _throughput(
    rows: int, kinds: tuple[str, ...], engines: tuple[str, ...], say: Say
) -> list[dict[str, Any]]:
    """Sessions are those of a million users who stay: most outlive the micro-batch, and wait in the
    state. All else is of users who come and go: short sessions end within a micro-batch."""
    table = []
    with tempfile.TemporaryDirectory(prefix="millstream-bench-") as folder:
        going, staying = Path(folder) / "going", Path(folder) / "staying"
        written = data.write_events(going, rows, _FILES)
        if "session" in kinds:
            data.write_events(staying, rows, _FILES, data.MANY_USERS, data.LONG_STAY)
        say(f"{written.rows:,} events in {_FILES} files")
        for kind in kinds:
            read = str(staying if kind == "session" else going)
            measured = {engine: measure(Task(engine, kind, read), say) for engine in engines}
            table += compared(kind, measured)
    return table


def _open(kind: str, say: Say) -> dict[str, Any]:
    """Every user is new and no window closes: a million groups or sessions are open at the end."""
    say(f"a million open groups: {kind}")
    with tempfile.TemporaryDirectory(prefix="millstream-bench-") as folder:
        data.write_users(Path(folder), _OPEN, _OPEN_FILES)
        one = measure(Task("columnar", f"{kind}-open", folder), say)
    half = len(one["batch_ms"]) // 2
    return {
        "kind": kind,
        "state_rows": one["state_rows"],
        "peak_memory_mb": round(one["peak_memory_bytes"] / 2**20),
        "checkpoint_mb": round(one["checkpoint_bytes"] / 2**20, 1),
        "rows_a_batch": one["batch_rows"][-1],
        "second_quarter_ms": _median(one["batch_ms"][half // 2 : half]),
        "last_quarter_ms": _median(one["batch_ms"][half + half // 2 :]),
    }


def _behind(say: Say) -> list[dict[str, Any]]:
    say("micro-batches as closed windows pile up behind")
    with tempfile.TemporaryDirectory(prefix="millstream-bench-") as folder:
        data.write_events(Path(folder), _BEHIND_ROWS * _BEHIND_FILES, _BEHIND_FILES)
        one = measure(Task("columnar", "tumbling", folder), say)
    times = one["batch_ms"]
    return [
        {"batches_done": at, "median_batch_ms": _median(times[at - 5 : at + 5])}
        for at in range(10, _BEHIND_FILES, 10)
    ]


def _median(times: list[int]) -> int:
    return sorted(times)[len(times) // 2]
