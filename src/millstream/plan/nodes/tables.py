"""Tables that rows are looked up in, as they are at that moment."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from millstream.errors import Place
from millstream.plan.nodes.values import Column
from millstream.temporal import MICROS


class OnError(StrEnum):
    """What becomes of a row whose table cannot be asked, all retries made."""

    FAIL = "fail"
    NULL = "null"  # it goes on as if it had found nothing
    SIDE_OUTPUT = "side_output"  # to the dead letters, with the reason


@dataclass(frozen=True, slots=True)
class Lookup:
    """How a database is asked."""

    cache_rows: int = 100_000  # keys a worker remembers; 0: none
    cache_ttl: int = 60 * MICROS["s"]
    capacity: int = 4  # questions in flight, a worker
    batch: int = 1_000  # keys a question
    timeout: int = 10 * MICROS["s"]
    retries: int = 10
    on_error: OnError = OnError.FAIL


@dataclass(frozen=True, slots=True)
class Broadcast:
    """A table that every worker holds whole. Unless it is refreshed, it is read once, when the job
    starts."""

    interval: int | None = None
    watch: bool = False  # read anew when its files change
    command: bool = False  # read anew when `millstream refresh` asks for it, as the others are
    max_rows: int = 5_000_000
    max_bytes: int = 512 * 2**20

    @property
    def refreshed(self) -> bool:
        return self.interval is not None or self.watch or self.command


@dataclass(frozen=True, slots=True)
class Reference:
    """CREATE TABLE without event time: `access` says whether it is asked or held whole."""

    name: str
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...]
    connector: str  # file, memory; postgresql, sqlite
    options: tuple[tuple[str, str], ...]
    access: Lookup | Broadcast
    dead_letter: str | None = None  # the sink of rows that it could not be asked for
    place: Place | None = field(default=None, compare=False)

    def option(self, name: str, default: str = "") -> str:
        return dict(self.options).get(name, default)


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison of a table's column with constants, which a database can decide as Spark does:
    whole numbers, texts and booleans. `in` has one value or more, the others one; `null` and
    `not null` none."""

    column: str
    op: Literal["=", "<>", "<", "<=", ">", ">=", "in", "null", "not null"]
    values: tuple[int | str | bool, ...] = ()
