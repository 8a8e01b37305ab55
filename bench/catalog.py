"""The catalog: runs of projects against joins written by hand, and reads of a large catalog."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from typing import Any

from bench import runtime_joins
from bench.catalog_reads import measure_catalog

Say = Callable[[str], None]


def run(
    rows: int, rounds: int, datasets: int, versions: int, parts: tuple[str, ...], say: Say
) -> dict[str, Any]:
    """Returns all requested parts, as data."""
    result: dict[str, Any] = {
        "benchmark": "catalog",
        "settings": {"rows": rows, "rounds": rounds, "cores": 2, "cpus": os.cpu_count()},
        "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
    }
    if "joins" in parts:
        result["runtime_joins"] = [runtime_joins.run(rows, rounds, say)]
    if "reads" in parts:
        result["reads"] = measure_catalog(datasets, versions, say=say)
    return result
