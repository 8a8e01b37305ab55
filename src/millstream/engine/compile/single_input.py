"""Compiles operators with one input: aggregates, DISTINCT ON, TopN and OVER aggregates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from pyspark.sql import Column
from pyspark.sql.types import IntegerType, TimestampType

from millstream.engine.compile.compiled_operator import LateInput
from millstream.engine.compile.input_columns import NOTHING, Field
from millstream.engine.compile.operator_input import OperatorInput
from millstream.engine.compile.physical_operator import (
    PhysicalOperator,
    packet_schema,
    polars_types,
    types_in_state,
)
from millstream.engine.shuffle.column_names import Kind
from millstream.engine.shuffle.packer import PackerSpec
from millstream.kernels.aggregate.kernel import create_kernel, pre_aggregate
from millstream.kernels.aggregate.partial_results import distinct_table_arguments
from millstream.kernels.core.specs import (
    AggregateSpec,
    DeduplicateSpec,
    OrderSpec,
    OverAggregateSpec,
    TopNSpec,
)
from millstream.kernels.deduplicate import Deduplicate as DeduplicateKernel
from millstream.kernels.over_aggregate.kernel import OverAggregate as OverAggregateKernel
from millstream.kernels.top_n.kernel import TopN as TopNKernel
from millstream.kernels.top_n.prefilter import can_prefilter, prefilter
from millstream.plan.expressions import Expression
from millstream.plan.nodes import (
    WINDOW_END,
    WINDOW_START,
    WINDOW_TIME,
    Aggregate,
    Deduplicate,
    RowsOver,
    TopN,
)
from millstream.temporal import LateAction

SingleInput = Aggregate | Deduplicate | TopN | RowsOver


def _aggregate(operator_input: OperatorInput, node: Aggregate, groups: int) -> PhysicalOperator:
    keys = operator_input.keys([(key.name, key.expression) for key in node.keys], "GROUP BY")
    calls, results = operator_input.calls(node.calls)
    if node.given is not None:
        operator_input.given_window(node.given)
    keeps = node.late.action is LateAction.SIDE_OUTPUT
    late = operator_input.buffered_columns() if keeps else ()
    names = tuple(each.packet_name for each in keys)
    packed_input, packer_spec = operator_input.packed(names, 0, groups)
    spec = AggregateSpec(
        keys=names,
        calls=calls,
        window=node.window,
        emit=node.emit,
        lateness=node.lateness,
        late=node.late,
        ttl=node.ttl,
        over_changes=node.over_changes,
        ansi=operator_input.spark.conf.get("spark.sql.ansi.enabled") == "true",
        limit=node.limit,
    )
    window = [Field(name, name, TimestampType()) for name in _WINDOW] if node.window else []
    fields = (*keys, *window, *results)
    schema = packet_schema(fields)
    kernel = create_kernel(spec, polars_types(schema))
    if spec.early:
        packer_spec = replace(packer_spec, fold=partial(pre_aggregate, spec))
    physical: dict[str, Any] = {"types": types_in_state(schema, schema.names)}
    if distinct_table_arguments(spec):
        physical["distinct_values"] = "apart"
    return PhysicalOperator(
        kernel,
        ((packed_input, packer_spec),),
        schema,
        tuple(each.column for each in fields),
        physical,
        is_changelog=node.retracts,
        late=(LateInput(packer_spec.name, late),) if keeps else (),
        wall_clock=node.window is not None and node.window.wall_clock,
    )


_WINDOW = (WINDOW_START, WINDOW_END, WINDOW_TIME)


def _deduplicate(operator_input: OperatorInput, node: Deduplicate, groups: int) -> PhysicalOperator:
    keys = operator_input.keys(_named(Kind.KEY, node.keys), "The key of DISTINCT")
    fields = operator_input.buffered_columns()
    names = tuple(each.packet_name for each in keys)
    columns = tuple(each.packet_name for each in fields)
    packed_input, packer_spec = operator_input.packed(names, 0, groups)
    spec = DeduplicateSpec(names, columns, node.within, node.late, node.limit)
    schema = packet_schema(fields)
    physical = {"types": types_in_state(packed_input.schema, names)}
    return PhysicalOperator(
        DeduplicateKernel(spec, polars_types(schema)),
        ((packed_input, packer_spec),),
        schema,
        _visible_columns(fields),
        physical,
        late=_late(node, packer_spec, fields),
    )


def _top_n(operator_input: OperatorInput, node: TopN, groups: int) -> PhysicalOperator:
    keys = operator_input.keys(_named(Kind.KEY, node.partition), "PARTITION BY")
    order = operator_input.keys(
        _named(Kind.ORDER, tuple(term.expression for term in node.order)), "ORDER BY"
    )
    fields = operator_input.buffered_columns()
    due = None if node.due is None else operator_input.micros("_due", node.due)
    names = tuple(each.packet_name for each in keys)
    columns = tuple(each.packet_name for each in fields)
    packed_input, packer_spec = operator_input.packed(names, 0, groups)
    rank = None if node.rank is None else Field(Kind.RANK.name_of(0), node.rank, IntegerType())
    spec = TopNSpec(
        partition=names,
        order=tuple(
            OrderSpec(each.packet_name, term.descending, term.nulls_first)
            for each, term in zip(order, node.order, strict=True)
        ),
        columns=columns,
        n=node.n,
        rank=None if rank is None else rank.packet_name,
        due=due,
        emit=node.emit,
        ttl=node.ttl,
        over_changes=node.over_changes,
        late=node.late,
        limit=node.limit,
    )
    if can_prefilter(spec):
        packer_spec = replace(packer_spec, fold=partial(prefilter, spec))
    numbered = () if rank is None else (rank,)
    schema = packet_schema((*fields, *numbered))
    physical = {"types": types_in_state(packed_input.schema, (*names, *columns))}
    return PhysicalOperator(
        TopNKernel(spec, polars_types(schema)),
        ((packed_input, packer_spec),),
        schema,
        (*_visible_columns(fields), *(each.column for each in numbered)),
        physical,
        is_changelog=node.retracts,
        late=_late(node, packer_spec, fields),
    )


def _rows_over(operator_input: OperatorInput, node: RowsOver, groups: int) -> PhysicalOperator:
    keys = operator_input.keys(_named(Kind.KEY, node.partition), "PARTITION BY")
    fields = operator_input.buffered_columns()
    calls, results = operator_input.calls(node.calls)
    names = tuple(each.packet_name for each in keys)
    columns = tuple(each.packet_name for each in fields)
    packed_input, packer_spec = operator_input.packed(names, 0, groups)
    spec = OverAggregateSpec(
        partition=names,
        columns=columns,
        preceding=node.preceding,
        calls=calls,
        ttl=node.ttl,
        ansi=operator_input.spark.conf.get("spark.sql.ansi.enabled") == "true",
        late=node.late,
        limit=node.limit,
    )
    schema = packet_schema((*fields, *results))
    physical = {
        "types": types_in_state(packed_input.schema, names) | types_in_state(schema, schema.names)
    }
    return PhysicalOperator(
        OverAggregateKernel(spec, polars_types(schema)),
        ((packed_input, packer_spec),),
        schema,
        (*_visible_columns(fields), *(each.column for each in results)),
        physical,
        late=_late(node, packer_spec, fields),
    )


def _named(kind: Kind, keys: tuple[Expression, ...]) -> list[tuple[str, Expression]]:
    return [(kind.name_of(number), key) for number, key in enumerate(keys)]


def _visible_columns(fields: tuple[Field, ...]) -> tuple[Column, ...]:
    return tuple(each.column for each in fields if each.name != NOTHING)


def _late(
    node: Deduplicate | TopN | RowsOver, packer_spec: PackerSpec, fields: tuple[Field, ...]
) -> tuple[LateInput, ...]:
    if node.late.action is not LateAction.SIDE_OUTPUT:
        return ()
    return (LateInput(packer_spec.name, fields),)


SINGLE_INPUT: dict[type[SingleInput], Callable[[OperatorInput, Any, int], PhysicalOperator]] = {
    Aggregate: _aggregate,
    Deduplicate: _deduplicate,
    TopN: _top_n,
    RowsOver: _rows_over,
}
