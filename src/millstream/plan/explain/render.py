"""Renders the plan of a job for `millstream explain`: as a text tree or as JSON."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

from millstream.plan.connectors import ConnectorRegistry
from millstream.plan.document import Fact, Line, Query, Section
from millstream.plan.document import Job as JobDocument
from millstream.plan.explain.document import build_document
from millstream.plan.installed_connectors import installed_connectors
from millstream.plan.nodes import Job

WIDTH = 100
_LABEL_WIDTH = 11
_SUM = re.compile(r"\S+ [+-] \d+\w+")  # "event_time + 24h" stays on one line
_NO_BREAK = "\x00"


def explain(job: Job, connectors: ConnectorRegistry | None = None) -> str:
    """Renders the job as a tree, at most 100 columns wide."""
    return render_text(_document(job, connectors))


def explain_json(job: Job, connectors: ConnectorRegistry | None = None) -> dict[str, Any]:
    """Renders the job as JSON-able data, with the same facts as `explain`."""
    return render_json(_document(job, connectors))


def _document(job: Job, connectors: ConnectorRegistry | None) -> JobDocument:
    return build_document(job, installed_connectors() if connectors is None else connectors)


def render_json(job: JobDocument) -> dict[str, Any]:
    """Renders a document as data: durations in microseconds, policies by their names."""
    return {
        **_data(job.facts),
        "sinks": [_section_data(sink) for sink in job.sinks],
        "tables": [_section_data(table) for table in job.tables],
        "pipelines": [_query_data(query) for query in job.queries],
    }


def _query_data(query: Query) -> dict[str, Any]:
    (sink,) = query.outputs
    data = _data(query.facts)
    return {**data, "sink": _section_data(sink), "root": _section_data(query.root)}


def _section_data(section: Section) -> dict[str, Any]:
    data = _data(section.facts)
    for child in section.children:
        found = [_section_data(each) for each in child.sections]
        data[child.field] = found if child.is_list else found[0]
    return data


def _data(facts: Iterable[Fact]) -> dict[str, Any]:
    return {fact.name: fact.data for fact in facts if fact.name is not None}


def render_text(job: JobDocument) -> str:
    """Renders a document as a tree within 100 columns."""
    lines = ["Job"]
    lines += _fact_lines(job.facts, "", has_children=bool(job.queries))
    for number, query in enumerate(job.queries):
        first, rest = _branch(number == len(job.queries) - 1)
        lines += _query_lines(query, first, rest)
    return "\n".join(lines) + "\n"


def _query_lines(query: Query, first: str, rest: str) -> list[str]:
    """Renders a query. The plan is below its last output."""
    lines = _wrap(query.title, first, rest) + _fact_lines(query.facts, rest, has_children=True)
    for number, output in enumerate(query.outputs):
        is_last = number == len(query.outputs) - 1
        title_indent, indent = _branch(is_last)
        children = (query.root,) if is_last else ()
        lines += _section_lines(output, children, rest + title_indent, rest + indent)
    return lines


def _section_lines(
    section: Section, children: Iterable[Section], first: str, rest: str
) -> list[str]:
    """Renders a section. `first` is before the title, `rest` before every other line."""
    titled = list(_titled(children))
    lines = _wrap(section.title, first, rest)
    lines += _fact_lines(section.facts, rest, has_children=bool(titled))
    for number, each in enumerate(titled):
        title_indent, indent = _branch(number == len(titled) - 1)
        lines += _section_lines(each, _children(each), rest + title_indent, rest + indent)
    return lines


def _children(section: Section) -> Iterator[Section]:
    return (each for child in section.children for each in child.sections)


def _titled(sections: Iterable[Section]) -> Iterator[Section]:
    """Yields the sections with a title; the children of one without a title take its place."""
    for each in sections:
        if each.title:
            yield each
        else:
            yield from _titled(_children(each))


def _branch(is_last: bool) -> tuple[str, str]:
    return ("└─ ", "   ") if is_last else ("├─ ", "│  ")


def _fact_lines(facts: Iterable[Fact], rest: str, *, has_children: bool) -> list[str]:
    stem = rest + ("│  " if has_children else "   ")
    lines: list[str] = []
    for fact in facts:
        for line in fact.lines:
            lines += _labelled(line, stem)
    return lines


def _labelled(line: Line, stem: str) -> list[str]:
    label, text = line
    indent = stem + " " * max(_LABEL_WIDTH, len(label) + 1)
    return _wrap(text, stem + f"{label} ".ljust(_LABEL_WIDTH), indent)


def _wrap(text: str, first: str, rest: str) -> list[str]:
    lines = textwrap.wrap(
        _SUM.sub(lambda match: match[0].replace(" ", _NO_BREAK), text),
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_NO_BREAK, " ") for line in lines]
