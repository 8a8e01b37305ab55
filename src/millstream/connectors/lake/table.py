"""A table of data files, as sinks and sources name it in errors and describe it to executors."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from millstream.errors import RunError


@dataclass(frozen=True, slots=True)
class TableName:
    """A table that a sink or source uses.

    Attributes:
        owner: The sink or source, such as `sink totals`.
        name: The path or name of the table.
        code: The error code of a table that is missing or does not fit.
    """

    owner: str
    name: str
    code: str

    def error(self, cause: str, fix: str) -> RunError:
        return RunError(self.code, f"{self.owner}: {cause}.", fix=fix)


@dataclass(frozen=True, slots=True)
class TableColumns:
    """The columns that a sink writes to a table; it is sent to executors.

    Attributes:
        folder: The folder of the data files.
        names: The columns in the rows of the query.
        columns: The same columns as the table spells and types them.
        partitions: The partition columns, as the table spells them.
        key: The columns that identify a row; none: rows are appended.
        has_partitions: Whether data files contain the partition columns.
    """

    table: TableName
    folder: str
    names: tuple[str, ...]
    columns: pa.Schema
    partitions: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    has_partitions: bool = False
