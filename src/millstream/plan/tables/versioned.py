"""CREATE TABLE as a stream of versions."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.errors import PlanError, PropertyError
from millstream.plan.declare import source_from
from millstream.plan.nodes import Source
from millstream.plan.tables.references import column_of
from millstream.sql.properties import Where, check
from millstream.sql.statements import CreateTable

_OF_OTHER_TABLES = ("lookup.", "refresh.", "broadcast.", "table.mode")
_DATABASES = ("jdbc", "postgresql", "sqlite")


@dataclass(frozen=True, slots=True)
class Table:
    """A versioned table: a stream of rows, each in force from its own time on until the next of its
    primary key. `op` is the column that 'changelog.op' names."""

    source: Source
    primary_key: tuple[str, ...]
    op: str | None = None


def table_of(statement: CreateTable) -> Table:
    properties = check(Where.TABLE, statement.properties)
    for name, item in properties.items():
        if name.startswith(_OF_OTHER_TABLES):
            raise PropertyError(
                "MS-PROP-UNUSED",
                f"'{name}' is for a table that is looked up, and {statement.name} is versioned.",
                fix="Leave it out.",
                place=item.place,
            )
    connector = properties.get("connector")
    if connector is not None and connector.value.lower() in _DATABASES:
        raise PlanError(
            "MS-PLAN-TABLE",
            f"the table {statement.name} has versions, which come as a stream, and "
            f"'{connector.value}' has rows as they are now.",
            fix="Leave WATERMARK and 'changelog.op' out: rows are then looked up as they are.",
            place=connector.value_place,
        )
    given = properties.pop("changelog.op", None)
    return Table(
        source_from(statement, properties),
        tuple(column_of(name, statement) for name in statement.primary_key),
        column_of(given.value, statement, "'changelog.op'") if given else None,
    )
