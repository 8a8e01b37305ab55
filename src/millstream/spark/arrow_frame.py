"""Arrow tables as the pandas frames that Spark asks for, without a Python object a value."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa


class _ArrowSeries(pd.Series):  # type: ignore[misc]
    """A column that is in Arrow's memory already.

    Spark applies a converter to every value of a nested type; here there is nothing to convert.
    """

    def apply(self, *_: Any, **__: Any) -> _ArrowSeries:
        return self


class ArrowFrame(pd.DataFrame):  # type: ignore[misc]
    @classmethod
    def of(cls, table: pa.Table) -> ArrowFrame:
        return cls(table.combine_chunks().to_pandas(types_mapper=pd.ArrowDtype))

    @property
    def _constructor(self) -> type[ArrowFrame]:
        return ArrowFrame

    @property
    def _constructor_sliced(self) -> type[_ArrowSeries]:
        return _ArrowSeries
