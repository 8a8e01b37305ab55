"""The signatures of the functions that a connector declares."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from millstream.plan.nodes import ReferenceTable, SinkDef, Source

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from millstream.connectors.deferred_frame import DeferredFrame
    from millstream.connectors.sink import Sink
    from millstream.connectors.work_items import WorkStream


class OpenSource(Protocol):
    """`ConnectorSpec.source`. Relative paths start at `base`; only `columns` need to be read."""

    def __call__(
        self, spark: SparkSession, source: Source, base: Path, columns: Collection[str]
    ) -> DataFrame | DeferredFrame | WorkStream: ...


class OpenSourceWithState(Protocol):
    """`ConnectorSpec.source` of a connector with `source_state`. `state` is a file in the
    checkpoint, which exists if the source has created it; None: there is no checkpoint."""

    def __call__(
        self,
        spark: SparkSession,
        source: Source,
        base: Path,
        columns: Collection[str],
        state: Path | None,
    ) -> DataFrame | DeferredFrame | WorkStream: ...


class OpenSink(Protocol):
    """`ConnectorSpec.sink`."""

    def __call__(self, sink: SinkDef, base: Path) -> Sink: ...


class TableReader(Protocol):
    """Reads a whole reference table."""

    def read(self) -> pa.Table:
        """Returns the rows of the table, at most one more than `access.max_rows`."""
        ...

    def digest(self) -> str:
        """Returns a string that changes when the table changes; empty if that is unknown."""
        ...


class OpenTable(Protocol):
    """`ConnectorSpec.table`."""

    def __call__(self, spark: SparkSession, table: ReferenceTable, base: Path) -> TableReader: ...


class SinkOutput(Protocol):
    """The files and rows that a sink has written."""

    def files(self, first_batch: int = 0) -> list[str]:
        """Returns the files of batches from `first_batch` on."""
        ...

    def remove(self) -> None:
        """Deletes everything that the sink has written."""
        ...

    def rows(self, names: Sequence[str], first_batch: int) -> Iterator[list[str]]:
        """Yields rows as strings, for a preview; none if the format cannot be read."""
        ...


@runtime_checkable
class SupportsLabel(SinkOutput, Protocol):
    """The output of a sink with labels for queries (`connectors.sink.SupportsSharing`)."""

    def with_label(self, query: str) -> SinkOutput:
        """Returns the output of one query."""
        ...


class OpenOutput(Protocol):
    """`ConnectorSpec.output`."""

    def __call__(self, sink: SinkDef, base: Path) -> SinkOutput: ...
