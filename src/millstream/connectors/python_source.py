"""What Python data sources of connectors share: their registration, and errors with their code.

Spark runs the stream reader of a Python data source in a process beside the driver. It logs the
offsets that `latestOffset` returns; `partitions` returns the work items between two of them.
"""

from __future__ import annotations

from types import TracebackType
from typing import ClassVar

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource

from millstream.errors import MillstreamError


class NamedDataSource(DataSource):
    """A data source that Spark knows by the name `called`."""

    called: ClassVar[str]

    @classmethod
    def name(cls) -> str:
        return cls.called


def register(spark: SparkSession, source: type[NamedDataSource]) -> str:
    """Registers a data source in a session and returns its name. Spark compares names with those
    of the thread's active session, too, which may have it under the first name."""
    other: type[NamedDataSource] = type(
        f"Other{source.__name__}", (source,), {"called": f"{source.called}_2"}
    )
    for kind in (source, other):
        try:
            spark.dataSource.register(kind)
        except AnalysisException as error:
            if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS" or kind is not source:
                raise
        else:
            return kind.called
    raise AssertionError


class ErrorAnnotation:
    """Adds an error as JSON to its traceback: the driver gets the text of it only."""

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, MillstreamError):
            error.annotate()
