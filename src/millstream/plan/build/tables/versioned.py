"""CREATE TABLE as a stream of versions."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.errors import PlanError, PropertyError
from millstream.plan.build.connector_properties import check_statement
from millstream.plan.build.declarations import source_from
from millstream.plan.build.tables.reference import column_of
from millstream.plan.connectors import ConnectorRegistry, Role
from millstream.plan.nodes import Source
from millstream.sql.statements import CreateTable

_OF_OTHER_TABLES = ("lookup.", "refresh.", "broadcast.", "table.mode")


@dataclass(frozen=True, slots=True)
class Table:
    """A versioned table: a stream of rows, each in force from its own time on until the next of its
    primary key. `op` is the column that 'changelog.op' names."""

    source: Source
    primary_key: tuple[str, ...]
    op: str | None = None


def table_of(statement: CreateTable, registry: ConnectorRegistry) -> Table:
    connector = next((item for item in statement.properties if item.name == "connector"), None)
    spec = registry.get(connector.value.lower()) if connector else None
    if connector and spec and spec.has(Role.TABLE) and not spec.has(Role.SOURCE):
        raise PlanError(
            "MS-PLAN-TABLE",
            f"the table {statement.name} has versions, which come as a stream, and "
            f"'{connector.value}' has rows as they are now.",
            fix="Leave WATERMARK and 'changelog.op' out: rows are then looked up as they are.",
            place=connector.value_place,
        )
    checked = check_statement(statement, Role.SOURCE, registry)
    for name, item in checked.properties.items():
        if name.startswith(_OF_OTHER_TABLES):
            raise PropertyError(
                "MS-PROP-UNUSED",
                f"'{name}' is for a table that is looked up, and {statement.name} is versioned.",
                fix="Leave it out.",
                place=item.place,
            )
    given = checked.properties.get("changelog.op")
    return Table(
        source_from(statement, checked),
        tuple(column_of(name, statement) for name in statement.primary_key),
        column_of(given.value, statement, "'changelog.op'") if given else None,
    )
