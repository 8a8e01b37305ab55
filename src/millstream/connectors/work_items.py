"""Work items: what the driver lists and executors read, such as files.

    Spark streams names of work items ──▶ the engine's loop ──▶ the connector's `Reader` ──▶ rows

A connector whose source returns a `WorkStream` only lists items and reads one; the loop over them,
reading in parts and accounting for items that were not read are the engine's
(`engine/scan/loop.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

import pyarrow as pa
from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

ITEM = "path"  # the column of a work item's name
PARTITION = "_ms_partition"  # the column of the source partition that a work item is part of
PART = "_ms_part"
MOST_PARTS = 8  # of an item, each read by a task


class Reader(Protocol):
    """Reads the work items of one source, on executors. A part is worth a task of its own if it is
    of `least_part` bytes or more."""

    least_part: ClassVar[int]

    def size_of(self, path: str, asked: Mapping[str, pa.DataType]) -> int:
        """Bytes of an item that are read for some columns; 0 if it cannot be read."""
        ...

    def read(
        self, path: str, asked: Mapping[str, pa.DataType], part: int, parts: int
    ) -> Iterator[pa.RecordBatch]:
        """The columns asked for, in that order, and any that are the reader's own: BAD has the
        rejection of a malformed record (`connectors/dead_letters.py`)."""
        ...


class _Union(AccumulatorParam[set[str]]):
    def zero(self, value: set[str]) -> set[str]:  # noqa: ARG002
        return set()

    def addInPlace(self, value1: set[str], value2: set[str]) -> set[str]:  # noqa: N802
        return value1 | value2


@dataclass(frozen=True, slots=True)
class ReportedItems:
    """The names of work items that executors receive, reported to the driver at the end of a task.
    A retried task reports the same names."""

    names: Accumulator[set[str]]

    @classmethod
    def of(cls, spark: SparkSession) -> ReportedItems:
        return cls(spark.sparkContext.accumulator(set(), _Union()))

    def add(self, name: str) -> None:
        """Report a name; on an executor."""
        self.names.add({name})

    def take(self) -> set[str]:
        """The names since the last call; on the driver."""
        found = self.names.value
        self.names.value = set()
        return found


@dataclass(frozen=True, slots=True)
class ItemCheck:
    """How the driver finds items that Spark listed and no executor received: files that were
    deleted. `empty_is_fine` if an item without bytes is one without rows."""

    folder: str
    reported: ReportedItems
    empty_is_fine: bool


@dataclass(frozen=True, slots=True)
class WorkStream:
    """The stream of a source's work items.

    Attributes:
        items: A streaming DataFrame with the column ITEM and, if the source has partitions, the
            column PARTITION, a STRING that is never NULL. Which items a micro-batch has, and of
            which partition each is, follows from its offsets alone.
        reader: Reads an item; it is sent to executors.
        schema: The declared columns, as Spark's types.
        types: The columns that the reader can read, as Arrow's types.
        sample: One of the current items, to estimate sizes.
        check: How lost items are found, if they can be.
        partitions: The partitions that are known when the source is opened; None if it has none.
            The watermark waits for all of them, as docs/03-time.md describes; others may be added
            while the query runs.
    """

    items: DataFrame
    reader: Reader
    schema: StructType
    types: Mapping[str, pa.DataType]
    sample: str | None = None
    check: ItemCheck | None = None
    partitions: tuple[str, ...] | None = None

    @property
    def reported(self) -> ReportedItems | None:
        return self.check.reported if self.check else None


def in_parts(items: DataFrame, parts: int) -> DataFrame:
    """Every item once a part; the parts go to tasks of their own, in their order.

    A union of streams, one a part, would do the same, but Spark would take it for as many sources,
    and a job whose files grow could not go on from its checkpoint.
    """
    if parts < 2:
        return items
    numbers = F.array(*map(F.lit, range(parts)))
    return items.select("*", F.explode(numbers).alias(PART)).repartitionById(parts, PART)
