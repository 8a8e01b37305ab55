"""Arrow tables as pandas frames, which Spark requires, without a Python object for each value."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType


class _ArrowSeries(pd.Series):  # type: ignore[misc]
    """A column in Arrow's memory. Spark applies a converter to every value of a nested type, which
    is not needed here."""

    def apply(self, *_: Any, **__: Any) -> _ArrowSeries:
        return self


class ArrowFrame(pd.DataFrame):  # type: ignore[misc]
    """A pandas frame over the memory of an Arrow table."""

    @classmethod
    def of(cls, table: pa.Table) -> ArrowFrame:
        return cls(table.combine_chunks().to_pandas(types_mapper=pd.ArrowDtype))

    @property
    def _constructor(self) -> type[ArrowFrame]:
        return ArrowFrame

    @property
    def _constructor_sliced(self) -> type[_ArrowSeries]:
        return _ArrowSeries


def keeps_memory() -> bool:
    """Whether Spark's workers return the memory of such a frame, not a copy made value by value."""
    from pyspark.sql.conversion import PandasToArrowConversion

    table = pa.table({"plain": pa.array([1], pa.int64()), "nested": pa.array([["a"]])})
    fields = [StructField("plain", LongType()), StructField("nested", ArrayType(StringType()))]
    frame = ArrowFrame.of(table)
    batch = PandasToArrowConversion.convert(
        [frame],
        StructType([StructField("rows", StructType(fields))]),
        timezone="UTC",
        arrow_cast=True,
        assign_cols_by_name=True,
    )
    columns = [frame[name].array.__arrow_array__() for name in frame]
    return [*map(_address, columns)] == [*map(_address, batch.column(0).flatten())]


def _address(values: pa.Array | pa.ChunkedArray) -> int:
    """The memory address of the innermost values of a column, such as the strings of lists."""
    chunk = values.chunk(0) if isinstance(values, pa.ChunkedArray) else values
    return int(chunk.buffers()[-1].address)
