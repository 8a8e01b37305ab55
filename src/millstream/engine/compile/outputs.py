"""What a micro-batch gives beside its main rows: late rows, rejected records, statistics.

They are part of the main rows' plan, so that a batch runs once, with no second pass and nothing
cached. In `run`, executors write them (`routing`). For DataFrames of the Python API, an observation
collects them on the driver.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructType

from millstream.connectors.dead_letters import BAD, Rejection, dead_letters
from millstream.connectors.sink import DRIVER
from millstream.engine.processor.routing import BAD_RECORD, BatchReport
from millstream.engine.shuffle.column_names import BLOB, FROM, INPUTS, LATE, MAIN, PORT, STATS
from millstream.engine.shuffle.packer import decode


@dataclass(slots=True)
class SideRows:
    """By port: rejected records and late rows, by operator and input; statistics of key groups, and
    of tables that were asked."""

    rejected: list[tuple[tuple[int, int], pa.Table]] = field(default_factory=list)
    late: list[tuple[tuple[int, int], pa.Table]] = field(default_factory=list)
    stats: list[dict[str, Any]] = field(default_factory=list)
    tables: list[dict[str, Any]] = field(default_factory=list)

    def hear(self, text: str | bytes) -> None:
        stats = json.loads(text)
        (self.stats if "operator" in stats else self.tables).append(stats)


@dataclass(frozen=True, slots=True)
class Batch:
    """A micro-batch: `main` must be run exactly once, then `side` tells the rest, and `count` how
    many rows `main` had."""

    main: DataFrame
    side: Callable[[], SideRows]
    count: Callable[[], int]


OBSERVED = "millstream"  # names under which a query's progress shows statistics begin with it
Columns = Callable[[StructType], dict[str, Column]]
CAUGHT = "caught"  # the name under which it shows what a reading caught


def observed(stream: DataFrame) -> DataFrame:
    """The state host's stream, its statistics shown in the progress of the query that runs it."""
    name = f"{OBSERVED}-{uuid.uuid4().hex[:8]}"  # a query may hold two joins
    return stream.observe(name, _statistics().alias("stats"))


def _statistics() -> Column:
    """What operators and tables say, as texts: a query's progress is one."""
    return F.collect_list(F.when(F.col(PORT) == STATS, F.col(BLOB).cast(StringType())))


def observed_stats(texts: list[str]) -> list[dict[str, Any]]:
    """Those of operators; tables say theirs in the same way."""
    return [stats for stats in map(json.loads, texts) if "operator" in stats]


@dataclass(slots=True)
class Reading:
    """How micro-batches are read: on the way, what is said beside rows is caught; of the rest, rows
    that are `sound` come out, with the columns that are `shown`. All is made once, since a batch
    waits for it.

    `sided`: what operators and tables say stands among the rows. `checked`: so do malformed
    records. `source`: there is no operator that counts what was read of it.
    """

    sound: Column | None
    shown: tuple[Column, ...]
    sided: bool = False
    checked: bool = False
    source: str | None = None
    _counts: list[Column] = field(init=False)
    _beside: list[Column] = field(init=False)
    _taken: dict[str, Column] | None = None  # by the sink

    def __post_init__(self) -> None:
        self._counts = [F.count(F.lit(1)).alias("rows")]
        if self.sound is not None:
            self._counts.append(F.count_if(self.sound).alias("sound"))
        self._beside = []
        if self.checked:
            self._beside.append(F.collect_list(F.col(BAD)).alias("bad"))
        if self.sided:
            packet = F.when(F.col(PORT) != MAIN, F.struct(PORT, FROM, BLOB))
            self._beside.append(F.collect_list(packet).alias("packets"))

    def rows(self, frame: DataFrame) -> DataFrame:
        return (frame if self.sound is None else frame.where(self.sound)).select(*self.shown)

    def batch(self, frame: DataFrame) -> Batch:
        seen = Observation()
        rows = self.rows(frame.observe(seen, *self._counts, *self._beside))
        return Batch(rows, lambda: self._side(seen.get), lambda: self._count(seen.get))

    def labelled(self, frame: DataFrame, columns: Columns) -> DataFrame:
        """The rows of a batch as `routing` reads them: those of the result, as the columns that
        their sink takes, and all that is said beside them."""
        is_main, beside = None, []
        if self.sided:
            is_main, beside = F.col(PORT) == MAIN, [F.col(name) for name in (PORT, FROM, BLOB)]
        if self.checked:
            bad = F.col(BAD).isNotNull()
            port = F.when(bad, F.lit(BAD_RECORD)).otherwise(beside[0] if beside else F.lit(0))
            origin = beside[1] if beside else F.lit(0)
            blob = F.when(bad, F.col(BAD).cast("binary"))
            blob = blob.otherwise(beside[2]) if beside else blob
            beside = [port.cast("tinyint").alias(PORT), origin.alias(FROM), blob.alias(BLOB)]
            is_main = ~bad if is_main is None else is_main & ~bad
        if self.sound is not None:
            frame = frame.where(self.sound if is_main is None else self.sound | ~is_main)
        rows = frame.select(*self.shown, *beside)
        if self._taken is None:
            names = {PORT, FROM, BLOB} if beside else set()
            shown = StructType([each for each in rows.schema if each.name not in names])
            self._taken = columns(shown)
        taken = self._taken
        if beside:
            # What a sink computes of a row is not computed of anything else: it may fail.
            known, main = set(rows.columns), F.col(PORT) == MAIN
            taken = {
                name: column if name in known else F.when(main, column)
                for name, column in taken.items()
            }
        named = [column.alias(name) for name, column in taken.items()]
        return rows.select(*named, *((PORT, FROM, BLOB) if beside else ()))

    @property
    def metrics(self) -> Sequence[Column]:
        """What is observed of a batch before it is written: the number of its rows, if no operator
        and no table counts them."""
        counts = self.source is not None and not self.sided
        return [F.count(F.lit(1)).alias("rows")] if counts else []

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources of malformed records that are no packets, by their number."""
        return () if self.source is None else (self.source,)

    @property
    def is_labelled(self) -> bool:
        return self.sided or self.checked

    def read(self, report: BatchReport, observed: Mapping[str, int]) -> SideRows:
        """What operators and tables said in a batch. `observed` are the values of `metrics`."""
        side = SideRows()
        for text in report.stats:
            side.hear(text)
        if self.source is not None:
            malformed = sum(
                each.sources.get(self.source, 0)
                for reports in report.outputs.values()
                for each in reports
                if each.task != DRIVER
            )
            side.stats.append(self._counted(side, observed.get("rows", 0), malformed))
        return side

    def streamed(self, stream: DataFrame) -> DataFrame:
        """The rows of a stream that Spark writes itself. Its progress says what was counted, and
        what operators say of themselves; nothing else may ride with the rows."""
        stats = [_statistics().alias("stats")] if self.sided else []
        return self.rows(stream.observe(CAUGHT, *self._counts, *stats))

    def heard(self, caught: Mapping[str, Any]) -> tuple[SideRows, int]:
        """What Spark's progress says of a batch of `streamed`: what rode with rows, and how many
        there were."""
        return self._side(caught), self._count(caught)

    def _count(self, caught: Mapping[str, Any]) -> int:
        return int(caught["rows" if self.sound is None else "sound"])

    def _side(self, caught: Mapping[str, Any]) -> SideRows:
        side = _sort(caught.get("packets") or [])
        for text in caught.get("stats") or []:
            side.hear(text)
        if self.source is None:
            return side
        bad = caught.get("bad") or []
        side.stats.append(self._counted(side, caught["rows"], len(bad)))
        if bad:
            letters = dead_letters(self.source, map(Rejection.decoded, bad))
            side.rejected.append(((0, 0), letters))
        return side

    def _counted(self, side: SideRows, rows: int, malformed: int) -> dict[str, Any]:
        """The counts of a query without operators. A row may have found several rows of a table;
        how many there were, the first table knows."""
        first = min((said["number"] for said in side.tables), default=0)
        asked = [said["rows"] for said in side.tables if said["number"] == first]
        read = {"in": sum(asked) if self.sided else rows, "malformed": malformed}
        return {"tally": {self.source: read}, "counts": {}}


def _sort(rows: list[Any]) -> SideRows:
    side = SideRows()
    for port, origin, blob in rows:
        if port == STATS:
            side.hear(bytes(blob))
        elif port == LATE:
            side.late.append((divmod(origin, INPUTS), decode(bytes(blob))))
        else:
            side.rejected.append((divmod(origin, INPUTS), decode(bytes(blob))))
    return side
