"""Tables that rows are looked up in, as they are at that moment."""

from __future__ import annotations

from dataclasses import dataclass, field

from millstream.errors import Place
from millstream.field_roles import Micros, Neither, OutputOnly, State
from millstream.plan.nodes.values import Column
from millstream.values import Lookup


@dataclass(frozen=True, slots=True)
class Broadcast:
    """A table that every worker holds whole. Unless it is refreshed, it is read once, when the job
    starts."""

    interval: OutputOnly[Micros | None] = None
    watch: OutputOnly[bool] = False  # read anew when its files change
    # read anew when `millstream refresh` asks for it, as the others are
    command: OutputOnly[bool] = False
    max_rows: Neither[int] = 5_000_000
    max_bytes: Neither[int] = 512 * 2**20

    @property
    def refreshed(self) -> bool:
        return self.interval is not None or self.watch or self.command


@dataclass(frozen=True, slots=True)
class ReferenceTable:
    """CREATE TABLE without event time: `access` says whether it is asked or held whole."""

    name: State[str]
    columns: OutputOnly[tuple[Column, ...]]
    primary_key: OutputOnly[tuple[str, ...]]
    connector: OutputOnly[str]  # file, memory; postgresql, sqlite
    options: Neither[tuple[tuple[str, str], ...]]
    access: OutputOnly[Lookup | Broadcast]
    dead_letter: OutputOnly[str | None] = None  # the sink of rows that it could not be asked for
    place: Neither[Place | None] = field(default=None, compare=False)

    def option(self, name: str, default: str = "") -> str:
        return dict(self.options).get(name, default)
