"""Takes tasks from Spark in forked workers, as PySpark's own daemon does."""

from __future__ import annotations

import gc

from millstream.engine.runtime.arrow_frame import keeps_memory
from millstream.engine.runtime.check import check_worker


def start() -> None:
    """Imports what PySpark's workers import for every task, and checks that it fits."""
    # All modules that WORKER names, so that forked workers have them.
    check_worker(keeps_memory)


def serve() -> None:
    """Forks a worker for each task that needs one, until Spark ends."""
    import pyspark.daemon

    # Spark's workers collect garbage after every task. What is imported is none: to look through it
    # takes 40 ms, before which the next task cannot begin.
    gc.freeze()
    gc.enable()
    pyspark.daemon.manager()
