"""The sinks of side outputs: which queries write to them, and which one writes dead letters.

Late rows of all queries may go to one sink. Dead letters belong to a source: if several queries
read it, each finds the same malformed records, and one of them writes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from millstream.errors import Place
from millstream.plan.facts.engine import choose_engine
from millstream.plan.facts.output_groups import query_operators, query_references, query_sources
from millstream.plan.nodes import Engine, Query, ReferenceTable, Source
from millstream.plan.nodes.traversal import operators_of
from millstream.temporal import LateAction


class SideRows(StrEnum):
    """The rows of a side output. All rows of one kind have the same columns."""

    LATE = "late rows"
    DEAD_LETTERS = "dead letters"


@dataclass(frozen=True, slots=True)
class SideSink:
    """A sink that a query writes side rows to."""

    sink: str
    rows: SideRows
    query: Query
    place: Place | None

    def __str__(self) -> str:
        return f"{self.rows} of {self.query.title}"


def side_sinks(query: Query) -> Iterator[SideSink]:
    """Yields the named sinks of a query's side outputs."""
    given: list[Source | ReferenceTable] = [*query_sources(query), *query_references(query)]
    for read in given:
        if read.dead_letter:
            yield SideSink(read.dead_letter, SideRows.DEAD_LETTERS, query, read.place)
    if query.errors.sink:
        place = query.outputs[0].root.place
        yield SideSink(query.errors.sink, SideRows.DEAD_LETTERS, query, place)
    for operator in query_operators(query):
        if operator.late.action is LateAction.SIDE_OUTPUT and operator.late.sink:
            yield SideSink(operator.late.sink, SideRows.LATE, query, operator.place)


def queries_with_dead_letters(queries: Sequence[Query], source: str) -> tuple[Query, ...]:
    """Returns the queries that can write the malformed records of a source to its sink.

    Operators of the native engine stop at a malformed record.
    """
    return tuple(
        query
        for query in queries
        if any(each.name == source and each.dead_letter for each in query_sources(query))
        and not _has_native_operators(query)
    )


def _has_native_operators(query: Query) -> bool:
    with_state = [each for each in query.outputs if operators_of(each.root)]
    return any(choose_engine(each)[0] is Engine.NATIVE for each in with_state)


def shared_dead_letter_queries(queries: Sequence[Query]) -> dict[str, str]:
    """Returns the query that writes the malformed records of each source that several queries
    read: the first one in the job that can. Sources without a sink of dead letters are left out."""
    sources = dict.fromkeys(each.name for query in queries for each in query_sources(query))
    readers = {source: queries_with_dead_letters(queries, source) for source in sources}
    return {source: found[0].name for source, found in readers.items() if len(found) > 1}
