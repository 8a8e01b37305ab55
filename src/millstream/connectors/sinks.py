"""What a sink may offer beside the protocol of `connectors/sink`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql.types import StructType

from millstream.connectors.sink import Sink


@runtime_checkable
class Projecting(Protocol):
    """A sink that takes other columns than those of the query's result, such as lines of text."""

    def projection(self, schema: StructType, *, ansi: bool) -> dict[str, Column]:
        """The columns that Spark computes of main rows for the sink's writers. `ansi`: whether
        Spark's ANSI mode is on."""
        ...


@runtime_checkable
class ChecksColumns(Sink, Protocol):
    """A sink that rejects columns of some types before the job starts."""

    def check(self, rows: Callable[[], DataFrame]) -> None: ...


@runtime_checkable
class ChecksSideOutput(Sink, Protocol):
    """A sink that rejects columns of late rows or dead letters before the job starts."""

    def check_side_output(self, schema: pa.Schema) -> None: ...


@runtime_checkable
class WrittenBySpark(Sink, Protocol):
    """A sink that keeps no rows, so that Spark can write to it without a batch function."""

    spark_format: str
