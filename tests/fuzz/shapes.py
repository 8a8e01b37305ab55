"""The steps of a random pipeline, each in our SQL and in DuckDB's over the whole input."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.fuzz.streams import COLUMNS

FOREVER = "WITH ('state.ttl' = 'forever')"


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream that a step can read: its columns and types, and which of them is the event time."""

    name: str
    columns: Mapping[str, str]
    time: str | None = None
    source: bool = False
    changes: bool = False
    window: tuple[str, str] | None = None  # columns with the start and end of its windows

    def of(self, *types: str) -> list[str]:
        return [name for name, type_ in self.columns.items() if type_ in types]


@dataclass(frozen=True, slots=True)
class Step:
    """A query in both dialects, and the stream that it makes."""

    ours: str
    oracle: str
    columns: Mapping[str, str]
    time: str | None = None
    changes: bool = False
    window: tuple[str, str] | None = None
    grows: bool = (
        False  # with more input there are more rows: those of a part are among those of all
    )


@dataclass(slots=True)
class Select:
    """The select list of a step: each output under a name of its own, in both dialects."""

    ours: list[str] = field(default_factory=list)
    oracle: list[str] = field(default_factory=list)
    columns: dict[str, str] = field(default_factory=dict)

    def add(self, type_: str, ours: str, oracle: str | None = None) -> str:
        name = f"c{len(self.columns)}"
        self.ours.append(f"{ours} AS {name}")
        self.oracle.append(f"{oracle or ours} AS {name}")
        self.columns[name] = type_
        return name


def source(name: str) -> Stream:
    return Stream(name, COLUMNS, "t", source=True)


def value(rng: random.Random, stream: Stream, alias: str, *types: str) -> tuple[str, str]:
    """A column or an expression over one, that means the same in both dialects, and its type."""
    name = rng.choice(stream.of(*types) if types else list(stream.columns))
    type_ = stream.columns[name]
    column = f"{alias}.{name}" if alias else name
    if rng.random() < 0.6:
        return column, type_
    made = {
        "int": [f"coalesce({column}, 7)", f"{column} % 3", f"CASE WHEN {column} > 0 THEN 1 END"],
        "double": [f"coalesce({column}, 1.5D)", f"CASE WHEN {column} > 0 THEN {column} END"],
        "decimal": [f"coalesce({column}, CAST(5 AS DECIMAL(10, 2)))"],
        "string": [f"upper({column})", f"{column} || 'x'", f"coalesce({column}, '-')"],
        "bool": [f"(NOT {column})", f"({column} IS NULL)"],
    }.get(type_, [column])
    return rng.choice(made), type_


def for_oracle(text: str) -> str:
    return text.replace("1.5D", "CAST(1.5 AS DOUBLE)")


def condition(rng: random.Random, stream: Stream, alias: str = "") -> str:
    dot = f"{alias}." if alias else ""
    candidates = [
        *(f"{dot}{name} > 0" for name in stream.of("int", "double", "decimal")),
        *(f"{dot}{name} <> 'a'" for name in stream.of("string")),
        *(f"{dot}{name}" for name in stream.of("bool")),
        *(f"{dot}{name} IS NOT NULL" for name in stream.columns),
    ]
    return rng.choice(candidates)


def picked(rng: random.Random, stream: Stream, count: int) -> list[str]:
    names = list(stream.columns)
    return rng.sample(names, min(count, len(names)))
