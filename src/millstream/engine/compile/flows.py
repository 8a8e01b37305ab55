"""The rows of a plan without state, and of one on Spark's own operators."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.connectors.dead_letters import BAD, REMEDY
from millstream.connectors.deferred_frame import Rows
from millstream.engine.compile import native
from millstream.engine.compile.stateless import Flow, flow, refusing_malformed
from millstream.engine.compile.table_join import TableSteps
from millstream.engine.shuffle.control_stream import ControlStream
from millstream.plan.nodes import Node, Operator, Select, Source, TableJoin
from millstream.temporal import Malformed


def stateless_flow(
    root: Node, source: Source, sources: Mapping[str, Rows], tables: TableSteps
) -> Flow:
    """The rows of a node over one source, without an operator."""
    rows = sources[source.name]
    if source.malformed is Malformed.FAIL and BAD in rows.types:
        rows = Rows.of(refusing_malformed(source, rows.frame, REMEDY))
    read = {**sources, source.name: rows}

    def below(node: Operator | TableJoin) -> Flow:
        return tables.below(node, read)

    return flow(root, read, below) if isinstance(root, Source | Select) else below(root)


def native_flow(root: Node, sources: Mapping[str, Rows], control: ControlStream | None) -> Flow:
    """The rows of a node over one operator of Spark."""
    frames = {name: rows.frame for name, rows in sources.items()}

    def result(node: Operator | TableJoin) -> Flow:
        assert not isinstance(node, TableJoin), "the native engine joins no tables"
        return Flow(Rows.of(native.operate(node, frames, control=control)))

    return flow(root, sources, result) if isinstance(root, Source | Select) else result(root)
