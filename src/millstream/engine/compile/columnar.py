"""The columnar engine: operators as packets, an exchange and a kernel in the state host.

result of an operator ──▶ SELECTs ──▶ packets ──▶ exchange ──▶ host ──▶ result, and the rest
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ByteType, StructField, StructType

from millstream.connectors.deferred_frame import Rows
from millstream.connectors.work_items import MOST_PARTS, in_parts
from millstream.engine.compile.compiled_operator import Operated
from millstream.engine.compile.file_streams import FileStreams
from millstream.engine.compile.input_columns import host_input
from millstream.engine.compile.operators import COMPILERS
from millstream.engine.compile.packet_columns import Ready
from millstream.engine.compile.physical_operator import Operation, share_of
from millstream.engine.compile.shared_shuffle import feed
from millstream.engine.compile.stateless import Flow, flow, source_of, spark_errors
from millstream.engine.compile.table_join import TableSteps
from millstream.engine.processor.processor import KernelHost, Stage
from millstream.engine.shuffle.column_names import INPUTS, PORTS
from millstream.engine.shuffle.control_stream import ControlStream, control_packets
from millstream.engine.shuffle.key_groups import labels
from millstream.engine.shuffle.max_ahead import MaxAhead
from millstream.engine.shuffle.packer import PACKET, Packing, packer
from millstream.kernels.core.kernel import OP
from millstream.plan.facts.colocation import SharedExchange, shared_exchange
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
from millstream.state_format import STATE_FORMAT, canonical


@dataclass(slots=True)
class Columnar:
    """Makes the operators of one query, from the sink's side on."""

    spark: SparkSession
    sources: Mapping[str, Rows]
    names: tuple[tuple[str, ...], ...]  # of the inputs of each operator
    identities: tuple[Document, ...]  # what the state of each operator depends on
    groups: int
    control: ControlStream | None
    tables: TableSteps
    max_ahead: int | None = None  # of sources that say nothing of it
    allowances: bool = False  # does the driver send key groups what state they may have?
    relayed: frozenset[int] = frozenset()  # numbers of operators that a later branch reads
    made: list[Operated | None] = field(default_factory=list)  # by number
    limits: dict[str, MaxAhead] = field(default_factory=dict)  # by source
    _hosted: dict[int, _Hosted] = field(default_factory=dict)  # by number
    # Set while an input is compiled: the operator that reads it in the same host.
    _reader: SharedExchange | None = None
    # Results of an earlier branch, which the next equal operator reads instead of being compiled.
    _relayed: tuple[Operator, Operated] | None = None
    _files: FileStreams = field(init=False)

    def __post_init__(self) -> None:
        self._files = FileStreams(self.spark)

    def read_relayed(self, node: Operator, number: int, results: DataFrame) -> None:
        """Sets the results of the next operator that is equal to `node`."""
        made = self.made[number]
        assert made is not None
        self._relayed = node, replace(made, raw=results)

    def schema_of(self, number: int) -> StructType:
        """The columns of an operator's results, with port columns."""
        made = self.made[number]
        assert made is not None
        return made.raw.schema

    def operate(self, node: Operator) -> Operated:
        if self._relayed is not None and node == self._relayed[0]:
            (_, relayed), self._relayed = self._relayed, None
            return relayed
        number = len(self.made)
        self.made.append(None)  # numbered before its inputs, as in `query_operators`
        inputs = inputs_of(node)
        shared = shared_exchange(node)
        if shared is not None and self._relayed is not None and shared.below == self._relayed[0]:
            shared = None  # its results come from another branch
        reader, self._reader = self._reader, None
        flows, firsts = [], []
        for place, side in enumerate(inputs):
            # Between the two are SELECTs only, so that the reader is that of the next operator.
            self._reader = shared if shared is not None and shared.number == place else None
            firsts.append(len(self.made))  # the number of the operator that it reads, if it is one
            flows.append(self.flow(side.node))
        with spark_errors():
            carrying = reader is not None and not reader.hashable
            compile_operator = COMPILERS[type(node)]
            operation = compile_operator(self.spark, node, flows, self.groups, carrying)
            operation = self._limited(operation, inputs, flows)
        hosted = tuple(
            host_input(name, side, rows, packing, hash_from, keys)
            for name, side, rows, (_, packing), hash_from, keys in zip(
                self.names[number],
                inputs,
                flows,
                operation.inputs,
                operation.hash_from,
                operation.keys,
                strict=True,
            )
        )
        hosted = tuple(
            replace(
                each,
                last_window=operation.last_window,
                wall_clock=each.wall_clock or operation.wall_clock,
            )
            for each in hosted
        )
        identity = self._identity(number, operation)
        share = share_of(node.limit, self.groups)
        own_share = None if self.allowances else share
        evicts = share is not None
        columns = tuple(_output_schema(operation).names[: -len(PORTS)])
        own = Stage(
            number,
            operation.kernel,
            hosted,
            identity,
            share=own_share,
            evicts=evicts,
            relayed=columns if number in self.relayed else (),
        )
        host = _Hosted(operation, (own,), operation.inputs)
        if shared is not None:
            host = _after(shared, self._hosted[firsts[shared.number]], host)
        self._hosted[number] = host
        raw = self._host(host) if reader is None else _outline(operation)
        made = Operated(
            number, raw, operation.shown, operation.changes, operation.where, operation.late
        )
        self.made[number] = made
        return made

    def flow_of(self, node: Node) -> Flow:
        """The rows of any node."""
        return self.flow(node) if isinstance(node, Source | Select) else self._result(node)

    def flow(self, node: Source | Select) -> Flow:
        return flow(node, self.sources, self._result, self._files.of)

    def _result(self, node: Operator | TableJoin) -> Flow:
        if isinstance(node, TableJoin):
            return self.tables.step(node, self.flow(node.left.node))
        return self.operate(node).flow()

    def _identity(self, number: int, operation: Operation) -> str:
        """What an operator's state depends on: its plan, and what only the engine knows."""
        physical = {"key_groups": self.groups, **operation.physical}
        document = {**self.identities[number], "physical": physical, "format": STATE_FORMAT}
        return canonical(document)

    def _limited(
        self, operation: Operation, sides: Sequence[Input], flows: Sequence[Flow]
    ) -> Operation:
        """With the limits of how far event times of sources may be ahead of processing time."""
        inputs = []
        for side, rows, (ready, packing) in zip(sides, flows, operation.inputs, strict=True):
            source, limit = source_of(side.node), None
            if source and source.time and side.time and rows.upstream is None:
                micros = self.max_ahead if source.max_ahead is None else source.max_ahead
                if micros:
                    types = rows.rows.types
                    limit = MaxAhead.of(source.name, source.time, micros, ready.plains, types)
                    self.limits[source.name] = limit
            inputs.append((ready, replace(packing, max_ahead=limit)))
        return replace(operation, inputs=tuple(inputs))

    def _host(self, hosted: _Hosted) -> DataFrame:
        stream: DataFrame | None = None
        for frame, packing in self._cut(hosted.inputs):
            packets = frame.mapInArrow(packer(packing), PACKET)
            stream = packets if stream is None else stream.unionByName(packets)
        assert stream is not None
        read = [each for stage in hosted.stages for each in stage.inputs]
        timed = any(each.wall_clock or not each.derived for each in read)
        if self.control is not None and (timed or self.allowances):
            said = control_packets(self.control, labels(self.groups), about_time=timed)
            stream = stream.unionByName(said)
        schema = _output_schema(hosted.operation)
        columns = tuple(schema.names[: -len(PORTS)])
        host = KernelHost(hosted.stages, columns)
        return stream.groupBy("label").transformWithStateInPandas(host, schema, "Append", "None")

    def _cut(self, inputs: Sequence[tuple[Ready, Packing]]) -> Iterator[tuple[DataFrame, Packing]]:
        """Inputs, those that are files in as many parts as keep all cores busy."""
        cores = self.spark.sparkContext.defaultParallelism
        weight = sum(ready.file_bytes for ready, _ in inputs)
        for ready, packing in inputs:
            parts = round(cores * ready.file_bytes / weight) if weight else 1
            least = packing.scan.reader.least_part if packing.scan else 1
            parts = min(parts, MOST_PARTS, ready.file_bytes // least)
            if packing.scan is None or parts < 2:
                yield ready.frame, packing
            else:
                yield (
                    in_parts(ready.frame, parts),
                    replace(packing, scan=replace(packing.scan, parts=parts)),
                )


@dataclass(frozen=True, slots=True)
class _Hosted:
    """An operator in its host: all stages up to it, and the rows that are packed for them."""

    operation: Operation
    stages: tuple[Stage, ...]
    inputs: tuple[tuple[Ready, Packing], ...]


def _output_schema(operation: Operation) -> StructType:
    schema = StructType(list(operation.schema))
    if operation.changes:
        schema.add(StructField(OP, ByteType()))
    for port in PORTS:
        schema.add(port)
    return schema


def _outline(operation: Operation) -> DataFrame:
    """What comes out of an operator whose results are read in its own host. Spark never runs it:
    it is asked for types alone."""

    def unread(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return batches

    ready, _ = operation.inputs[0]
    return ready.frame.mapInArrow(unread, _output_schema(operation))


def _after(shared: SharedExchange, below: _Hosted, own: _Hosted) -> _Hosted:
    """An operator in the host of the one whose results it reads."""
    assert below.operation.sides is not None
    *first, last = below.stages
    fed = last.feeding(feed(shared, own.operation, below.operation.sides))
    place = len(below.stages)
    others = tuple(
        (ready, replace(packing, source=place * INPUTS + packing.source))
        for ready, packing in own.inputs
        if packing.source != shared.number
    )
    stages = (*first, fed, *own.stages)
    return _Hosted(own.operation, stages, (*below.inputs, *others))
