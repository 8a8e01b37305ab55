"""Rejects joins with a reference table that are not supported."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlglot import exp

from millstream.errors import PlanError, PropertyError
from millstream.plan.build.joins.left_input import LeftInput
from millstream.plan.build.joins.options import JoinOptions
from millstream.plan.build.joins.salt import reject_salt
from millstream.plan.build.tables.datasets import NAMESPACE
from millstream.plan.expressions import Expression
from millstream.plan.nodes import Broadcast, ReferenceTable
from millstream.plan.reject import place_of
from millstream.plan.resolve.expressions import ExpressionReader
from millstream.values import JoinType


def reject_unsupported_join(table: ReferenceTable, options: JoinOptions) -> None:
    """Rejects join types and clauses that a table join does not support."""
    if options.how in (JoinType.RIGHT, JoinType.FULL):
        raise PlanError(
            "MS-PLAN-TABLE",
            f"a {options.how.upper()} JOIN emits unmatched rows of {table.name}, and a matching "
            "row "
            "may still arrive at any time.",
            fix="Write JOIN or LEFT JOIN.",
            place=options.place,
        )
    if options.clause.this.args.get("within"):
        raise PlanError(
            "MS-PLAN-WITHIN",
            f"WITHIN bounds event times, and the table {table.name} has none.",
            fix="Remove it.",
            place=options.place,
        )
    if options.is_only_join:
        reject_salt(options, "a table join does not shuffle rows")
    for name, item in options.properties.items():
        if name.endswith("_bound") and options.is_only_join:
            raise PropertyError(
                "MS-PROP-UNUSED",
                f"'{name}' bounds event times, and the table {table.name} has none.",
                fix="Remove it.",
                place=item.place,
            )


def reject_retractions(left: LeftInput, table: ReferenceTable, options: JoinOptions) -> None:
    """Rejects retractions: a row and its retraction must match the same rows of the table."""
    access = table.access
    is_read_once = isinstance(access, Broadcast) and not access.refreshed
    if is_read_once or not left.retracts:
        return
    raise PlanError(
        "MS-PLAN-RETRACT",
        f"{left.name} retracts rows, and {table.name} may have changed since the row was joined, "
        "so the retraction would not match the emitted row.",
        fix=f"Join {table.name} in a subquery without retractions, or broadcast it and read it "
        "once "
        "('table.mode' = 'broadcast', without 'refresh.interval' and 'refresh.on').",
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
        fix = f"Compare a column of {right.alias}, and apply functions only to the other side."
        place = place_of(made, on.scope.text, options.place)
    null_safe = next((term for term in across if isinstance(term, exp.NullSafeEQ)), None)
    if null_safe is not None:
        fix = "Write = instead of <=>: a lookup does not find NULL keys."
        place = place_of(null_safe, on.scope.text, options.place)
    raise PlanError(
        "MS-PLAN-NO-KEY",
        f"the join of {left.name} and {right.name} has no key.",
        fix=fix,
        place=place,
    )


def reject_multiple_matches(
    across: list[exp.Expr],
    equal: set[str],
    table: ReferenceTable,
    options: JoinOptions,
    on: ExpressionReader,
) -> None:
    """Rejects predicates of pairs in an outer join if a row can match several rows of the table."""
    missing = [name for name in table.primary_key if name not in equal]
    if not across or (table.primary_key and not missing):
        return
    why = f"{table.name} has no primary key"
    fix = f"Declare PRIMARY KEY (…) in {table.name}"
    if table.name.upper().startswith(f"{NAMESPACE}."):
        fix = "Declare a table with PRIMARY KEY (…) and 'catalog.dataset' in CREATE TABLE"
    if missing:
        why = f"ON has no equality with {missing[0]}, which is part of its primary key"
        fix = f"Add an equality with {options.right.refer(missing[0])}"
    raise PlanError(
        "MS-PLAN-TABLE",
        f"ON of the {options.how.upper()} JOIN with {table.name} has a predicate that is neither a "
        f"key nor a comparison with a constant, and a row may match several rows: {why}.",
        fix=f"{fix}, or write JOIN." if options.how is JoinType.LEFT else f"{fix}.",
        place=place_of(across[0], on.scope.text, options.place),
    )
