"""The columnar engine: operators as packets, an exchange and a kernel in the state host.

result of an operator ──▶ SELECTs ──▶ packets ──▶ exchange ──▶ host ──▶ result, and the rest
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ByteType, StructField, StructType

from millstream.connectors.deferred_frame import DeferredFrame
from millstream.connectors.work_items import MAX_PARTS, split_into_parts
from millstream.engine.compile.compiled_operator import CompiledOperator
from millstream.engine.compile.file_streams import FileStreams
from millstream.engine.compile.input_columns import create_input_spec
from millstream.engine.compile.operators import COMPILERS
from millstream.engine.compile.packet_columns import PackedInput
from millstream.engine.compile.physical_operator import PhysicalOperator, share_of
from millstream.engine.compile.shared_shuffle import link_stages
from millstream.engine.compile.stateless import StreamFrame, compile_stream, source_of, spark_errors
from millstream.engine.compile.table_join import TableJoinCompiler
from millstream.engine.processor.processor import KernelProcessor, Stage
from millstream.engine.shuffle.column_names import INPUTS, SIDE_COLUMNS
from millstream.engine.shuffle.control_stream import ControlStream, control_packets
from millstream.engine.shuffle.key_groups import labels
from millstream.engine.shuffle.max_ahead import MaxAhead
from millstream.engine.shuffle.packer import PACKET, PackerSpec, packer
from millstream.kernels.core.kernel import OP
from millstream.plan.facts.colocation import SharedShuffle, find_shared_shuffle
from millstream.plan.identity import Document
from millstream.plan.nodes import (
    Input,
    Node,
    Operator,
    Select,
    Source,
    TableJoin,
)
from millstream.plan.nodes.traversal import inputs_of
from millstream.state_format import STATE_FORMAT, canonical_json


@dataclass(slots=True)
class ColumnarCompiler:
    """Makes the operators of one query, from the sink's side on."""

    spark: SparkSession
    sources: Mapping[str, DeferredFrame]
    names: tuple[tuple[str, ...], ...]  # of the inputs of each operator
    identities: tuple[Document, ...]  # what the state of each operator depends on
    groups: int
    control: ControlStream | None
    tables: TableJoinCompiler
    max_ahead: int | None = None  # of sources that say nothing of it
    sends_allowances: bool = False  # does the driver send key groups what state they may have?
    relayed: frozenset[int] = frozenset()  # numbers of operators that a later branch reads
    compiled: list[CompiledOperator | None] = field(default_factory=list)  # by number
    limits: dict[str, MaxAhead] = field(default_factory=dict)  # by source
    _chains: dict[int, StageChain] = field(default_factory=dict)  # by number
    # Set while an input is compiled: the operator that reads it in the same host.
    _colocated_reader: SharedShuffle | None = None
    # Results of an earlier branch, which the next equal operator reads instead of being compiled.
    _relayed: tuple[Operator, CompiledOperator] | None = None
    _files: FileStreams = field(init=False)

    def __post_init__(self) -> None:
        self._files = FileStreams(self.spark)

    def read_relayed(self, node: Operator, number: int, results: DataFrame) -> None:
        """Sets the results of the next operator that is equal to `node`."""
        compiled = self.compiled[number]
        assert compiled is not None
        self._relayed = node, replace(compiled, raw=results)

    def schema_of(self, number: int) -> StructType:
        """The columns of an operator's results, with port columns."""
        compiled = self.compiled[number]
        assert compiled is not None
        return compiled.raw.schema

    def compile_operator(self, node: Operator) -> CompiledOperator:
        if self._relayed is not None and node == self._relayed[0]:
            (_, relayed), self._relayed = self._relayed, None
            return relayed
        number = len(self.compiled)
        self.compiled.append(None)  # numbered before its inputs, as in `query_operators`
        inputs = inputs_of(node)
        shared = find_shared_shuffle(node)
        if shared is not None and self._relayed is not None and shared.join == self._relayed[0]:
            shared = None  # its results come from another branch
        reader, self._colocated_reader = self._colocated_reader, None
        streams, first_numbers = [], []
        for place, side in enumerate(inputs):
            # Between the two are SELECTs only, so that the reader is that of the next operator.
            self._colocated_reader = (
                shared if shared is not None and shared.number == place else None
            )
            first_numbers.append(
                len(self.compiled)
            )  # the number of the operator that it reads, if it is one
            streams.append(self.compile_stream(side.node))
        with spark_errors():
            carries_hash = reader is not None and not reader.is_hashable
            compile_operator = COMPILERS[type(node)]
            operation = compile_operator(self.spark, node, streams, self.groups, carries_hash)
            operation = self._with_time_limits(operation, inputs, streams)
        chain = tuple(
            create_input_spec(name, side, rows, packer_spec, hash_from, keys)
            for name, side, rows, (_, packer_spec), hash_from, keys in zip(
                self.names[number],
                inputs,
                streams,
                operation.inputs,
                operation.hash_from,
                operation.keys,
                strict=True,
            )
        )
        chain = tuple(
            replace(
                each,
                last_window=operation.last_window,
                wall_clock=each.wall_clock or operation.wall_clock,
            )
            for each in chain
        )
        identity = self._identity(number, operation)
        share = share_of(node.limit, self.groups)
        own_share = None if self.sends_allowances else share
        evicts = share is not None
        columns = tuple(_output_schema(operation).names[: -len(SIDE_COLUMNS)])
        own = Stage(
            number,
            operation.kernel,
            chain,
            identity,
            share=own_share,
            evicts=evicts,
            relayed=columns if number in self.relayed else (),
        )
        processor = StageChain(operation, (own,), operation.inputs)
        if shared is not None:
            processor = append_stage(shared, self._chains[first_numbers[shared.number]], processor)
        self._chains[number] = processor
        raw = self._process(processor) if reader is None else schema_frame(operation)
        compiled = CompiledOperator(
            number, raw, operation.shown, operation.changes, operation.where, operation.late
        )
        self.compiled[number] = compiled
        return compiled

    def compile_node(self, node: Node) -> StreamFrame:
        """The rows of any node."""
        return (
            self.compile_stream(node) if isinstance(node, Source | Select) else self._result(node)
        )

    def compile_stream(self, node: Source | Select) -> StreamFrame:
        return compile_stream(node, self.sources, self._result, self._files.of)

    def _result(self, node: Operator | TableJoin) -> StreamFrame:
        if isinstance(node, TableJoin):
            return self.tables.step(node, self.compile_stream(node.left.node))
        return self.compile_operator(node).compile_stream()

    def _identity(self, number: int, operation: PhysicalOperator) -> str:
        """What an operator's state depends on: its plan, and what only the engine knows."""
        physical = {"key_groups": self.groups, **operation.physical}
        document = {**self.identities[number], "physical": physical, "format": STATE_FORMAT}
        return canonical_json(document)

    def _with_time_limits(
        self, operation: PhysicalOperator, sides: Sequence[Input], streams: Sequence[StreamFrame]
    ) -> PhysicalOperator:
        """With the limits of how far event times of sources may be ahead of processing time."""
        inputs = []
        for side, rows, (packed_input, packer_spec) in zip(
            sides, streams, operation.inputs, strict=True
        ):
            source, limit = source_of(side.node), None
            if source and source.time and side.time and rows.upstream is None:
                micros = self.max_ahead if source.max_ahead is None else source.max_ahead
                if micros:
                    types = rows.rows.types
                    limit = MaxAhead.of(
                        source.name, source.time, micros, packed_input.source_columns, types
                    )
                    self.limits[source.name] = limit
            inputs.append((packed_input, replace(packer_spec, max_ahead=limit)))
        return replace(operation, inputs=tuple(inputs))

    def _process(self, chain: StageChain) -> DataFrame:
        stream: DataFrame | None = None
        for frame, packer_spec in self._split_files(chain.inputs):
            packets = frame.mapInArrow(packer(packer_spec), PACKET)
            stream = packets if stream is None else stream.unionByName(packets)
        assert stream is not None
        read = [each for stage in chain.stages for each in stage.inputs]
        timed = any(each.wall_clock or not each.derived for each in read)
        if self.control is not None and (timed or self.sends_allowances):
            said = control_packets(self.control, labels(self.groups), about_time=timed)
            stream = stream.unionByName(said)
        schema = _output_schema(chain.operation)
        columns = tuple(schema.names[: -len(SIDE_COLUMNS)])
        processor = KernelProcessor(chain.stages, columns)
        return stream.groupBy("label").transformWithStateInPandas(
            processor, schema, "Append", "None"
        )

    def _split_files(
        self, inputs: Sequence[tuple[PackedInput, PackerSpec]]
    ) -> Iterator[tuple[DataFrame, PackerSpec]]:
        """Inputs, those that are files in as many parts as keep all cores busy."""
        cores = self.spark.sparkContext.defaultParallelism
        weight = sum(packed_input.file_bytes for packed_input, _ in inputs)
        for packed_input, packer_spec in inputs:
            parts = round(cores * packed_input.file_bytes / weight) if weight else 1
            least = packer_spec.scan.reader.min_part_bytes if packer_spec.scan else 1
            parts = min(parts, MAX_PARTS, packed_input.file_bytes // least)
            if packer_spec.scan is None or parts < 2:
                yield packed_input.frame, packer_spec
            else:
                yield (
                    split_into_parts(packed_input.frame, parts),
                    replace(packer_spec, scan=replace(packer_spec.scan, parts=parts)),
                )


@dataclass(frozen=True, slots=True)
class StageChain:
    """An operator in its host: all stages up to it, and the rows that are packed for them."""

    operation: PhysicalOperator
    stages: tuple[Stage, ...]
    inputs: tuple[tuple[PackedInput, PackerSpec], ...]


def _output_schema(operation: PhysicalOperator) -> StructType:
    schema = StructType(list(operation.schema))
    if operation.changes:
        schema.add(StructField(OP, ByteType()))
    for port in SIDE_COLUMNS:
        schema.add(port)
    return schema


def schema_frame(operation: PhysicalOperator) -> DataFrame:
    """What comes out of an operator whose results are read in its own host. Spark never runs it:
    it is asked for types alone."""

    def unread(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return batches

    packed_input, _ = operation.inputs[0]
    return packed_input.frame.mapInArrow(unread, _output_schema(operation))


def append_stage(shared: SharedShuffle, below: StageChain, own: StageChain) -> StageChain:
    """An operator in the host of the one whose results it reads."""
    assert below.operation.sides is not None
    *first, last = below.stages
    fed = last.with_link(link_stages(shared, own.operation, below.operation.sides))
    place = len(below.stages)
    others = tuple(
        (packed_input, replace(packer_spec, source=place * INPUTS + packer_spec.source))
        for packed_input, packer_spec in own.inputs
        if packer_spec.source != shared.number
    )
    stages = (*first, fed, *own.stages)
    return StageChain(own.operation, stages, (*below.inputs, *others))
