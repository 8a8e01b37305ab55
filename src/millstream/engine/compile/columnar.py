"""The columnar engine: compiles each operator to packets, a shuffle and a kernel in the processor.

result of an operator ──▶ SELECTs ──▶ packets ──▶ shuffle ──▶ processor ──▶ result, side rows
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from millstream.connectors.deferred_frame import DeferredFrame
from millstream.connectors.work_items import MAX_PARTS, split_into_parts
from millstream.engine.compile.compiled_operator import CompiledOperator
from millstream.engine.compile.diverted_rows import divert_rows
from millstream.engine.compile.file_streams import FileStreams
from millstream.engine.compile.input_columns import create_input_spec
from millstream.engine.compile.operators import COMPILERS
from millstream.engine.compile.packet_columns import PackedInput
from millstream.engine.compile.physical_operator import PhysicalOperator, output_schema, share_of
from millstream.engine.compile.shared_shuffle import StageChain, append_stage, schema_frame
from millstream.engine.compile.stateless import StreamFrame, compile_stream, source_of, spark_errors
from millstream.engine.compile.table_join import TableJoinCompiler
from millstream.engine.compile.union_inputs import compile_with_branches
from millstream.engine.processor.processor import KernelProcessor, Stage
from millstream.engine.shuffle.column_names import SIDE_COLUMNS
from millstream.engine.shuffle.control_stream import ControlStream, control_packets
from millstream.engine.shuffle.format import PACKET
from millstream.engine.shuffle.key_groups import labels
from millstream.engine.shuffle.max_ahead import MaxAhead
from millstream.engine.shuffle.packer import PackerSpec, packer
from millstream.plan.facts.colocation import SharedShuffle, find_shared_shuffle
from millstream.plan.facts.evaluated_expressions import columns_of_input, input_expressions
from millstream.plan.facts.union import branch_inputs, physical_inputs
from millstream.plan.identity import Document
from millstream.plan.nodes import (
    Input,
    Node,
    Operator,
    Select,
    Source,
    TableJoin,
    UnionAll,
)
from millstream.plan.nodes.traversal import inputs_of
from millstream.state_format import STATE_FORMAT, canonical_json
from millstream.temporal import LateAction


@dataclass(slots=True)
class ColumnarCompiler:
    """Compiles the operators of one query, from the sink to the sources."""

    spark: SparkSession
    sources: Mapping[str, DeferredFrame]
    input_names: tuple[tuple[str, ...], ...]  # of each operator
    identities: tuple[Document, ...]  # what the state of each operator depends on
    groups: int
    control: ControlStream | None
    tables: TableJoinCompiler
    # The name of each operator in dead letters; empty: a row for which an expression fails fails
    # the query.
    titles: tuple[str, ...] = ()
    max_ahead: int | None = None  # the default of sources
    sends_allowances: bool = False  # does the driver limit the state of key groups?
    relayed_numbers: frozenset[int] = frozenset()  # of operators that a later group reads
    compiled: list[CompiledOperator | None] = field(default_factory=list)  # by number
    max_ahead_by_source: dict[str, MaxAhead] = field(default_factory=dict)
    _chains: dict[int, StageChain] = field(default_factory=dict)  # by number
    # Set while an input is compiled: the shuffle that it shares with the operator that reads it.
    _shared_by_reader: SharedShuffle | None = None
    # Results of an earlier output group, which are read instead of compiling the next operator that
    # is equal to this one.
    _results_to_read: tuple[Operator, CompiledOperator] | None = None
    _files: FileStreams = field(init=False)

    def __post_init__(self) -> None:
        self._files = FileStreams(self.spark)

    def read_relayed(self, node: Operator, number: int, results: DataFrame) -> None:
        """Sets the results of the next operator that is equal to `node`."""
        compiled = self.compiled[number]
        assert compiled is not None
        self._results_to_read = node, replace(compiled, raw=results)

    def schema_of(self, number: int) -> StructType:
        """The columns of an operator's results, with SIDE_COLUMNS."""
        compiled = self.compiled[number]
        assert compiled is not None
        return compiled.raw.schema

    def compile_operator(self, node: Operator) -> CompiledOperator:
        """Compiles an operator and all that it reads."""
        if self._results_to_read is not None and node == self._results_to_read[0]:
            (_, relayed), self._results_to_read = self._results_to_read, None
            return relayed
        number = len(self.compiled)
        self.compiled.append(None)  # numbered before its inputs, as in `query_operators`
        inputs = inputs_of(node)
        shared = find_shared_shuffle(node)
        if (
            shared is not None
            and self._results_to_read is not None
            and shared.join == self._results_to_read[0]
        ):
            shared = None  # its results come from another output group
        shared_by_reader, self._shared_by_reader = self._shared_by_reader, None
        branches, first_numbers = [], []
        for input_number, side in enumerate(inputs):
            # Between the two are only SELECTs, so the next operator is the one that is read.
            is_shared = shared is not None and shared.number == input_number
            self._shared_by_reader = shared if is_shared else None
            first_numbers.append(len(self.compiled))  # the number of the input's operator, if any
            branches.append(
                tuple((each, self._compile_input(node, each)) for each in branch_inputs(side))
            )
        sides = [side for each in branches for side, _ in each]
        streams = [rows for each in branches for _, rows in each]
        with spark_errors(node):
            carries_hash = shared_by_reader is not None and not shared_by_reader.is_hashable
            compile_kind = COMPILERS[type(node)]
            operator = compile_with_branches(
                node,
                branches,
                lambda over, rows: compile_kind(self.spark, over, rows, self.groups, carries_hash),
            )
            operator = self._with_max_ahead(operator, sides, streams)
        chain = StageChain(
            operator, (self._stage(number, node, operator, streams),), operator.inputs
        )
        if shared is not None:
            chain = append_stage(shared, self._chains[first_numbers[shared.number]], chain)
        self._chains[number] = chain
        raw = self._process(chain) if shared_by_reader is None else schema_frame(operator)
        compiled = CompiledOperator(
            number,
            raw,
            operator.visible_columns,
            operator.is_changelog,
            operator.where,
            operator.match_filter,
            operator.late,
        )
        self.compiled[number] = compiled
        return compiled

    def _stage(
        self, number: int, node: Operator, operator: PhysicalOperator, streams: list[StreamFrame]
    ) -> Stage:
        specs = (
            create_input_spec(name, side, rows, packer_spec, hash_from, keys)
            for name, side, rows, (_, packer_spec), hash_from, keys in zip(
                self.input_names[number],
                physical_inputs(node),
                streams,
                operator.inputs,
                operator.hash_from,
                operator.keys,
                strict=True,
            )
        )
        kernel_inputs = [
            (number, len(own) > 1)
            for number, side in enumerate(inputs_of(node))
            for own in [branch_inputs(side)]
            for _ in own
        ]
        keeps_late = node.late.action is LateAction.SIDE_OUTPUT
        inputs = tuple(
            replace(
                each,
                kernel_input=number,
                keeps_origin=is_branch and keeps_late,
                last_window=operator.last_window,
                wall_clock=each.wall_clock or operator.wall_clock,
            )
            for each, (number, is_branch) in zip(specs, kernel_inputs, strict=True)
        )
        share = share_of(node.limit, self.groups)
        columns = tuple(output_schema(operator).names[: -len(SIDE_COLUMNS)])
        return Stage(
            number,
            operator.kernel,
            inputs,
            self._identity(number, operator),
            default_limit=None if self.sends_allowances else share,
            evicts=share is not None,
            relayed=columns if number in self.relayed_numbers else (),
        )

    def compile_node(self, node: Node, needed: frozenset[str] | None = None) -> StreamFrame:
        """The rows of any node, of which the columns `needed` are read; None: all of them."""
        if isinstance(node, Source | Select):
            return self.compile_stream(node, needed)
        assert not isinstance(node, UnionAll), "a pipeline is one branch of a UNION ALL"
        return self._result(node)

    def compile_stream(
        self, node: Source | Select, needed: frozenset[str] | None = None
    ) -> StreamFrame:
        """The rows of a source or SELECT, with all that it reads."""
        return compile_stream(
            node,
            self.sources,
            self._result,
            self._files.of,
            diverts=bool(self.titles),
            needed=needed,
        )

    def _compile_input(self, node: Operator | TableJoin, side: Input) -> StreamFrame:
        """The rows of an input, without those for which an expression of the operator fails."""
        if not self.titles:
            return self.compile_stream(side.node)
        rows = self.compile_stream(side.node, columns_of_input(node, side))
        with spark_errors(node):
            return divert_rows(rows, side.alias, input_expressions(node, side))

    def _result(self, node: Operator | TableJoin) -> StreamFrame:
        if isinstance(node, TableJoin):
            return self.tables.compile_join(node, self._compile_input(node, node.left))
        compiled = self.compile_operator(node)
        rows = compiled.result_stream()
        return replace(rows, rejects_as=self.titles[compiled.number]) if self.titles else rows

    def _identity(self, number: int, operator: PhysicalOperator) -> str:
        """What the state of an operator depends on: its plan, and facts that only the engine
        knows."""
        physical = {"key_groups": self.groups, **operator.physical}
        document = {**self.identities[number], "physical": physical, "format": STATE_FORMAT}
        return canonical_json(document)

    def _with_max_ahead(
        self, operator: PhysicalOperator, sides: Sequence[Input], streams: Sequence[StreamFrame]
    ) -> PhysicalOperator:
        """Adds to each input how far its event times may be ahead of processing time."""
        inputs = []
        for side, rows, (packed_input, packer_spec) in zip(
            sides, streams, operator.inputs, strict=True
        ):
            source, limit = source_of(side.node), None
            if source and side.time and rows.upstream is None:
                micros = self.max_ahead if source.max_ahead is None else source.max_ahead
                if micros:
                    types = rows.rows.types
                    limit = MaxAhead.of(
                        source.name,
                        source.time or side.time,
                        micros,
                        packed_input.source_columns,
                        types,
                    )
                    self.max_ahead_by_source[source.name] = limit
            inputs.append((packed_input, replace(packer_spec, max_ahead=limit)))
        return replace(operator, inputs=tuple(inputs))

    def _process(self, chain: StageChain) -> DataFrame:
        """Packs the inputs, shuffles the packets and runs the stages."""
        stream: DataFrame | None = None
        for frame, packer_spec in self._split_files(chain.inputs):
            packets = frame.mapInArrow(packer(packer_spec), PACKET)
            stream = packets if stream is None else stream.unionByName(packets)
        assert stream is not None
        read = [each for stage in chain.stages for each in stage.inputs]
        timed = any(each.wall_clock or not each.derived for each in read)
        if self.control is not None and (timed or self.sends_allowances):
            messages = control_packets(self.control, labels(self.groups), about_time=timed)
            stream = stream.unionByName(messages)
        schema = output_schema(chain.operator)
        columns = tuple(schema.names[: -len(SIDE_COLUMNS)])
        processor = KernelProcessor(chain.stages, columns)
        return stream.groupBy("label").transformWithStateInPandas(
            processor, schema, "Append", "None"
        )

    def _split_files(
        self, inputs: Sequence[tuple[PackedInput, PackerSpec]]
    ) -> Iterator[tuple[DataFrame, PackerSpec]]:
        """Splits inputs that are files into as many parts as keep all cores busy."""
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
