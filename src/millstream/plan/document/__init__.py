"""The document that `explain` shows of a job: plain values, rendered as text or JSON.

    Job ── Query ──┬── outputs: Section (a sink)
                   └── root: Section ── Child ── Section …

`plan.kinds` describes the facts of each operator; `plan.explain` combines them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Line = tuple[str, str]  # label, text


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact: `data` under `name` in JSON, `lines` in text. A fact without a name is in text
    only, one without lines in JSON only."""

    name: str | None
    data: Any = None
    lines: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """A node, table or sink with its facts and inputs. A section without a title exists in JSON
    only."""

    title: str
    facts: tuple[Fact, ...] = ()
    children: tuple[Child, ...] = ()


@dataclass(frozen=True, slots=True)
class Child:
    """The sections under one JSON field: a list if `is_list`, otherwise one."""

    field: str
    sections: tuple[Section, ...]
    is_list: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """One query: its plan and the outputs that its rows are written to."""

    title: str
    facts: tuple[Fact, ...]
    outputs: tuple[Section, ...]
    root: Section


@dataclass(frozen=True, slots=True)
class Job:
    """The queries of a job, the sinks that it declares and the tables that it reads."""

    facts: tuple[Fact, ...]
    sinks: tuple[Section, ...]
    tables: tuple[Section, ...]
    queries: tuple[Query, ...]


@dataclass(frozen=True, slots=True)
class Description:
    """The description of an operator by its kind: title, facts, and facts of each input if any."""

    title: str
    facts: tuple[Fact, ...]
    inputs: tuple[tuple[Fact, ...], ...] | None = None


def data(name: str, value: Any) -> Fact:
    """Returns a fact for JSON only."""
    return Fact(name, value)


def text(label: str, *texts: str) -> Fact:
    """Returns a fact for text only."""
    return fact(None, None, label, *texts)


def fact(name: str | None, value: Any, label: str, *texts: str) -> Fact:
    """Returns a fact with one label, and a line for each text."""
    lines = tuple((label if number == 0 else "", each) for number, each in enumerate(texts))
    return Fact(name, value, lines)
