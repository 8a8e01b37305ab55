"""Builds the columns of a source from text, operations, positions and times of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millstream.connectors.lookup.types import spark_name
from millstream.connectors.postgresql.pgoutput import Ints, Ops
from millstream.connectors.postgresql.source_names import OP
from millstream.connectors.postgresql.source_table import SourceTable
from millstream.connectors.postgresql.target import Target
from millstream.connectors.postgresql.text_values import UnreadableTextError, typed
from millstream.connectors.work_items import CHANGE
from millstream.errors import RunError
from millstream.temporal import CHANGE_KINDS

_OPS = np.array(CHANGE_KINDS)


@dataclass(frozen=True, slots=True)
class SourceColumns:
    """The columns that a query reads. `wanted` has their types by name: declared columns, system
    columns, `_OP` and CHANGE."""

    target: Target
    table: SourceTable
    wanted: Mapping[str, pa.DataType]

    @property
    def database_names(self) -> list[str]:
        """The columns to read from the database."""
        found = (self.table.columns[name].name for name in self._declared)
        return list(dict.fromkeys(found))

    @property
    def _declared(self) -> list[str]:
        return [name for name in self.wanted if name in self.table.columns]

    def rows(
        self, texts: Mapping[str, pa.Array], ops: Ops, lsns: Ints, times: npt.NDArray[np.int64]
    ) -> pa.RecordBatch:
        """Returns rows from columns of text by their names in the database."""
        found = []
        for name, kind in self.wanted.items():
            if name in self.table.columns:
                found.append(self._typed(name, texts[self.table.columns[name].name], kind))
            elif name == CHANGE:
                found.append(pa.array(ops, pa.int8()))
            elif name.upper() == OP:
                found.append(pa.array(_OPS[ops]).cast(kind))
            elif name.lower() == "_offset":
                found.append(pa.array(lsns, pa.int64()).cast(kind))
            else:
                found.append(pa.array(times, pa.int64()).cast(pa.timestamp("us", "UTC")).cast(kind))
        if not found:
            return pa.RecordBatch.from_struct_array(pa.array([{}] * ops.size, pa.struct([])))
        return pa.RecordBatch.from_arrays(found, [*self.wanted])

    def _typed(self, name: str, text: pa.Array, kind: pa.DataType) -> pa.Array:
        try:
            return typed(text, kind)
        except UnreadableTextError as error:
            raise RunError(
                "MS-RUN-POSTGRESQL-VALUE",
                f"{self.target.owner}: column {name} of {self.table.text} has the value "
                f"{error.value[:100]!r}, which is not {spark_name(kind)}.",
                fix=f"Declare {name} STRING and convert it in a query, or correct the row.",
            ) from None
