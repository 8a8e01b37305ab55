"""Window times of shared streams.

An aggregate or join over a stream of windowed results reads their window's time, which the operator
below then keeps, too (`OperatorKind.with_window_time`). A sink that reads the stream without it
would have another plan. It gets the same operator, so that the operator is computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from millstream.plan.facts.branches import streams_of
from millstream.plan.kinds import kind_of
from millstream.plan.nodes import Operator, Pipeline
from millstream.plan.nodes.traversal import operators_of, with_operators


def share_window_times(pipelines: Sequence[Pipeline]) -> list[Pipeline]:
    """Replaces operators of pipelines by those with a window time that others of their stream
    have."""
    found = []
    for pipeline in pipelines:
        streams = streams_of(pipeline.root)
        elsewhere = {
            operator
            for other in pipelines
            if other is not pipeline and not streams.isdisjoint(streams_of(other.root))
            for operator in operators_of(other.root)
        }
        replaced = {
            operator: timed
            for operator in operators_of(pipeline.root)
            if (timed := _with_window_time(operator)) != operator and timed in elsewhere
        }
        root = with_operators(pipeline.root, replaced) if replaced else pipeline.root
        found.append(replace(pipeline, root=root))
    return found


def _with_window_time(operator: Operator) -> Operator:
    kind = kind_of(operator)
    return kind.with_window_time(operator)[0] if kind.has_window_time(operator) else operator
