"""An operator over results of a join, by their key, runs in the join's host with no exchange."""

from __future__ import annotations

from millstream.engine.compile.join_inputs import CARRIED, Sides
from millstream.engine.compile.physical_operator import Operation
from millstream.engine.processor.processor import Feed
from millstream.kernels.core.kernel import HASH
from millstream.plan.facts.colocation import SharedExchange


def feed(shared: SharedExchange, reader: Operation, below: Sides) -> Feed:
    """How the join's results become what the reader's packets would be."""
    ready, packing = reader.inputs[shared.number]
    held = tuple(
        {field.name: field.wire for field in side.fields} for side in (below.left, below.right)
    )

    def at(name: str) -> str:
        of, column = shared.columns[name]
        return held[of][column]

    own = (HASH, CARRIED)
    renamed = [(name, at(plain)) for name, plain in ready.plains.items() if name not in own]
    hashed: tuple[str, ...] = ()
    joined_by = below.left.hash_from or (None if shared.hashable else CARRIED)
    if reader.hash_from[shared.number] is None:
        if shared.whole and joined_by is not None:
            renamed.append((HASH, joined_by))
        else:
            hashed = ready.hashed
    if CARRIED in ready.schema.names:
        assert joined_by is not None
        renamed.append((CARRIED, joined_by))
    return Feed(shared.number, tuple(renamed), hashed, packing.fold)
