"""Finds operators that are co-located with the join below them.

An operator over the results of a join that uses the join's key can read them in the same key group,
without a second shuffle.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from millstream.aggregate_functions import FUNCTIONS
from millstream.plan.expressions import Expression
from millstream.plan.facts.column_lineage import equal_columns, trace_to_join, type_of
from millstream.plan.facts.union import union_of
from millstream.plan.kinds import join_kind_of, single_input_kind_of
from millstream.plan.nodes import Call, Input, Join, Key, Operator, SingleInput
from millstream.scalars import Compare, Operand, PredicateOf, terms_of
from millstream.temporal import LateAction

_INEXACT_TYPES = ("FLOAT", "DOUBLE", "REAL")  # 0.0 and -0.0 are equal, but have two encodings
_HASHABLE_TYPES = (
    *("TINYINT", "SMALLINT", "INT", "INTEGER", "BIGINT", "LONG", "BOOLEAN"),
    *("DATE", "TIMESTAMP", "STRING", "BINARY"),
)


@dataclass(frozen=True, slots=True)
class SharedShuffle:
    """The shuffle that an operator shares with the join below it.

    Attributes:
        number: The number of the operator's input that has the results of `join`.
        columns: For each column of that input its side of `join`, and its name there.
        has_whole_key: The operator's key is the join's key; otherwise it has more columns.
        is_hashable: The processor can hash the operator's key; otherwise it uses the join's hash.
    """

    number: int
    join: Join
    columns: Mapping[str, tuple[int, str]]
    has_whole_key: bool = True
    is_hashable: bool = False

    @property
    def inputs(self) -> tuple[Input, Input]:
        return self.join.left, self.join.right


def find_shared_shuffle(operator: Operator) -> SharedShuffle | None:
    """Returns the shuffle that an operator shares with a join below it; None if it has its own."""
    if not isinstance(operator, Join):
        return _shuffle_shared_by_single_input(operator)
    if any(union_of(side.node) for side in (operator.left, operator.right)):
        return None
    inputs = join_kind_of(operator).shared_inputs(operator)
    return next(
        filter(None, (_shuffle_shared_by_join(operator, number) for number in inputs)), None
    )


def _shuffle_shared_by_join(join: Join, number: int) -> SharedShuffle | None:
    found = trace_to_join((join.left, join.right)[number].node)
    if found is None:
        return None
    shared = SharedShuffle(number, *found)
    return shared if _has_same_keys(join, shared) and _is_readable(join, shared) else None


def _has_same_keys(join: Join, shared: SharedShuffle) -> bool:
    """Returns whether both joins use the same key columns, in the same order and of one type."""
    side, other = (join.left, join.right)[:: 1 if shared.number == 0 else -1]
    if len(join.keys) != len(shared.join.keys):
        return False
    for key, earlier in zip(join.keys, shared.join.keys, strict=True):
        mine, theirs = (key.left, key.right)[:: 1 if shared.number == 0 else -1]
        kind = _type_of_join_key(shared, mine.column_of(side.alias), earlier)
        if kind is None or kind != type_of(other, theirs.column_of(other.alias)):
            return False
    return True


def _type_of_join_key(shared: SharedShuffle, name: str | None, key: Key) -> str | None:
    """Returns the type of a column if it is a key of the join below and is stored unchanged."""
    at = shared.columns.get(name or "")
    was = [
        own.column_of(each.alias)
        for own, each in zip((key.left, key.right), shared.inputs, strict=True)
    ]
    if at is None or at[1] not in equal_columns(shared.inputs[at[0]], was[at[0]]):
        return None
    compared = (*zip(shared.inputs, was, strict=True), (shared.inputs[at[0]], at[1]))
    kinds = {type_of(each, column) for each, column in compared}
    kind = kinds.pop() if len(kinds) == 1 else None
    return kind if _is_stored_unchanged(kind) else None


def _is_readable(join: Join, shared: SharedShuffle) -> bool:
    """Returns whether the join reads only columns of the results that are stored unchanged."""
    side = (join.left, join.right)[shared.number]
    if not side.used or not _carries_time(side, shared):
        return False
    found = join_kind_of(join).matching(join)
    if found.wheres[shared.number] is not None:
        return False
    return found.only_spark or _is_exact(join, shared.number, found.across)


def _carries_time(side: Input, shared: SharedShuffle) -> bool:
    """Returns whether all columns in state, and the time, are columns of the results."""
    at = shared.columns.get(side.time or "")
    if at is None or any(name not in shared.columns for name in side.used):
        return False
    return type_of(shared.inputs[at[0]], at[1]) == "TIMESTAMP"


def _is_exact(join: Join, number: int, across: PredicateOf[Expression] | None) -> bool:
    """Returns whether the predicate compares only columns that are stored unchanged."""
    side, other = (join.left, join.right) if number == 0 else (join.right, join.left)
    for read in _read_by(across):
        if isinstance(read, Operand):
            kind = type_of(side, read.value.column_of(side.alias)) if read.side == number else ""
            if read.side == number and not _is_stored_unchanged(kind):
                return False
            continue
        mine, theirs = read[:: 1 if number == 0 else -1]
        kind = type_of(side, mine.column_of(side.alias))
        if not _is_stored_unchanged(kind) or kind != type_of(other, theirs.column_of(other.alias)):
            return False
    return True


def _read_by(
    predicate: PredicateOf[Expression] | None,
) -> Iterator[Operand[Expression] | tuple[Expression, Expression]]:
    """Yields the operands of a predicate, and the pairs that Spark compares in their common
    type."""
    match predicate:
        case Operand():
            yield predicate
        case Compare(Expression() as left, _, Expression() as right):
            yield left, right
        case None:
            pass
        case _:
            for term in terms_of(predicate):
                if not isinstance(term, Expression):
                    yield from _read_by(term)


def _shuffle_shared_by_single_input(operator: SingleInput) -> SharedShuffle | None:
    side, kind = operator.input, single_input_kind_of(operator)
    found = trace_to_join(side.node)
    holds = kind.buffers_rows or operator.late.action is LateAction.SIDE_OUTPUT
    if found is None or (holds and not side.used):
        return None
    below, columns = found
    names = [key.column_of(side.alias) for key in kind.keys(operator)]
    whole = len(set(names)) == len(below.keys)
    hashable = all(type_of(side, name) in _HASHABLE_TYPES for name in names)
    shared = SharedShuffle(0, below, columns, whole, hashable)
    for key in below.keys:
        if not any(_type_of_join_key(shared, name, key) for name in names):
            return None
    calls = kind.calls(operator)
    compared = (
        *kind.compared_expressions(operator),
        *(call.by for call in calls if call.by is not None),
    )
    exact = [*names, *(each.column_of(side.alias) for each in compared)]
    if not all(name in columns and _is_stored_unchanged(type_of(side, name)) for name in exact):
        return None
    read = all(_reads_unchanged(side, shared, call) for call in calls)
    return shared if read and (whole or hashable) and _carries_time(side, shared) else None


def _reads_unchanged(side: Input, shared: SharedShuffle, call: Call) -> bool:
    """Returns whether a call reads only a column of the results, stored unchanged."""
    if call.filter is not None:
        return False
    if call.argument is None:
        return True
    name = call.argument.column_of(side.alias)
    kind = type_of(side, name)
    if kind is None or name not in shared.columns or kind.startswith("MAP"):
        return False
    return not (FUNCTIONS[call.function].collects and kind == "TIMESTAMP")


def _is_stored_unchanged(kind: str | None) -> bool:
    return kind is not None and kind not in _INEXACT_TYPES and not kind.startswith("MAP")
