"""Work items: what the driver lists and executors read, such as files.

    Spark streams names of work items ──▶ the engine's loop ──▶ the connector's `Reader` ──▶ rows

A connector whose source returns a `WorkStream` lists items and reads a single item. The engine does
the rest: the loop over items, and reading items in parts (`engine/scan/loop.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructType

ITEM = "path"  # the column of a work item's name
PARTITION = "_ms_partition"  # the column of the source partition that a work item is part of
PART = "_ms_part"
CHANGE = "_ms_change"  # of a changelog: how a row changes it, INSERT to DELETE of `kernels.core`
MAX_PARTS = 8  # of an item; a task reads a part


class Reader(Protocol):
    """Reads the work items of one source, on executors.

    Parts of an item have at least `min_part_bytes` bytes, so that each is worth a task.
    """

    min_part_bytes: ClassVar[int]

    def size_of(self, path: str, wanted: Mapping[str, pa.DataType]) -> int:
        """Returns the bytes of an item that are read for the wanted columns; 0 if unreadable."""
        ...

    def read(
        self, path: str, wanted: Mapping[str, pa.DataType], part: int, parts: int
    ) -> Iterator[pa.RecordBatch]:
        """Yields the wanted columns, in this order, and then columns of the reader, such as BAD
        with the rejection of a malformed record (`connectors/dead_letters.py`)."""
        ...


@dataclass(frozen=True, slots=True)
class WorkStream:
    """The stream of a source's work items.

    Attributes:
        items: A streaming DataFrame with the column ITEM and, if the source has partitions, the
            column PARTITION, a STRING that is never NULL. The offsets of a micro-batch determine
            its items and their partitions.
        reader: Reads an item; it is sent to executors.
        schema: The declared columns with Spark types.
        types: The columns that the reader can read with Arrow types.
        sample: One of the current items, to estimate sizes.
        partitions: The partitions that are known when the source is opened; None if it has none.
            The watermark waits for all of them (docs/03-time-and-watermarks.md).
            Partitions may be added while the query runs.
        item_columns: Columns of `items` that are the same for all rows of an item, such as the
            modification time of a file, and their types.
        is_changelog: Whether the reader can read the column CHANGE, because rows are changes.
    """

    items: DataFrame
    reader: Reader
    schema: StructType
    types: Mapping[str, pa.DataType]
    sample: str | None = None
    partitions: tuple[str, ...] | None = None
    is_changelog: bool = False
    item_columns: Mapping[str, DataType] = field(default_factory=dict)


def split_into_parts(items: DataFrame, parts: int) -> DataFrame:
    """Returns each item once per part, partitioned by the number of the part.

    A union of one stream per part is not used: Spark would count each as a source, so that a job
    whose number of parts changes could not resume from its checkpoint.
    """
    if parts < 2:
        return items
    numbers = F.array(*map(F.lit, range(parts)))
    return items.select("*", F.explode(numbers).alias(PART)).repartitionById(parts, PART)
