"""What `explain` says of a job, as a plain value that `plan.explain` renders as text or JSON.

    Job ── Query ──┬── outputs: Section (a sink)
                   └── root: Section ── Child ── Section …

The kind of an operator describes its own facts; the walker in `plan.explain` puts them together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Line = tuple[str, str]  # label, text


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact: `data` under `name` in JSON, `lines` in text. Without a name it is in text only,
    without lines in JSON only."""

    name: str | None
    data: Any = None
    lines: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """A node, table or sink with its facts and what it reads. A section without a title is one
    level in JSON only."""

    title: str
    facts: tuple[Fact, ...] = ()
    children: tuple[Child, ...] = ()


@dataclass(frozen=True, slots=True)
class Child:
    """The sections under one field of JSON, a list if there may be several."""

    field: str
    sections: tuple[Section, ...]
    is_list: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """One query: what it computes, and the outputs that its rows are written to."""

    title: str
    facts: tuple[Fact, ...]
    outputs: tuple[Section, ...]
    root: Section


@dataclass(frozen=True, slots=True)
class Job:
    """All queries of a job, the sinks that it declares, and the tables that it reads."""

    facts: tuple[Fact, ...]
    sinks: tuple[Section, ...]
    tables: tuple[Section, ...]
    queries: tuple[Query, ...]


@dataclass(frozen=True, slots=True)
class Description:
    """What the kind of an operator says of one: a title, its facts and, where there are any,
    facts of each input."""

    title: str
    facts: tuple[Fact, ...]
    inputs: tuple[tuple[Fact, ...], ...] | None = None


def data(name: str, value: Any) -> Fact:
    """A fact of JSON only."""
    return Fact(name, value)


def text(label: str, *texts: str) -> Fact:
    """A fact of text only."""
    return fact(None, None, label, *texts)


def fact(name: str | None, value: Any, label: str, *texts: str) -> Fact:
    """A fact with one label, and a line for each text."""
    lines = tuple((label if number == 0 else "", each) for number, each in enumerate(texts))
    return Fact(name, value, lines)
