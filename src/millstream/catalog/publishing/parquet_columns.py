"""Reads a few columns of a Parquet file, in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from millstream.catalog.model import Table
from millstream.catalog.types import arrow_type
from millstream.connectors.paths import filesystem
from millstream.errors import CatalogError


def read_columns(path: str, table: Table, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yields columns of a table under their declared names and types, from a file whose schema has
    been checked. Raises MS-CATALOG-ROWS if the file cannot be read."""
    types = {column.name: arrow_type(column.type) for column in table.all_columns}
    try:
        system, name = filesystem(path)
        with system.open_input_file(name) as opened:
            file = pq.ParquetFile(opened)
            spelt = {each.lower(): each for each in file.schema_arrow.names}
            stored = [spelt[each.lower()] for each in names]
            for batch in file.iter_batches(columns=stored):
                arrays = [
                    batch.column(own).cast(types[each])
                    for own, each in zip(stored, names, strict=True)
                ]
                yield pa.record_batch(arrays, names=list(names))
    except (pa.ArrowInvalid, OSError) as error:
        why = str(error).splitlines()[0].rstrip(".")
        raise CatalogError(
            "MS-CATALOG-ROWS", f"{path} cannot be read: {why}.", fix="Write the file again."
        ) from None
