"""Finds the expressions that an operator evaluates for rows of one input, and the columns that a
step reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from millstream.plan.expressions import Expression
from millstream.plan.expressions.shapes import explode_call
from millstream.plan.nodes import Input, Operator, ReferenceTable, Select, TableJoin


def input_expressions(operator: Operator | TableJoin, side: Input) -> tuple[Expression, ...]:
    """Returns the expressions that are evaluated for a row of an input, before it is matched or
    aggregated."""
    found = dict.fromkeys(
        each
        for each in _expressions(operator)
        if each.columns and all(reference.alias == side.alias for reference in each.columns)
    )
    return tuple(found)


def pair_expressions(operator: Operator | TableJoin) -> tuple[Expression, ...]:
    """Returns the expressions of a join that are evaluated for pairs of rows."""
    found = dict.fromkeys(
        each
        for each in _expressions(operator)
        if len({reference.alias for reference in each.columns}) > 1
    )
    return tuple(found)


def columns_of_input(operator: Operator | TableJoin, side: Input) -> frozenset[str] | None:
    """Returns the columns of an input that an operator reads, in lower case; None: all of them."""
    expressions = tuple(_expressions(operator))
    if any(each.has_star for each in expressions):
        return None
    names = {*side.used, *filter(None, (side.time, side.progress))}
    names |= {
        reference.name
        for each in expressions
        for reference in each.columns
        if reference.alias in (side.alias, None)
    }
    return frozenset(name.lower() for name in names)


def columns_of_select(select: Select, needed: frozenset[str] | None) -> frozenset[str] | None:
    """Returns the columns that a SELECT reads if its columns `needed` are read, in lower case.

    None: all of them.
    """
    expressions = [
        output.expression
        for output in select.outputs
        if needed is None
        or output.name.lower() in needed
        or output.name == select.time
        or explode_call(output.expression)  # which determines the number of rows
    ]
    expressions += [] if select.where is None else [select.where]
    if any(each.has_star for each in expressions):
        return None
    return frozenset(reference.name.lower() for each in expressions for reference in each.columns)


def columns_read_by_steps(
    steps: Sequence[Select | TableJoin],
) -> tuple[frozenset[str] | None, ...]:
    """Returns the columns that are read of the stream below some steps, and then those that are
    read of each step's result. The steps are in the order of the rows; all columns of the last one
    are read."""
    found: list[frozenset[str] | None] = [None]
    for step in reversed(steps):
        if isinstance(step, Select):
            found.append(columns_of_select(step, found[-1]))
        else:
            found.append(columns_of_input(step, step.left))
    return tuple(reversed(found))


def _expressions(value: Any) -> Iterator[Expression]:
    """Yields the expressions of a node, without those of its inputs."""
    if isinstance(value, Expression):
        yield value
    elif isinstance(value, tuple):
        yield from _all(value)
    elif is_dataclass(value) and not isinstance(value, Input | ReferenceTable):
        yield from _all(getattr(value, each.name) for each in fields(value) if each.name != "place")


def _all(values: Iterable[Any]) -> Iterator[Expression]:
    for each in values:
        yield from _expressions(each)
