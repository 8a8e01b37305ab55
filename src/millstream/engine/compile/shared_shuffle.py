"""Operators that share a shuffle: stages of one processor, in which one reads another's results.

An operator over the results of a join, by the key of the join, needs no shuffle of its own.
`plan/facts/colocation` decides which operators these are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import DataFrame

from millstream.engine.compile.join_inputs import CARRIED_HASH, PackedSides
from millstream.engine.compile.packet_columns import PackedInput
from millstream.engine.compile.physical_operator import PhysicalOperator, output_schema
from millstream.engine.processor.processor import Stage, StageLink
from millstream.engine.shuffle.column_names import INPUTS
from millstream.engine.shuffle.packer import PackerSpec
from millstream.kernels.core.kernel import HASH
from millstream.plan.facts.colocation import SharedShuffle


@dataclass(frozen=True, slots=True)
class StageChain:
    """All stages up to an operator, and the inputs that are packed for them."""

    operator: PhysicalOperator  # of the last stage
    stages: tuple[Stage, ...]
    inputs: tuple[tuple[PackedInput, PackerSpec], ...]


def append_stage(shared: SharedShuffle, join: StageChain, reader: StageChain) -> StageChain:
    """Returns the stages of a join, followed by the stage of the operator that reads its
    results."""
    assert join.operator.sides is not None
    *first, last = join.stages
    linked = last.with_link(_link(shared, reader.operator, join.operator.sides))
    position = len(join.stages)
    others = tuple(
        (packed_input, replace(packer_spec, target=position * INPUTS + packer_spec.target))
        for packed_input, packer_spec in reader.inputs
        if packer_spec.target != shared.number
    )
    stages = (*first, linked, *reader.stages)
    return StageChain(reader.operator, stages, (*join.inputs, *others))


def _link(shared: SharedShuffle, reader: PhysicalOperator, join: PackedSides) -> StageLink:
    """How results of the join get the columns that packets of the reader would have."""
    packed_input, packer_spec = reader.inputs[shared.number]
    buffered = tuple(
        {field.name: field.packet_name for field in side.fields} for side in (join.left, join.right)
    )

    def joined_column(name: str) -> str:
        side, column = shared.columns[name]
        return buffered[side][column]

    columns = [
        (name, joined_column(source_column))
        for name, source_column in packed_input.source_columns.items()
        if name not in (HASH, CARRIED_HASH)
    ]
    hash_columns: tuple[str, ...] = ()
    join_hash = join.left.hash_from or (None if shared.is_hashable else CARRIED_HASH)
    if reader.hash_from[shared.number] is None:
        if shared.has_whole_key and join_hash is not None:
            columns.append((HASH, join_hash))
        else:
            hash_columns = packed_input.hash_columns
    if CARRIED_HASH in packed_input.schema.names:
        assert join_hash is not None
        columns.append((CARRIED_HASH, join_hash))
    return StageLink(shared.number, tuple(columns), hash_columns, packer_spec.fold)


def schema_frame(operator: PhysicalOperator) -> DataFrame:
    """A DataFrame with the columns of an operator's results, for an operator whose results are read
    by the next stage. Spark only analyses it and never runs it."""

    def unchanged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return batches

    packed_input, _ = operator.inputs[0]
    return packed_input.frame.mapInArrow(unchanged, output_schema(operator))
