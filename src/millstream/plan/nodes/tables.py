"""Tables that rows are looked up in, as they are at that moment."""

from __future__ import annotations

from dataclasses import dataclass, field

from millstream.errors import Place
from millstream.plan.nodes.values import Column
from millstream.values import Lookup


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
