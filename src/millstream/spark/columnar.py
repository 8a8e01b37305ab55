"""The columnar engine: operators as packets, an exchange and a kernel in the state host.

result of an operator ──▶ SELECTs ──▶ packets ──▶ exchange ──▶ host ──▶ result, and the rest
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ByteType, StructField, StructType

from millstream.kernels.base import OP
from millstream.observe.account import InputNames
from millstream.plan.nodes import (
    Input,
    IntervalJoin,
    Operator,
    RegularJoin,
    Select,
    SessionJoin,
    Source,
    TableJoin,
    TemporalJoin,
)
from millstream.plan.walk import inputs_of
from millstream.spark import operations
from millstream.spark.clock import HostInput
from millstream.spark.control import control_packets
from millstream.spark.groups import labels
from millstream.spark.host import PORTS, KernelHost
from millstream.spark.inputs import host_input
from millstream.spark.joins.interval import interval_operation
from millstream.spark.joins.regular import regular_operation
from millstream.spark.joins.session import session_operation
from millstream.spark.joins.temporal import temporal_operation
from millstream.spark.operated import Operated
from millstream.spark.operation import Operation
from millstream.spark.packets import PACKET, packer
from millstream.spark.stateless import Flow, flow, source_of, spark_errors
from millstream.spark.tables.join import TableSteps


@dataclass(slots=True)
class Columnar:
    """Makes the operators of one pipeline, from the sink's side on."""

    spark: SparkSession
    sources: Mapping[str, DataFrame]
    names: InputNames
    groups: int
    control: str | None
    tables: TableSteps
    made: list[Operated | None] = field(default_factory=list)  # by number

    def operate(self, node: Operator) -> Operated:
        number = len(self.made)
        self.made.append(None)  # numbered before those it reads, as `operators_of` has them
        inputs = inputs_of(node)
        flows = [self.flow(side.node) for side in inputs]
        clocked = any(_watches_the_clock(side) for side in inputs)
        with spark_errors():
            operation = self._operation(node, flows, number, clocked)
        hosted = tuple(
            host_input(name, side, rows, hash_from, keys)
            for name, side, rows, hash_from, keys in zip(
                self.names[number],
                inputs,
                flows,
                operation.hash_from,
                operation.keys,
                strict=True,
            )
        )
        if isinstance(node, IntervalJoin) and node.windows and node.windows[0] == node.windows[1]:
            window = node.windows[0]
            last = node.lateness + window.size - window.slide
            hosted = tuple(replace(each, last_window=last) for each in hosted)
        raw = self._host(operation, hosted, number)
        made = Operated(
            number, raw, operation.shown, operation.changes, operation.where, operation.late
        )
        self.made[number] = made
        return made

    def flow(self, node: Source | Select) -> Flow:
        return flow(node, self.sources, self._result)

    def _result(self, node: Operator | TableJoin) -> Flow:
        if isinstance(node, TableJoin):
            return self.tables.step(node, self.flow(node.left.node))
        return self.operate(node).flow()

    def _operation(
        self, node: Operator, flows: list[Flow], number: int, clocked: bool
    ) -> Operation:
        if isinstance(node, IntervalJoin):
            return interval_operation(self.spark, node, (flows[0], flows[1]), self.groups, clocked)
        if isinstance(node, TemporalJoin):
            return temporal_operation(self.spark, node, (flows[0], flows[1]), self.groups, clocked)
        if isinstance(node, RegularJoin):
            return regular_operation(self.spark, node, (flows[0], flows[1]), self.groups, clocked)
        if isinstance(node, SessionJoin):
            return session_operation(self.spark, node, (flows[0], flows[1]), self.groups, clocked)
        return operations.make(self.spark, node, flows[0], self.groups, clocked)

    def _host(self, operation: Operation, inputs: tuple[HostInput, ...], number: int) -> DataFrame:
        stream: DataFrame | None = None
        for frame, packing in operation.inputs:
            packets = frame.mapInArrow(packer(packing), PACKET)
            stream = packets if stream is None else stream.unionByName(packets)
        assert stream is not None
        if self.control is not None and not all(each.derived for each in inputs):
            said = control_packets(self.spark, self.control, labels(self.groups))
            stream = stream.unionByName(said)
        schema = StructType(list(operation.schema))
        if operation.changes:
            schema.add(StructField(OP, ByteType()))
        columns = tuple(schema.names)
        for port in cast("StructType", StructType.fromDDL(PORTS)):
            schema.add(port)
        signature = {**operation.signature, "key groups": str(self.groups)}
        host = KernelHost(operation.kernel, inputs, columns, signature, number)
        return stream.groupBy("label").transformWithStateInPandas(host, schema, "Append", "None")


def _watches_the_clock(side: Input) -> bool:
    source = source_of(side.node)
    return source is not None and source.idle is not None
