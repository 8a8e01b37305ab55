"""Runs a project and stops at the last moment before its output is replaced, to be killed there.

python -m tests.catalog.execution.killed_run CATALOG BASE LEASE_SECONDS READY
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from millstream.catalog.execution import runner as module
from millstream.catalog.execution.resolver_registry import ResolverRegistry
from millstream.catalog.execution.runner import ProjectRunner
from millstream.catalog.store.open import open_catalog
from millstream.engine.runtime.session import local_session

if __name__ == "__main__":
    url, folder, lease, ready = sys.argv[1:]

    def wait_to_be_killed(*_: Any) -> None:
        Path(ready).touch()
        time.sleep(600)

    setattr(module, "replace_output", wait_to_be_killed)  # noqa: B010 -- not for mypy
    base, catalog = Path(folder), open_catalog(url)
    ProjectRunner(
        local_session(1),
        catalog.reader,
        catalog.writer,
        ResolverRegistry(base),
        base,
        lease_seconds=float(lease),
    ).run("month-end", "2026-01")
