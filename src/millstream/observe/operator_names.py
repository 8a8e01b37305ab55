"""The names of operators and of their inputs in the ledger."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from millstream.plan.facts.output_groups import query_operators
from millstream.plan.facts.union import branch_inputs
from millstream.plan.kinds import kind_of
from millstream.plan.nodes import Input, Query, Select, Source
from millstream.plan.nodes.traversal import inputs_of, operators_of, upsert_source_of, upstream_of


class OperatorNames(NamedTuple):
    operator: str
    inputs: tuple[str, ...]
    derived: tuple[bool, ...]  # does the input read the results of another operator?
    # of each input that is a UNION ALL: the names of its branches, and whether they are derived
    branches: tuple[tuple[tuple[str, bool], ...], ...] = ()

    @property
    def physical(self) -> tuple[str, ...]:
        """The names of the streams that the inputs consist of (`plan.facts.union`)."""
        branches = self.branches or ((),) * len(self.inputs)
        return tuple(
            name
            for own, union in zip(self.inputs, branches, strict=True)
            for name in ([each for each, _ in union] or [own])
        )


Names = tuple[OperatorNames, ...]


def names_of(root: Select | Query) -> Names:
    """Returns the names of all operators, from the sink to the sources. Names are unique.

    An input has the name of its source or, if it reads the results of an operator or a UNION ALL,
    its alias; "current rows of" precedes the alias of a source of upserts. The same applies to each
    branch of a UNION ALL. If several inputs have the same name, the alias and a number are added.
    """
    operators = query_operators(root) if isinstance(root, Query) else operators_of(root)
    plain = [
        [[_plain_name(part) for part in _parts(side)] for side in inputs_of(each)]
        for each in operators
    ]
    occurrences = Counter(name for names in plain for parts in names for name in parts)
    used: Counter[str] = Counter()

    def unique(name: str) -> str:
        used[name] += 1
        return name if used[name] == 1 else f"{name} {used[name]}"

    inputs = []
    for each, names in zip(operators, plain, strict=True):
        full = []
        for parts, side in zip(names, inputs_of(each), strict=True):
            known = []
            for name in parts:
                is_unique = occurrences[name] == 1 or name == side.alias
                known.append(unique(name if is_unique else f"{name} {side.alias}"))
            full.append(tuple(known))
        inputs.append(full)
    return tuple(
        OperatorNames(
            unique(kind_of(each).label(each, " and ".join(parts[0] for parts in names))),
            tuple(parts[0] for parts in names),
            tuple(
                len(parts) > 1 or bool(operators_of(side.node))
                for parts, side in zip(names, inputs_of(each), strict=True)
            ),
            tuple(
                tuple(
                    (name, bool(operators_of(branch.node)))
                    for name, branch in zip(parts[1:], branch_inputs(side), strict=False)
                )
                for parts, side in zip(names, inputs_of(each), strict=True)
            ),
        )
        for each, names in zip(operators, inputs, strict=True)
    )


def _parts(side: Input) -> list[Input]:
    """Returns an input, and the branches of a UNION ALL that it reads."""
    branches = branch_inputs(side)
    return [side] if branches == (side,) else [side, *branches]


def _plain_name(side: Input) -> str:
    found = upstream_of(side.node)
    if upsert_source_of(side.node):
        return f"current rows of {side.alias}"
    return found.name if isinstance(found, Source) else side.alias
