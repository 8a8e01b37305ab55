"""The worker daemon: forks a worker for each task, as PySpark's own daemon does."""

from __future__ import annotations

import gc

from millstream.engine.runtime.arrow_frame import keeps_memory
from millstream.engine.runtime.check import check_worker


def start() -> None:
    """Imports what PySpark's workers import for every task, and checks PySpark's internals."""
    # All modules that WORKER names, so that forked workers have them.
    check_worker(keeps_memory)


def serve() -> None:
    """Forks a worker for each task that needs one, until Spark ends."""
    import pyspark.daemon

    # Spark's workers collect garbage after every task. Without `freeze`, scanning the imported
    # modules would delay the next task by 40 ms.
    gc.freeze()
    gc.enable()
    pyspark.daemon.manager()
