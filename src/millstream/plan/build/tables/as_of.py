"""FOR SYSTEM_TIME AS OF, by what stands before it: a table as it is now, or one with versions."""

from __future__ import annotations

from sqlglot import exp

from millstream.errors import Place, PlanError
from millstream.plan.build.tables.versioned import Table
from millstream.plan.nodes import Reference, Source
from millstream.plan.reject import is_now
from millstream.plan.resolve.scope import Relation


def table_relation(
    table: Reference, alias: str, version: exp.Expr | None, place: Place | None
) -> Relation:
    """A table in FROM. It is no stream: a source without event time stands for its columns."""
    if version is not None and not is_now(version):
        raise PlanError(
            "MS-PLAN-NO-WATERMARK",
            f"{table.name} has no WATERMARK, so nobody knows how it was at another time than now.",
            fix="Write FOR SYSTEM_TIME AS OF PROCTIME(), or declare WATERMARK FOR column AS column "
            f"in {table.name}, and its rows are versions.",
            place=place,
        )
    node = Source(table.name, table.columns, connector="table", place=table.place)
    return Relation(alias, table.name, node, place)


def refuse_now(version: exp.Expr, name: str, table: Table | None, place: Place | None) -> None:
    """Refuse AS OF PROCTIME() of what has no rows that are in force now."""
    if not is_now(version):
        return
    if table is not None:
        raise PlanError(
            "MS-PLAN-TABLE",
            f"the table {name} has versions, and which is in force is known of a row's own time.",
            fix="Write FOR SYSTEM_TIME AS OF and the event time of the other side.",
            place=place,
        )
    raise PlanError(
        "MS-PLAN-TABLE",
        f"AS OF PROCTIME() asks a table as it is now, and {name} is a stream.",
        fix=f"Declare {name} as a TABLE without WATERMARK, or write FOR SYSTEM_TIME AS OF and the "
        "event time of the other side.",
        place=place,
    )
