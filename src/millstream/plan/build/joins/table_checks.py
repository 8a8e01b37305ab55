"""What a join with a table cannot do, with the reason and the way out."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlglot import exp

from millstream.errors import PlanError, PropertyError
from millstream.plan.build.joins.left_input import LeftInput
from millstream.plan.build.joins.options import JoinOptions
from millstream.plan.build.joins.salt import reject_salt
from millstream.plan.expressions import Expression
from millstream.plan.nodes import Broadcast, ReferenceTable
from millstream.plan.reject import place_of
from millstream.plan.resolve.expressions import ExpressionReader
from millstream.values import JoinType


def reject_unsupported_join(table: ReferenceTable, options: JoinOptions) -> None:
    """Types of join that a table cannot serve, and clauses that mean nothing to it."""
    if options.how in (JoinType.RIGHT, JoinType.FULL):
        raise PlanError(
            "MS-PLAN-TABLE",
            f"a {options.how.upper()} JOIN asks for the rows of {table.name} that meet no row, and a "
            "row that meets them may always come.",
            fix="Write JOIN or LEFT JOIN.",
            place=options.place,
        )
    if options.clause.this.args.get("within"):
        raise PlanError(
            "MS-PLAN-WITHIN",
            f"WITHIN bounds times, and the table {table.name} has none.",
            fix="Leave it out.",
            place=options.place,
        )
    if options.is_only_join:
        reject_salt(options, "its rows stay where they are read")
    for name, item in options.properties.items():
        if name.endswith("_bound") and options.is_only_join:
            raise PropertyError(
                "MS-PROP-UNUSED",
                f"'{name}' bounds times, and the table {table.name} has none.",
                fix="Leave it out.",
                place=item.place,
            )


def reject_retractions(left: LeftInput, table: ReferenceTable, options: JoinOptions) -> None:
    """A row and its taking back must find the same."""
    access = table.access
    steady = isinstance(access, Broadcast) and not access.refreshed
    if steady or not left.retracts:
        return
    raise PlanError(
        "MS-PLAN-RETRACT",
        f"{left.name} takes rows back, and {table.name} may have changed by then, so another row "
        "would be taken back than was told.",
        fix=f"Join {table.name} in a query below, before rows are taken back, or hold it whole and "
        "read it once ('table.mode' = 'broadcast', no 'refresh.interval' and no 'refresh.on').",
        place=options.place,
    )


def reject_missing_table_key(
    keys: Mapping[str, Expression],
    across: Collection[exp.Expr],
    left: LeftInput,
    options: JoinOptions,
    on: ExpressionReader,
) -> None:
    if keys:
        return
    right, one = options.right, left.relations[0].display_sql("id")
    fix = f"Add an equality to ON, such as {one} = {right.refer(right.columns[0].name)}."
    place = options.place
    made = next((term for term in across if isinstance(term, exp.EQ)), None)
    if made is not None:
        fix = f"Compare a column of {right.alias} as it is; functions go to the other side."
        place = place_of(made, on.scope.text, options.place)
    raise PlanError(
        "MS-PLAN-NO-KEY", f"join of {left.name} and {right.name} has no key.", fix=fix, place=place
    )


def reject_multiple_matches(
    across: list[exp.Expr],
    equal: set[str],
    table: ReferenceTable,
    options: JoinOptions,
    on: ExpressionReader,
) -> None:
    """Of several rows of a key, predicates may let some through: an outer row would have to wait
    for all of them."""
    missing = [name for name in table.primary_key if name not in equal]
    if not across or (table.primary_key and not missing):
        return
    why = f"{table.name} has no primary key"
    fix = f"Declare PRIMARY KEY (…) in {table.name}"
    if missing:
        why = f"ON says nothing of {missing[0]}, which is part of its primary key"
        fix = f"Add an equality with {options.right.refer(missing[0])}"
    raise PlanError(
        "MS-PLAN-TABLE",
        f"ON of the {options.how.upper()} JOIN with {table.name} says more than keys and comparisons "
        f"with constants, and a row may find several rows there: {why}.",
        fix=f"{fix}, or write JOIN." if options.how is JoinType.LEFT else f"{fix}.",
        place=place_of(across[0], on.scope.text, options.place),
    )
