"""The names of operators and of their inputs in the ledger."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from millstream.plan.facts.branches import query_operators
from millstream.plan.kinds import kind_of
from millstream.plan.nodes import Input, Query, Select, Source
from millstream.plan.nodes.traversal import inputs_of, operators_of, upstream_of


class OperatorNames(NamedTuple):
    operator: str
    inputs: tuple[str, ...]
    derived: tuple[bool, ...]  # does the input read the results of another operator?


Names = tuple[OperatorNames, ...]


def names_of(root: Select | Query) -> Names:
    """Returns the names of all operators, from the sink to the sources. Names are unique.

    An input has the name of its source or, if it reads the results of an operator, its alias. If
    several inputs have the same name, the alias and a number are added.
    """
    operators = query_operators(root) if isinstance(root, Query) else operators_of(root)
    plain = [[_plain_name(side) for side in inputs_of(each)] for each in operators]
    occurrences = Counter(name for names in plain for name in names)
    used: Counter[str] = Counter()

    def unique(name: str) -> str:
        used[name] += 1
        return name if used[name] == 1 else f"{name} {used[name]}"

    inputs = []
    for each, names in zip(operators, plain, strict=True):
        full = []
        for name, side in zip(names, inputs_of(each), strict=True):
            is_unique = occurrences[name] == 1 or name == side.alias
            full.append(unique(name if is_unique else f"{name} {side.alias}"))
        inputs.append(tuple(full))
    return tuple(
        OperatorNames(
            unique(kind_of(each).label(each, " and ".join(names))),
            names,
            tuple(bool(operators_of(side.node)) for side in inputs_of(each)),
        )
        for each, names in zip(operators, inputs, strict=True)
    )


def _plain_name(side: Input) -> str:
    found = upstream_of(side.node)
    return found.name if isinstance(found, Source) else side.alias
