"""A DataFrame that is built only if it is needed.

Spark analyzes each DataFrame that is derived from another. In a new JVM this takes half a second of
a job's start, which is wasted for streams whose files the executors read without Spark.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, StructType

from millstream.connectors.work_items import WorkStream


class DeferredFrame:
    """A schema, and a DataFrame that is built on first use.

    Attributes:
        origin: The work items that the rows are read from, if executors read them.
    """

    def __init__(
        self,
        build: Callable[[], DataFrame],
        schema: StructType | None = None,
        origin: WorkStream | None = None,
    ) -> None:
        self.origin = origin
        self._build = build
        self._schema = schema
        self._frame: DataFrame | None = None

    @classmethod
    def of(cls, frame: DataFrame) -> DeferredFrame:
        return cls(lambda: frame)

    @property
    def schema(self) -> StructType:
        if self._schema is None:
            self._schema = self.frame.schema
        return self._schema

    @property
    def frame(self) -> DataFrame:
        if self._frame is None:
            self._frame = self._build()
        return self._frame

    @property
    def types(self) -> dict[str, DataType]:
        return {each.name: each.dataType for each in self.schema}
