"""The document of `explain` as data: spans in microseconds, policies by their names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from millstream.plan.document import Fact, Job, Query, Section


def render_json(job: Job) -> dict[str, Any]:
    return {
        **_data(job.facts),
        "sinks": [_section(sink) for sink in job.sinks],
        "tables": [_section(table) for table in job.tables],
        "pipelines": [_query(query) for query in job.queries],
    }


def _query(query: Query) -> dict[str, Any]:
    (sink,) = query.outputs
    return {**_data(query.facts), "sink": _section(sink), "root": _section(query.root)}


def _section(section: Section) -> dict[str, Any]:
    told = _data(section.facts)
    for child in section.children:
        found = [_section(each) for each in child.sections]
        told[child.field] = found if child.is_list else found[0]
    return told


def _data(facts: Iterable[Fact]) -> dict[str, Any]:
    return {fact.name: fact.data for fact in facts if fact.name is not None}
