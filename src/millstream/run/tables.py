"""The reference tables of a job: read when it starts, and refreshed as each table specifies.

<checkpoint>/reference-tables/<table>/   its versions (connectors/versions)
                               refresh   exists if a user has requested a refresh
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from millstream.connectors.protocols import TableReader
from millstream.connectors.reference_rows import reject_duplicate_keys, reject_oversized_table
from millstream.connectors.registry import open_table, options_of
from millstream.connectors.versions import ACTIVATION_DELAY, Version, Versions
from millstream.engine.compile.table_join import SINCE, UNTIL
from millstream.errors import MillstreamError, StateError
from millstream.kernels.table_join import IndexedTable
from millstream.plan.connectors import ConnectorRegistry
from millstream.plan.installed_connectors import installed_connectors
from millstream.plan.nodes import Broadcast, ReferenceTable
from millstream.run.processing_time import monotonic_clock, wall_clock
from millstream.temporal import BEGIN_OF_TIME, END_OF_TIME

FOLDER = "reference-tables"  # not a valid name of a query
_REQUEST = "refresh"
_CHECK_INTERVAL = 1_000_000  # microseconds between checks of files


def request_refresh(checkpoint: Path, table: str) -> None:
    """Requests that the job that runs from a checkpoint refreshes a table."""
    folder = checkpoint / FOLDER / table
    if not folder.is_dir():
        raise StateError(
            "MS-STATE-TABLE",
            f"no job with the table {table} has run from {checkpoint}.",
            fix="Start the job first, or name its --checkpoint.",
        )
    (folder / _REQUEST).touch()


@dataclass(slots=True)
class JobTables:
    """The tables of a job. `read` replaces connectors, in tests."""

    spark: SparkSession
    path: Path
    base: Path
    read: Callable[[ReferenceTable], pa.Table] | None = None
    connectors: ConnectorRegistry = field(default_factory=installed_connectors)
    clock: Callable[[], int] = wall_clock
    pace: Callable[[], int] = monotonic_clock
    problems: dict[str, MillstreamError] = field(
        default_factory=dict
    )  # of tables, until they are read again
    news: dict[str, str] = field(default_factory=dict)  # the last refresh of each table, as text
    _tables: dict[str, ReferenceTable] = field(default_factory=dict)
    _last_checked: dict[str, int] = field(
        default_factory=dict
    )  # the time of the last check of each table
    _latest: int = 0  # the latest reading of the system clock

    def open(self, table: ReferenceTable, *, is_fixed: bool = False) -> None:
        """Makes sure that there is a version of the table. With `is_fixed`, the table must not
        change while the job runs: changelogs are joined with it, and retractions need the same
        rows."""
        if not isinstance(table.access, Broadcast) or table.name in self._tables:
            return
        self._tables[table.name] = table
        self._last_checked[table.name] = self.pace()
        last = self.versions(table).last
        if last is not None and self.clock() < last.since:
            self.versions(table).record_clock_step_back()
        if not is_fixed or last is None:
            self.refresh(table, activation_delay=0)
        elif self._digest(table) != last.digest:
            raise StateError(
                "MS-STATE-TABLE",
                f"table {table.name} has changed since the job began, and results that were joined "
                "with it may have to be retracted.",
                fix="Start again with another checkpoint, or restore its files.",
            )

    def refresh(
        self,
        table: ReferenceTable,
        activation_delay: int = ACTIVATION_DELAY,
        *,
        again: bool = False,
    ) -> Version:
        """Reads a table. Publishes a new version if the table has changed."""
        versions = self.versions(table)
        digest, last = self._digest(table), versions.last
        if last is not None and digest and digest == last.digest and not again:
            return last
        rows = self._read(table)
        reject_oversized_table(table, rows)
        reject_duplicate_keys(table, rows)
        return versions.publish(rows, self.clock(), digest, activation_delay)

    def _digest(self, table: ReferenceTable) -> str:
        return "" if self.read is not None else self._opened(table).digest()

    def _opened(self, table: ReferenceTable) -> TableReader:
        return open_table(self.connectors, self.spark, table, self.base)

    def refresh_due(self) -> None:
        """Refreshes tables that are due. If a table cannot be read, its last version is used."""
        self._watch_clock()
        for table in self._tables.values():
            request = Path(self.folder(table)) / _REQUEST
            again = request.exists()
            request.unlink(missing_ok=True)
            if not again and not self._due(table):
                continue
            try:
                version = self.refresh(table, again=again)
            except MillstreamError as error:
                self.problems[table.name] = error
                self.news[table.name] = f"{table.name} was not refreshed: {error.cause}"
            else:
                self.problems.pop(table.name, None)
                if version.number > 1:
                    text = f"{table.name}: version {version.number}, {version.rows:,} rows"
                    self.news[table.name] = text

    def _watch_clock(self) -> None:
        now = self.clock()
        if now < self._latest - ACTIVATION_DELAY:
            for table in self._tables.values():
                self.versions(table).record_clock_step_back()
            self._latest = now
        self._latest = max(self._latest, now)

    def _due(self, table: ReferenceTable) -> bool:
        access, now = table.access, self.pace()
        assert isinstance(access, Broadcast)
        every = _CHECK_INTERVAL if access.watch else access.interval
        if every is None or now - self._last_checked[table.name] < every:
            return False
        self._last_checked[table.name] = now
        return True

    def _read(self, table: ReferenceTable) -> pa.Table:
        if self.read is not None:
            return self.read(table)
        return self._opened(table).read()

    def versions(self, table: ReferenceTable) -> Versions:
        return Versions(table.name, self.path / table.name)

    # The protocol `engine.compile.table_join.Tables`.

    def folder(self, table: ReferenceTable) -> str:
        return str(self.path / table.name)

    def options(self, table: ReferenceTable) -> tuple[tuple[str, str], ...]:
        return options_of(self.connectors, table, self.base)

    def lookup(self, table: ReferenceTable) -> str:
        return self.connectors[table.connector].lookup or ""

    def static_frame(self, table: ReferenceTable, keys: tuple[str, ...]) -> DataFrame | None:
        access = table.access
        assert isinstance(access, Broadcast)
        if access.refreshed:
            return None
        frame = None
        since = BEGIN_OF_TIME  # a batch before the oldest version reads that version
        for version, until in self.versions(table).spans():
            rows = self.versions(table).rows(version)
            if not IndexedTable(rows, keys).unique:
                return None
            marked = self.spark.createDataFrame(rows).select(
                "*",
                F.lit(since).alias(SINCE),
                F.lit(END_OF_TIME if until is None else until).alias(UNTIL),
            )
            since = END_OF_TIME if until is None else until
            frame = marked if frame is None else frame.unionByName(marked)
        return frame
