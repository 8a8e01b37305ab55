"""Derives the facts of a table join: how the table is read, and what the join emits."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.plan.kinds.base import Strategy
from millstream.plan.kinds.stream_names import stream_name
from millstream.plan.nodes import Broadcast, TableJoin
from millstream.temporal import format_span
from millstream.values import OR_NULL, Condition, JoinType, Lookup, OnError


@dataclass(frozen=True, slots=True)
class TableFacts:
    """The facts of a table join. `access` are labelled texts about how the table is read."""

    join: TableJoin
    strategy: Strategy
    access: tuple[tuple[str, str], ...]
    emits: tuple[str, ...]

    @property
    def key(self) -> str:
        alias = self.join.alias
        return " and ".join(f"{key.left} = {alias}.{key.right}" for key in self.join.keys)

    @property
    def conditions(self) -> str:
        return " and ".join(condition_text(each) for each in self.join.conditions)


def derive_table_facts(join: TableJoin) -> TableFacts:
    access = join.table.access
    if isinstance(access, Lookup):
        lookup = _lookup_access(access, join.table.dead_letter)
        return TableFacts(join, Strategy("passthrough"), lookup, _emits(join))
    strategy = Strategy("broadcast", join.table.name)
    return TableFacts(join, strategy, _broadcast_access(access), _emits(join))


def condition_text(condition: Condition) -> str:
    column, values = condition.column, [_literal(value) for value in condition.values]
    match condition.op:
        case "null":
            return f"{column} IS NULL"
        case "not null":
            return f"{column} IS NOT NULL"
        case "in":
            return f"{column} IN ({', '.join(values)})"
        case _:
            op = condition.op.removeprefix(OR_NULL)
            compared = f"{column} {op} {values[0]}"
            return compared if op == condition.op else f"({column} IS NULL OR {compared})"


def _literal(value: int | str | bool) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _lookup_access(access: Lookup, dead_letter: str | None) -> tuple[tuple[str, str], ...]:
    cache = "none: every batch queries the database"
    if access.cache_rows:
        cache = f"{access.cache_rows} keys per worker, for {format_span(access.cache_ttl)} each"
    lookup = (
        f"up to {access.batch} keys per request, {access.capacity} requests at a time per worker"
    )
    retries = "no retry" if not access.retries else f"{access.retries} retries with pauses"
    return (
        ("lookup", lookup),
        ("cache", cache),
        ("timeout", f"{format_span(access.timeout)} per request, then {retries}"),
        ("on error", _ON_ERROR[access.on_error].format(sink=dead_letter or "the dead letters")),
    )


_ON_ERROR = {
    OnError.FAIL: "fail: the job stops",
    OnError.NULL: "null: the row is treated as unmatched",
    OnError.SIDE_OUTPUT: "side_output: the row goes to {sink} with the reason",
}


def _broadcast_access(access: Broadcast) -> tuple[tuple[str, str], ...]:
    read = "once, when the job starts"
    if access.refreshed:
        when = [f"every {format_span(access.interval)}"] if access.interval is not None else []
        when += ["when its files change"] if access.watch else []
        automatic = f"{', '.join(when)} or " if when else ""
        read = f"when the job starts; again {automatic}on `millstream refresh`"
    size = f"{access.max_rows} rows or {access.max_bytes} bytes, then the job stops"
    version = "all rows of a micro-batch see the same version"
    return (("read", read), ("version", version), ("limit", size))


def _emits(join: TableJoin) -> tuple[str, ...]:
    row, table = f"each row of {stream_name(join.left)} immediately", join.table.name
    match join.how:
        case JoinType.SEMI:
            return (f"{row}, if {table} has a match",)
        case JoinType.ANTI:
            return (f"{row}, if {table} has no match",)
        case JoinType.LEFT:
            return (f"{row}, once per match in {table}, with NULLs if there is none",)
        case _:
            return (f"{row}, once per match in {table}",)
