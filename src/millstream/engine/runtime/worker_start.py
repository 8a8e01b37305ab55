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

# What Spark puts on the path of its workers, before all else.
_ARCHIVES = ("pyspark[.]zip", "py4j-[^:]*-src[.]zip", "spark-core_[^:]*[.]jar")


@cache
def worker_python() -> str:
    """This Python, for workers, without the archives that Spark puts before all else.

    Modules in a zip are compiled anew in every process: that is 1.2 of the 1.5 seconds in which a
    worker, and the driver's own, imports PySpark. And the contents of each are read anew for every
    task: 25 ms for all three. PySpark and Py4J are installed, and are the same ones.
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
        f'exec {shlex.quote(sys.executable)} "$@"',
    )
    script.write_text("\n".join(lines) + "\n", encoding="utf-8")
    script.chmod(0o700)
    return str(script)


@cache
def own_folder() -> Path | None:
    """For what Spark needs of this process while it runs; None where it does without."""
    if os.name != "posix":
        return None
    folder = Path(tempfile.mkdtemp(prefix="millstream-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def sockets() -> dict[str, str]:
    """Sockets that are files, in a folder that no one else may open. A small micro-batch is an
    eighth faster with them; but Spark remembers the name of each, one a stateful task, until it
    ends, so they are not for a job that runs for months."""
    folder = own_folder()
    if folder is None or len(str(folder)) > _SOCKET_FOLDER:
        return {}
    name = "spark.python.unix.domain.socket"
    return {f"{name}.enabled": "true", f"{name}.dir": str(folder)}


_SOCKET_FOLDER = 61  # the longest name that Spark takes: a socket's own is of 43 characters, or 104
