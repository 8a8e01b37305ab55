"""Plans UNION ALL: the rows of several queries as one stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from millstream.errors import Place, PlanError
from millstream.plan.expressions import Expression, column, template
from millstream.plan.nodes import Output, Select, UnionAll
from millstream.plan.nodes.traversal import can_retract
from millstream.plan.reject import not_supported, place_of
from millstream.plan.union_types import ALIAS, common_type, type_error
from millstream.sql.limits import MAX_BRANCHES
from millstream.sql.text import SourceText
from millstream.suggestions import same


def queries_of_union(tree: exp.SetOperation, text: SourceText) -> list[exp.Expr]:
    """Returns the queries of a UNION ALL; rejects other set operations."""
    found = list(_queries(tree, text))
    if len(found) > MAX_BRANCHES:
        raise PlanError(
            "MS-PLAN-SIZE",
            f"this UNION ALL has {len(found)} queries; at most {MAX_BRANCHES} are allowed.",
            fix="Write some of them to a sink, and read it in a second job.",
            place=place_of(found[MAX_BRANCHES], text),
        )
    return found


def _queries(tree: exp.Expr, text: SourceText) -> Iterator[exp.Expr]:
    waiting = [tree]
    while waiting:
        each = waiting.pop()
        if not isinstance(each, exp.SetOperation):
            yield each
            continue
        _reject_other_operation(each, text)
        waiting += [each.expression, each.this]


def _reject_other_operation(tree: exp.SetOperation, text: SourceText) -> None:
    place = place_of(tree.expression, text)
    if not isinstance(tree, exp.Union):
        raise not_supported(
            tree.key.upper(),
            place,
            fix="Write LEFT SEMI JOIN for INTERSECT, LEFT ANTI JOIN for EXCEPT, with a time bound.",
        )
    if tree.args.get("distinct"):
        raise PlanError(
            "MS-PLAN-UNION",
            "UNION removes duplicates, which needs every row in state.",
            fix="Write UNION ALL, and SELECT DISTINCT over it if duplicates must be removed.",
            place=place,
        )
    if tree.args.get("by_name") or tree.args.get("on"):
        raise not_supported(
            "UNION ALL BY NAME", place, fix="List the columns in the same order in each query."
        )


def plan_union(queries: Sequence[Select], places: Sequence[Place | None]) -> Select:
    """Returns the stream of all rows. Columns have the names of the first query."""
    first = queries[0]
    for query, place in zip(queries, places, strict=True):
        _reject_different_width(first, query, place)
        _reject_retractions(query, place)
    types = [_type_of(number, queries, places) for number in range(len(first.columns))]
    names = [each.name for each in first.columns]
    branches = tuple(_aligned(query, names, types) for query in queries)
    times = {each.time for each in branches}
    windows = {each.window for each in branches}
    time = times.pop() if len(times) == 1 else None
    return Select(
        UnionAll(branches, time, places[0]),
        tuple(
            Output(column(ALIAS, name, kind), name) for name, kind in zip(names, types, strict=True)
        ),
        alias=ALIAS,
        time=time,
        window=windows.pop() if len(windows) == 1 else None,
        place=places[0],
    )


def _reject_different_width(first: Select, query: Select, place: Place | None) -> None:
    expected, found = len(first.columns), len(query.columns)
    if expected != found:
        raise PlanError(
            "MS-PLAN-UNION",
            f"the first query of the UNION ALL has {_columns(expected)}, and this one has "
            f"{_columns(found)}.",
            fix=f"Select {', '.join(each.name for each in first.columns)}, or NULL AS a column "
            "that is missing.",
            place=place,
        )


def _columns(count: int) -> str:
    return "1 column" if count == 1 else f"{count} columns"


def _reject_retractions(query: Select, place: Place | None) -> None:
    if can_retract(query):
        raise PlanError(
            "MS-PLAN-RETRACT",
            "this query retracts rows, which UNION ALL does not support.",
            fix="Write EMIT FINAL with a WINDOW and no 'window.lateness', or give its join a time "
            "bound.",
            place=place,
        )


def _type_of(number: int, queries: Sequence[Select], places: Sequence[Place | None]) -> str | None:
    """Returns the type of a column, or None if Spark has to determine it."""
    own = [query.columns[number].type for query in queries]
    known = [each for each in own if each is not None]
    for count in range(2, len(known) + 1):
        if common_type(known[:count]) is None:
            place = [place for place, each in zip(places, own, strict=True) if each][count - 1]
            raise type_error(queries[0].columns[number].name, known[0], known[count - 1], place)
    if len(known) < len(own):
        return None
    return known[0] if len({each.upper() for each in known}) == 1 else common_type(known)


def _aligned(query: Select, names: Sequence[str], types: Sequence[str | None]) -> Select:
    """Returns a query with the column names and types of the UNION ALL."""
    is_cast = [
        wanted is not None and each.type is not None and not same(wanted, each.type)
        for each, wanted in zip(query.columns, types, strict=True)
    ]
    if not any(is_cast) and [each.name for each in query.columns] == list(names):
        return query
    renamed = dict(zip((each.name for each in query.columns), names, strict=True))
    outputs = []
    for each, name, wanted, cast in zip(query.columns, names, types, is_cast, strict=True):
        value: Expression = column(ALIAS, each.name, each.type)
        if cast and wanted is not None:
            value = template(f"CAST({{}} AS {wanted})", value, kind=wanted.upper())
        outputs.append(Output(value, name))
    return Select(
        query,
        tuple(outputs),
        alias=ALIAS,
        time=renamed[query.time] if query.time else None,
        window=(renamed[query.window[0]], renamed[query.window[1]]) if query.window else None,
        place=query.place,
    )
