"""Counts the modules that an interval join uses, from SQL text to output.

    python scripts/count_modules.py [--files]

Runs a small interval join with `millstream run` and counts the modules that are imported, and those
with an executed function, on the driver and on executors. Code that runs during imports, such as
class definitions, does not count as execution. `--files` also lists the executed modules.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "src" / "millstream"
_RESULT = "MILLSTREAM_COUNT_FOLDER"

# Imported by every Python process that is started, because the folder is on its path.
_HOOK = """
import atexit, os, sys

_folder, _seen = os.environ.get("MILLSTREAM_COUNT_FOLDER"), set()
_is_worker = os.environ.get("SPARK_PYTHON_RUNTIME") == "PYTHON_WORKER"
_process = "executors" if _is_worker else "driver"
_source = os.environ.get("MILLSTREAM_COUNT_SOURCE", "")

def _call(frame, event, argument):
    code = frame.f_code
    name = code.co_filename
    if name in _seen or not code.co_flags & 1 or not name.startswith(_source):
        return  # a module or the body of a class has no optimized locals
    caller = frame.f_back
    while caller is not None:
        if caller.f_code.co_name == "<module>" and caller.f_globals["__name__"] != "__main__":
            return  # called while a module is imported
        caller = caller.f_back
    _seen.add(name)
    with open(os.path.join(_folder, f"executed-{_process}-{os.getpid()}"), "a") as out:
        out.write(name + "\\n")

def _imported():
    with open(os.path.join(_folder, f"imported-{_process}-{os.getpid()}"), "w") as out:
        for module in list(sys.modules.values()):
            name = getattr(module, "__file__", None) or ""
            if name.startswith(_source):
                out.write(name + "\\n")

if _folder:
    import threading
    atexit.register(_imported)
    threading.setprofile(_call)
    sys.setprofile(_call)
"""

_JOB = """
CREATE SOURCE orders (id BIGINT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH ('connector' = 'file', 'path' = 'orders', 'format' = 'csv');
CREATE SOURCE shipments (id BIGINT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH ('connector' = 'file', 'path' = 'shipments', 'format' = 'csv');
CREATE SINK joined WITH ('connector' = 'file', 'path' = 'out', 'format' = 'json');
INSERT INTO joined SELECT o.id, o.ts AS ordered, s.ts AS shipped FROM orders o LEFT JOIN shipments s
ON o.id = s.id AND s.ts BETWEEN o.ts AND o.ts + INTERVAL '1' HOUR;
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--files", action="store_true", help="list the executed modules")
    list_files = parser.parse_args().files
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "hook").mkdir()
        (folder / "found").mkdir()
        (folder / "hook" / "sitecustomize.py").write_text(_HOOK)
        for source in ("orders", "shipments"):
            (folder / source).mkdir()
            (folder / source / "1.csv").write_text("id,ts\n1,2026-01-01T00:00:00Z\n")
        (folder / "job.sql").write_text(_JOB)
        environment = os.environ | {
            "PYTHONPATH": f"{folder / 'hook'}{os.pathsep}{FOLDER.parent}",
            _RESULT: str(folder / "found"),
            "MILLSTREAM_COUNT_SOURCE": str(FOLDER),
        }
        command = [sys.executable, "-m", "millstream.cli", "run", "job.sql", "--once", "--flush"]
        subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)  # noqa: S603
        for kind in ("imported", "executed"):
            # Forked workers exit without exit handlers, which would report their imports.
            processes = ("driver",) if kind == "imported" else ("driver", "executors", "*")
            for process in processes:
                files = _modules(folder / "found", kind, process)
                print(f"{kind}, {process.replace('*', 'all processes')}: {len(files)} modules")
                _print_packages(files)
        if list_files:
            driver = _modules(folder / "found", "executed", "driver")
            executors = _modules(folder / "found", "executed", "executors")
            for file in sorted(driver | executors):
                where = ("driver" * (file in driver), "executors" * (file in executors))
                print(f"{Path(file).relative_to(FOLDER)}: {', '.join(filter(None, where))}")


def _modules(folder: Path, kind: str, process: str) -> set[str]:
    return {
        line
        for found in folder.glob(f"{kind}-{process}-*")
        for line in found.read_text().splitlines()
        if not line.endswith("__init__.py")
    }


def _print_packages(files: set[str]) -> None:
    counts: dict[str, int] = {}
    for file in files:
        package = Path(file).relative_to(FOLDER).parts[0]
        package = package if not package.endswith(".py") else "(top level)"
        counts[package] = counts.get(package, 0) + 1
    print("  " + ", ".join(f"{name} {count}" for name, count in sorted(counts.items())))


if __name__ == "__main__":
    main()
