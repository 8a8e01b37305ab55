"""One query on PyFlink, in one process: run by the Python of the peers' environment.

    python flink_worker.py '{"query": "q0", "folder": …, "out": …}' result.json

In-memory state, parallelism 2, files as a bounded source in streaming mode. It imports nothing of
Millstream: the environment of this process does not have it.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from pathlib import Path
from string import Template

from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, TableDescriptor, TableEnvironment

HERE = Path(__file__).resolve().parent / "flink"
SETTINGS = {
    "parallelism.default": "2",
    "taskmanager.numberOfTaskSlots": "2",
    "state.backend.type": "hashmap",
    "table.local-time-zone": "UTC",
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "2s",
    "table.exec.mini-batch.size": "50000",
    "table.optimizer.distinct-agg.split.enabled": "true",
    "taskmanager.memory.process.size": "6g",
    "taskmanager.memory.task.heap.size": "4g",
}


def run(task: dict[str, str]) -> dict[str, object]:
    configuration = Configuration()
    for name, value in SETTINGS.items():
        configuration.set_string(name, value)
    if task["query"] == "q10":
        # Files are committed by checkpoints.
        configuration.set_string("execution.checkpointing.interval", "10s")
    settings = EnvironmentSettings.new_instance().in_streaming_mode()
    tables = TableEnvironment.create(settings.with_configuration(configuration).build())
    began = time.monotonic()
    text = (HERE / "sources.sql").read_text(encoding="utf-8")
    for statement in Template(text).substitute(data=task["folder"]).split(";"):
        if statement.strip():
            tables.execute_sql(statement)
    query = tables.sql_query((HERE / f"{task['query']}.sql").read_text(encoding="utf-8"))
    started = time.monotonic()
    result = query.execute_insert(_sink(task))
    result.wait()
    return {
        "query": task["query"],
        "seconds": round(time.monotonic() - began, 3),  # from the environment to the job's end
        "prepare_seconds": round(started - began, 3),  # of it, until the job was submitted
        "peak_memory_bytes": _peak(),
    }


def _sink(task: dict[str, str]) -> TableDescriptor:
    if task["query"] != "q10":
        return TableDescriptor.for_connector("blackhole").build()
    sink = TableDescriptor.for_connector("filesystem").option("path", task["out"])
    return sink.format("csv").partitioned_by("dt", "hm").build()


def _peak() -> int:
    """The most memory that this process and its JVM have used, according to the system."""
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for path in Path("/proc").glob("[0-9]*/status"):
        try:
            lines = dict(
                line.split(":", 1) for line in path.read_text().splitlines() if ":" in line
            )
        except OSError:
            continue
        if lines.get("PPid", "").strip() == str(os.getpid()) and "VmHWM" in lines:
            own += int(lines["VmHWM"].split()[0])
    return own * 1024


if __name__ == "__main__":
    made = run(json.loads(sys.argv[1]))
    Path(sys.argv[2]).write_text(json.dumps(made), encoding="utf-8")
