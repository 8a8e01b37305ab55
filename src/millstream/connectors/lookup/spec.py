"""The specification of a lookup: the database table, its keys and columns, and the options."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from millstream.values import Condition, Lookup


@dataclass(frozen=True, slots=True)
class LookupSpec:
    """Specifies a lookup. Picklable and hashable; `repr` omits the options, which may contain a
    password."""

    table: str  # its name in the job
    connector: str  # postgresql, sqlite
    options: tuple[tuple[str, str], ...] = field(repr=False)
    keys: tuple[str, ...]
    columns: tuple[str, ...]  # what is read; keys may be among them
    schema: pa.Schema  # of keys and columns, as CREATE TABLE declares them
    conditions: tuple[Condition, ...] = ()  # evaluated by the database
    access: Lookup = field(default_factory=Lookup)
    store: str = ""  # opens the database, as "module:function"; by default that of the connector

    def option(self, name: str, default: str = "") -> str:
        return dict(self.options).get(name, default)

    @property
    def name(self) -> str:
        """The table's name in the database."""
        return self.option("table", self.table)

    @property
    def read(self) -> tuple[str, ...]:
        """The columns of a query: the keys, which assign rows to keys, and the other columns."""
        return *self.keys, *(name for name in self.columns if name not in self.keys)

    @property
    def timeout(self) -> float:
        """The timeout of one query, in seconds."""
        return self.access.timeout / 1e6
