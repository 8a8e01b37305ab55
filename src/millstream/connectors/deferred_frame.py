"""Rows of a stream, of which Spark is told only when someone reads them through it.

Whenever a DataFrame is made of another, Spark analyses it: half a second of a job's start, on a JVM
that has just begun, for streams whose files workers then read by themselves.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, StructType

from millstream.connectors.work_items import WorkStream


class Rows:
    """A DataFrame that is made when it is first asked for; with `schema`, what it holds is known
    before. `origin` are the work items that it is read from, if executors read them."""

    def __init__(
        self,
        make: Callable[[], DataFrame],
        schema: StructType | None = None,
        origin: WorkStream | None = None,
    ) -> None:
        self.origin = origin
        self._make = make
        self._schema = schema
        self._made: DataFrame | None = None

    @classmethod
    def of(cls, frame: DataFrame) -> Rows:
        return cls(lambda: frame)

    @property
    def schema(self) -> StructType:
        if self._schema is None:
            self._schema = self.frame.schema
        return self._schema

    @property
    def frame(self) -> DataFrame:
        if self._made is None:
            self._made = self._make()
        return self._made

    @property
    def types(self) -> dict[str, DataType]:
        return {each.name: each.dataType for each in self.schema}
