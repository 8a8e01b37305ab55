"""What follows from a join with a table: how the table is asked or held, and what comes out."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.plan.kinds.distribution import Strategy
from millstream.plan.kinds.stream_names import stream_name
from millstream.plan.nodes import Broadcast, TableJoin
from millstream.temporal import format_span
from millstream.values import Condition, JoinType, Lookup, OnError


@dataclass(frozen=True, slots=True)
class TableFacts:
    """`access` are facts of how the table is read, each under its label."""

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
        asked = _lookup_access(access, join.table.dead_letter)
        return TableFacts(join, Strategy("passthrough"), asked, _emits(join))
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
            return f"{column} {condition.op} {values[0]}"


def _literal(value: int | str | bool) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _lookup_access(access: Lookup, letters: str | None) -> tuple[tuple[str, str], ...]:
    cache = "none: every batch asks anew"
    if access.cache_rows:
        cache = f"{access.cache_rows} keys a worker, each for {format_span(access.cache_ttl)}"
    asks = f"up to {access.batch} keys a question, {access.capacity} questions at a time a worker"
    tries = "no retry" if not access.retries else f"{access.retries} retries, each after a pause"
    return (
        ("asks", asks),
        ("cache", cache),
        ("timeout", f"{format_span(access.timeout)} a question, then {tries}"),
        ("on error", _ON_ERROR[access.on_error].format(letters=letters or "the dead letters")),
    )


_ON_ERROR = {
    OnError.FAIL: "fail: the job stops",
    OnError.NULL: "null: the row goes on as if it had found nothing",
    OnError.SIDE_OUTPUT: "side_output: the row goes to {letters}, with the reason",
}


def _broadcast_access(access: Broadcast) -> tuple[tuple[str, str], ...]:
    read = "once, when the job starts"
    if access.refreshed:
        when = [f"every {format_span(access.interval)}"] if access.interval is not None else []
        when += ["when its files change"] if access.watch else []
        often = f"{', '.join(when)} or " if when else ""
        read = f"when the job starts; again {often}when `millstream refresh` asks for it"
    size = f"{access.max_rows} rows or {access.max_bytes} bytes, then the job stops"
    return (("read", read), ("version", "a row meets that of its micro-batch"), ("limit", size))


def _emits(join: TableJoin) -> tuple[str, ...]:
    row, table = f"a row of {stream_name(join.left)} at once", join.table.name
    match join.how:
        case JoinType.SEMI:
            return (f"{row} if {table} has its key",)
        case JoinType.ANTI:
            return (f"{row} if {table} has not its key",)
        case JoinType.LEFT:
            return (f"{row} with each row of {table} that has its key, with NULLs if none has",)
        case _:
            return (f"{row} with each row of {table} that has its key",)
