"""What a micro-batch gives beside its main rows: late rows, rejected records, statistics.

They ride the main rows' plan and are caught on the way by an observation: the batch runs once, with
no second pass and nothing cached. They reach the driver, which writes them to their sinks.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from millstream.spark import host
from millstream.spark.packets import BAD, BLOB, FROM, PORT, dead_letters, decode


@dataclass(slots=True)
class SideRows:
    """By port: rejected records and late rows, by operator and input; statistics of key groups, and
    of tables that were asked."""

    rejected: list[tuple[tuple[int, int], pa.Table]] = field(default_factory=list)
    late: list[tuple[tuple[int, int], pa.Table]] = field(default_factory=list)
    stats: list[dict[str, Any]] = field(default_factory=list)
    tables: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Batch:
    """A micro-batch: `main` must be run exactly once, then `side` tells the rest."""

    main: DataFrame
    side: Callable[[], SideRows]


OBSERVED = "millstream"  # names under which a query's progress shows statistics begin with it


def observed(stream: DataFrame) -> DataFrame:
    """The state host's stream, its statistics shown in the progress of the query that runs it."""
    stats = F.when(F.col("_port") == host.STATS, F.col("_blob").cast("string"))
    name = f"{OBSERVED}-{uuid.uuid4().hex[:8]}"  # a query may hold two joins
    return stream.observe(name, F.collect_list(stats).alias("stats"))


def observed_stats(texts: list[str]) -> list[dict[str, Any]]:
    """Those of operators; tables say theirs in the same way."""
    return [stats for stats in map(json.loads, texts) if "operator" in stats]


def ported(batch: DataFrame) -> Batch:
    """A batch of the state host's rows."""
    observation = Observation()
    packet = F.struct("_port", "_from", "_blob")
    seen = batch.observe(
        observation, F.collect_list(F.when(F.col("_port") != host.MAIN, packet)).alias("packets")
    )
    return Batch(seen, lambda: _sort(observation.get["packets"]))


def _sort(rows: list[Any]) -> SideRows:
    side = SideRows()
    for port, origin, blob in rows:
        if port == host.STATS:
            stats = json.loads(bytes(blob))
            (side.stats if "operator" in stats else side.tables).append(stats)
        elif port == host.LATE:
            side.late.append((divmod(origin, host.INPUTS), decode(bytes(blob))))
        else:
            side.rejected.append((divmod(origin, host.INPUTS), decode(bytes(blob))))
    return side


def checked(batch: DataFrame, source: str) -> Batch:
    """A batch of a query without state: malformed records stand among its rows, marked, and what
    tables say."""
    observation = Observation()
    columns = [F.count(F.lit(1)).alias("rows")]
    if BAD in batch.columns:
        columns.append(F.collect_list(F.col(BAD)).alias("bad"))
    if PORT in batch.columns:
        packet = F.struct(PORT, FROM, BLOB)
        columns.append(F.collect_list(F.when(F.col(PORT) != host.MAIN, packet)).alias("packets"))
    seen = batch.observe(observation, *columns)

    def side() -> SideRows:
        found = observation.get
        bad = found.get("bad") or []
        made = _sort(found.get("packets") or [])
        # A row may have found several rows of a table. How many there were, the first table knows.
        first = min((said["number"] for said in made.tables), default=0)
        asked = [said["rows"] for said in made.tables if said["number"] == first]
        rows = sum(asked) if PORT in batch.columns else found["rows"]
        made.stats.append({"tally": {source: {"in": rows, "malformed": len(bad)}}, "counts": {}})
        if bad:
            made.rejected.append(((0, 0), dead_letters(source, pa.array(bad, pa.string()))))
        return made

    return Batch(seen, side)
