"""Finds or creates the table of a sink, and checks that it can store the sink's rows."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform

from millstream.connectors.iceberg.arrow_types import arrow_schema
from millstream.connectors.iceberg.catalog import CatalogTable
from millstream.connectors.iceberg.failures import described, feature_error, table_name
from millstream.connectors.lake.columns import check_partition_types, match_columns, spelling
from millstream.connectors.lake.table import TableColumns
from millstream.connectors.paths import to_local_path


def prepare_table(
    target: CatalogTable, columns: pa.Schema, partitions: Sequence[str], *, create: bool
) -> TableColumns:
    """Finds or creates the table; raises RunError if it cannot store the rows."""
    catalog = target.open_catalog()
    name = table_name(target.owner, target.table)
    with described(target.owner, target.table):
        if not catalog.table_exists(target.table):
            if not create:
                raise name.error(
                    f"the catalog has no table {target.table}",
                    "Correct 'table', create the table, or remove 'create.table'.",
                )
            own = [spelling(name, each, columns).name for each in partitions]
            check_partition_types(target.owner, columns, own)
            catalog.create_namespace_if_not_exists(target.table.rpartition(".")[0])
            with (
                catalog.create_table_transaction(target.table, columns) as transaction,
                transaction.update_spec() as spec,
            ):
                for each in own:
                    spec.add_identity(each)
        table = catalog.load_table(target.table)
    return _check(target, table, columns, partitions)


def _check(
    target: CatalogTable, table: Table, columns: pa.Schema, partitions: Sequence[str]
) -> TableColumns:
    name = table_name(target.owner, target.table)
    known = arrow_schema(table)
    stored = match_columns(name, columns, known)
    existing = partition_columns(target, table)
    given = tuple(spelling(name, each, known).name for each in partitions)
    if given and given != existing:
        raise name.error(
            f"{target.table} is partitioned by {', '.join(existing) or 'no column'}, not by "
            f"{', '.join(given)}",
            "Correct 'partition.by', or write to another table.",
        )
    for each in existing:
        spelling(name, each, stored)
    check_partition_types(target.owner, known, existing)
    return TableColumns(
        name, data_folder(table), tuple(columns.names), stored, existing, has_partitions=True
    )


def partition_columns(target: CatalogTable, table: Table) -> tuple[str, ...]:
    """Returns the columns by whose values the table is partitioned."""
    found = []
    for field in table.spec().fields:
        column = table.schema().find_column_name(field.source_id)
        if not isinstance(field.transform, IdentityTransform) or column is None:
            raise feature_error(
                target.owner,
                target.table,
                f"is partitioned by {field.transform} of {column}",
                "Write to a table that is partitioned by values of columns, or not at all.",
            )
        found.append(column)
    return tuple(found)


def data_folder(table: Table) -> str:
    """Returns where the data files of a table are."""
    folder = table.properties.get("write.data.path", f"{table.location().rstrip('/')}/data")
    return to_local_path(folder) if folder.startswith("file:") else folder
