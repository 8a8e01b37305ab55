"""Builds versioned tables: CREATE TABLE with event time, joined with FOR SYSTEM_TIME AS OF."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from millstream.errors import Place, PlanError, PropertyError
from millstream.plan.build.connector_properties import validate_properties
from millstream.plan.build.declarations import build_source_from
from millstream.plan.build.tables.reference import find_column
from millstream.plan.connectors import ConnectorRegistry, Role
from millstream.plan.nodes import ReferenceTable, Source
from millstream.plan.reject import is_proctime
from millstream.plan.resolve.scope import Relation
from millstream.sql.statements import CreateTable

_REFERENCE_TABLE_PROPERTIES = ("lookup.", "refresh.", "broadcast.", "table.mode")


@dataclass(frozen=True, slots=True)
class VersionedTable:
    """A versioned table: each row is valid from its event time until the next row of its key.

    `op` is the column that 'changelog.op' names."""

    source: Source
    primary_key: tuple[str, ...]
    op: str | None = None


def build_versioned_table(statement: CreateTable, registry: ConnectorRegistry) -> VersionedTable:
    connector = next((item for item in statement.properties if item.name == "connector"), None)
    spec = registry.get(connector.value.lower()) if connector else None
    if connector and spec and spec.has_role(Role.TABLE) and not spec.has_role(Role.SOURCE):
        raise PlanError(
            "MS-PLAN-TABLE",
            f"the table {statement.name} is versioned, and the connector "
            f"'{connector.value}' does not read a stream of versions.",
            fix="Remove WATERMARK and 'changelog.op' to join the current rows.",
            place=connector.value_place,
        )
    checked = validate_properties(statement, Role.SOURCE, registry)
    for name, item in checked.properties.items():
        if name.startswith(_REFERENCE_TABLE_PROPERTIES):
            raise PropertyError(
                "MS-PROP-UNUSED",
                f"'{name}' applies to a lookup or broadcast table, and {statement.name} is "
                "versioned.",
                fix="Remove it.",
                place=item.place,
            )
    given = checked.properties.get("changelog.op")
    return VersionedTable(
        build_source_from(statement, checked),
        tuple(find_column(name, statement) for name in statement.primary_key),
        find_column(given.value, statement, "'changelog.op'") if given else None,
    )


def build_table_relation(
    table: ReferenceTable, alias: str, version: exp.Expr | None, place: Place | None
) -> Relation:
    """Returns a reference table as a relation: a source without event time."""
    if version is not None and not is_proctime(version):
        raise PlanError(
            "MS-PLAN-NO-WATERMARK",
            f"{table.name} has no WATERMARK, so only its current rows are known.",
            fix="Write FOR SYSTEM_TIME AS OF PROCTIME(), or declare WATERMARK FOR column AS column "
            f"in {table.name} to make its rows versions.",
            place=place,
        )
    node = Source(table.name, table.columns, connector="table", place=table.place)
    return Relation(alias, table.name, node, place)


def reject_current_version(
    version: exp.Expr, name: str, table: VersionedTable | None, place: Place | None
) -> None:
    """Rejects AS OF PROCTIME() for a versioned table or a stream."""
    if not is_proctime(version):
        return
    if table is not None:
        raise PlanError(
            "MS-PLAN-TABLE",
            f"the table {name} is versioned, and its versions are valid at event times.",
            fix="Write FOR SYSTEM_TIME AS OF with the event time of the other side.",
            place=place,
        )
    raise PlanError(
        "MS-PLAN-TABLE",
        f"AS OF PROCTIME() reads the current rows of a table, and {name} is a stream.",
        fix=f"Declare {name} as a TABLE without WATERMARK, or write FOR SYSTEM_TIME AS OF with the "
        "event time of the other side.",
        place=place,
    )
