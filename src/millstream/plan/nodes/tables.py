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
    """A table that every worker holds whole. Without an interval and not watched, it is read once,
    when the job starts; `millstream refresh` asks for a new version at any time."""

    interval: int | None = None
    watch: bool = False  # read anew when its files change
    max_rows: int = 5_000_000
    max_bytes: int = 512 * 2**20


@dataclass(frozen=True, slots=True)
class Reference:
    """CREATE TABLE without event time: `access` says whether it is asked or held whole."""

    name: str
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...]
    connector: str  # file, memory; postgresql, sqlite
    options: tuple[tuple[str, str], ...]
    access: Lookup | Broadcast
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
