"""Reference tables: tables that rows of a stream are joined with in processing time."""

from __future__ import annotations

from dataclasses import dataclass, field

from millstream.errors import Place
from millstream.field_roles import Micros, Neither, OutputOnly, State
from millstream.plan.nodes.values import Column
from millstream.values import Lookup


@dataclass(frozen=True, slots=True)
class Broadcast:
    """Access to a table that every worker has a copy of.

    Without a refresh it is read once, when the job starts.
    """

    interval: OutputOnly[Micros | None] = None
    watch: OutputOnly[bool] = False  # read again when its files change
    # read again only on `millstream refresh`
    command: OutputOnly[bool] = False
    max_rows: Neither[int] = 5_000_000
    max_bytes: Neither[int] = 512 * 2**20

    @property
    def refreshed(self) -> bool:
        return self.interval is not None or self.watch or self.command


@dataclass(frozen=True, slots=True)
class ReferenceTable:
    """A CREATE TABLE without event time. `access` is a lookup by key or a broadcast."""

    name: State[str]
    columns: OutputOnly[tuple[Column, ...]]
    primary_key: OutputOnly[tuple[str, ...]]
    connector: OutputOnly[str]  # file, memory; postgresql, sqlite
    options: Neither[tuple[tuple[str, str], ...]]
    access: OutputOnly[Lookup | Broadcast]
    dead_letter: OutputOnly[str | None] = None  # the sink of rows whose lookup failed
    place: Neither[Place | None] = field(default=None, compare=False)

    def option(self, name: str, default: str = "") -> str:
        return dict(self.options).get(name, default)
