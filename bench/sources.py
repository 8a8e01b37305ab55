"""Connectors: rows per second of jobs that write to other systems, each against its own server."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from typing import Any

from bench import kafka_jobs, postgresql_sink

Say = Callable[[str], None]


def run(rows: int, rounds: int, parts: tuple[str, ...], say: Say) -> dict[str, Any]:
    """Returns all requested parts, as data."""
    result: dict[str, Any] = {
        "benchmark": "sources",
        "settings": {"rows": rows, "rounds": rounds, "cores": 2, "cpus": os.cpu_count()},
        "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
    }
    if "kafka" in parts:
        result["kafka"] = kafka_jobs.run(rows, rounds, say)
    if "postgresql" in parts:
        result["postgresql_sink"] = postgresql_sink.run(rows, rounds, say)
    return result
