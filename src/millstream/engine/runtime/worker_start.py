"""How Spark starts Python workers: with which Python, on which path, through which sockets."""

from __future__ import annotations

import atexit
import os
import shlex
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path

import psutil

# What Spark puts first on the path of its workers.
_ARCHIVES = ("pyspark[.]zip", "py4j-[^:]*-src[.]zip", "spark-core_[^:]*[.]jar")

DAEMON = "millstream.engine.worker"
# Spark starts it once per stateful query, and prints what it prints.
_PRINTS = "pyspark.sql.streaming.transform_with_state_driver_worker"


@cache
def worker_python() -> str:
    """Returns a Python for workers, without the archives that Spark puts first on the path.

    Every process compiles modules in a zip again: 1.2 of the 1.5 seconds in which a worker imports
    PySpark. For every task, the archives are read again: 25 ms for all three. The installed PySpark
    and Py4J are the same.

    It starts Millstream's daemon instead of PySpark's, because the session of a user names the
    latter, and discards what PySpark prints for debugging.
    """
    folder = own_folder()
    if folder is None:
        return sys.executable
    script = folder / "python"
    without = " ".join(f"-e 's#[^:]*/{name}:\\{{0,1\\}}##g'" for name in _ARCHIVES)
    lines = (
        "#!/bin/sh",
        f'PYTHONPATH=$(printf %s "$PYTHONPATH" | sed {without})',
        "export PYTHONPATH",
        'case "$*" in',
        f'"-m pyspark.daemon "*) shift 2; set -- -m {DAEMON} "$@" ;;',
        f'"-m {_PRINTS}"*) exec >/dev/null ;;',
        "esac",
        f'exec {shlex.quote(sys.executable)} "$@"',
    )
    script.write_text("\n".join(lines) + "\n", encoding="utf-8")
    script.chmod(0o700)
    return str(script)


def cache_bytes() -> int:
    """Returns the limit of all workers' caches together: a quarter of the machine's memory."""
    return max(psutil.virtual_memory().total // 4, 1 << 30)


@cache
def own_folder() -> Path | None:
    """Returns a temporary folder for this process; None on other systems than POSIX."""
    if os.name != "posix":
        return None
    folder = Path(tempfile.mkdtemp(prefix="millstream-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def sockets() -> dict[str, str]:
    """Returns the settings for UNIX sockets, in a folder that other users cannot open.

    With them, a small micro-batch is an eighth faster. Spark stores the name of each socket, one
    per stateful task, until it ends, so they are not used for jobs that run for months.
    """
    folder = own_folder()
    if folder is None or len(str(folder)) > _SOCKET_FOLDER:
        return {}
    name = "spark.python.unix.domain.socket"
    return {f"{name}.enabled": "true", f"{name}.dir": str(folder)}


_SOCKET_FOLDER = 61  # the limit of a socket's path is 104 characters, and its name has 43
