"""Joins of results by the key that they were joined by: such rows lie where they are needed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from millstream.plan.nodes import (
    Compare,
    Input,
    IntervalJoin,
    JoinType,
    Logic,
    Node,
    Operator,
    Predicate,
    Select,
    Source,
    TemporalJoin,
)

_COLUMN = re.compile(r"(?:(`[^`]+`|\w+)\.)?(`[^`]+`|\w+)")
_INEXACT = ("FLOAT", "DOUBLE", "REAL")  # with two zeros, which are one when they are compared


@dataclass(frozen=True, slots=True)
class SharedExchange:
    """Input `number` of a join are the results of `below`, joined by the same key. `columns` says
    of each of its columns which side of `below` it is of, and its name there."""

    number: int
    below: IntervalJoin
    columns: Mapping[str, tuple[int, str]]


def shared_exchange(operator: Operator) -> SharedExchange | None:
    """What an operator can read without an exchange; None if all its rows must be spread."""
    if not isinstance(operator, IntervalJoin | TemporalJoin) or not _plain(operator):
        return None
    numbers = (0,) if isinstance(operator, TemporalJoin) else (0, 1)
    return next(filter(None, (_shared(operator, number) for number in numbers)), None)


def _plain(join: IntervalJoin | TemporalJoin) -> bool:
    """Is a row in one group alone, by its key alone?"""
    return join.salt == 1 and not (isinstance(join, IntervalJoin) and join.windows)


def _shared(join: IntervalJoin | TemporalJoin, number: int) -> SharedExchange | None:
    traced = _traced((join.left, join.right)[number].node)
    if traced is None:
        return None
    shared = SharedExchange(number, *traced)
    return shared if _by_its_key(join, shared) and _readable(join, shared) else None


def _by_its_key(join: IntervalJoin | TemporalJoin, shared: SharedExchange) -> bool:
    """Are both joins by the same columns, in one order and of one type on all sides?"""
    side, other = (join.left, join.right)[:: 1 if shared.number == 0 else -1]
    inputs = (shared.below.left, shared.below.right)
    if len(join.keys) != len(shared.below.keys):
        return False
    for key, earlier in zip(join.keys, shared.below.keys, strict=True):
        mine, theirs = (key.left, key.right)[:: 1 if shared.number == 0 else -1]
        at = shared.columns.get(column_of(mine, side.alias) or "")
        was = [
            column_of(text, each.alias)
            for text, each in zip((earlier.left, earlier.right), inputs, strict=True)
        ]
        if at is None or at[1] not in _equal(inputs[at[0]], was[at[0]]):
            return False
        compared = (*zip(inputs, was, strict=True), (other, column_of(theirs, other.alias)))
        kinds = {_type(each, name) for each, name in (*compared, (inputs[at[0]], at[1]))}
        if len(kinds) != 1 or not _held_as_is(kinds.pop()):
            return False
    return True


def _equal(side: Input, name: str | None) -> set[str | None]:
    """The columns of an input whose values are those of one of it, since they were joined so."""
    traced = _traced(side.node)
    if traced is None or name not in traced[1]:
        return {name}
    below, columns = traced
    inputs = (below.left, below.right)
    same = {columns[name]}
    for key in below.keys:
        alike = {
            (number, each)
            for number, text in enumerate((key.left, key.right))
            for each in _equal(inputs[number], column_of(text, inputs[number].alias))
            if each is not None
        }
        if same & alike:
            same |= alike
    return {each for each, at in columns.items() if at in same}


def _readable(join: IntervalJoin | TemporalJoin, shared: SharedExchange) -> bool:
    """Is all that the join reads of the results a column of theirs, as it is held?"""
    side = (join.left, join.right)[shared.number]
    at = shared.columns.get(side.time or "")
    if at is None or not side.used or any(name not in shared.columns for name in side.used):
        return False
    held = (shared.below.left, shared.below.right)[at[0]]
    if (_type(held, at[1]) or "").upper() != "TIMESTAMP":
        return False
    if isinstance(join, TemporalJoin):
        return True
    wheres = (join.left_where, join.right_where)
    return wheres[shared.number] is None and (join.only_spark or _exact(join, shared.number))


def _exact(join: IntervalJoin, number: int) -> bool:
    """Are all values that the predicate compares columns as they are held?"""
    side, other = (join.left, join.right) if number == 0 else (join.right, join.left)
    for compare in compares_of(join.across):
        mine, theirs = (compare.left, compare.right)[:: 1 if number == 0 else -1]
        kind = _type(side, column_of(mine, side.alias))
        if not _held_as_is(kind) or kind != _type(other, column_of(theirs, other.alias)):
            return False
    return True


def _held_as_is(kind: str | None) -> bool:
    return kind is not None and kind.upper() not in _INEXACT


def compares_of(predicate: Predicate | None) -> list[Compare]:
    if predicate is None:
        return []
    if isinstance(predicate, Logic):
        return [each for term in predicate.terms for each in compares_of(term)]
    return [predicate]


def _traced(node: Source | Select) -> tuple[IntervalJoin, dict[str, tuple[int, str]]] | None:
    """The inner join below SELECTs that only choose and rename, and where each column is from."""
    if not isinstance(node, Select) or node.where is not None:
        return None
    below: Node = node.input
    if isinstance(below, IntervalJoin):
        if below.how is not JoinType.INNER or below.only_spark or not _plain(below):
            return None
        sides = (below.left, below.right)
        found = {
            output.name: (number, name)
            for output in node.outputs
            for number, side in enumerate(sides)
            if (name := column_of(output.sql, side.alias, qualified=True)) in side.used
        }
        return below, found
    if not isinstance(below, Select):
        return None
    traced = _traced(below)
    if traced is None:
        return None
    join, columns = traced
    names = {output.name: column_of(output.sql, node.alias) for output in node.outputs}
    return join, {name: columns[inner] for name, inner in names.items() if inner in columns}


def column_of(text: str, alias: str | None, *, qualified: bool = False) -> str | None:
    """The column that a text is, of the input that goes by `alias`; None if it is more."""
    found = _COLUMN.fullmatch(text)
    if found is None:
        return None
    of, name = (part.strip("`") if part else None for part in found.groups())
    if of is None:
        return None if qualified else name
    return name if of == alias else None


def _type(side: Input, name: str | None) -> str | None:
    """The type of a column of an input, where it is declared."""
    return next((column.type for column in side.node.columns if column.name == name), None)
