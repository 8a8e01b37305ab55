"""An operator over results of a join, by their key, runs in the join's host with no exchange."""

from __future__ import annotations

from millstream.engine.compile.join_inputs import CARRIED, PackedSides
from millstream.engine.compile.physical_operator import PhysicalOperator
from millstream.engine.processor.processor import StageLink
from millstream.kernels.core.kernel import HASH
from millstream.plan.facts.colocation import SharedShuffle


def link_stages(shared: SharedShuffle, reader: PhysicalOperator, below: PackedSides) -> StageLink:
    """How the join's results become what the reader's packets would be."""
    packed_input, packer_spec = reader.inputs[shared.number]
    held = tuple(
        {field.name: field.packet_name for field in side.fields}
        for side in (below.left, below.right)
    )

    def at(name: str) -> str:
        of, column = shared.columns[name]
        return held[of][column]

    own = (HASH, CARRIED)
    renamed = [
        (name, at(source_column))
        for name, source_column in packed_input.source_columns.items()
        if name not in own
    ]
    hash_columns: tuple[str, ...] = ()
    joined_by = below.left.hash_from or (None if shared.is_hashable else CARRIED)
    if reader.hash_from[shared.number] is None:
        if shared.has_whole_key and joined_by is not None:
            renamed.append((HASH, joined_by))
        else:
            hash_columns = packed_input.hash_columns
    if CARRIED in packed_input.schema.names:
        assert joined_by is not None
        renamed.append((CARRIED, joined_by))
    return StageLink(shared.number, tuple(renamed), hash_columns, packer_spec.fold)
