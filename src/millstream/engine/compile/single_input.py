"""Operators with one input as kernels: what is packed, what comes out, what state holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from pyspark.sql import Column
from pyspark.sql.types import IntegerType, TimestampType

from millstream.engine.compile.compiled_operator import LateInput
from millstream.engine.compile.input_columns import NOTHING, Field
from millstream.engine.compile.operator_input import Operand
from millstream.engine.compile.physical_operator import (
    Operation,
    polars_types,
    types_in_state,
    wire_schema,
)
from millstream.engine.shuffle.column_names import Kind
from millstream.engine.shuffle.packer import Packing
from millstream.kernels.aggregate.partial_results import tallied
from millstream.kernels.aggregate.windowed import folded, kernel_of
from millstream.kernels.core.specs import (
    AggregateSpec,
    DeduplicateSpec,
    OrderSpec,
    RowsOverSpec,
    TopNSpec,
)
from millstream.kernels.deduplicate import Deduplicate as DeduplicateKernel
from millstream.kernels.over_aggregate.kernel import RowsOver as RowsOverKernel
from millstream.kernels.top_n.kernel import TopN as TopNKernel
from millstream.kernels.top_n.prefilter import can_fold, fold
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


def _aggregate(operand: Operand, node: Aggregate, groups: int) -> Operation:
    keys = operand.keys([(key.name, key.expression) for key in node.keys], "GROUP BY")
    calls, results = operand.calls(node.calls)
    if node.given is not None:
        operand.given_window(node.given)
    keeps = node.late.action is LateAction.SIDE_OUTPUT
    late = operand.held() if keeps else ()
    names = tuple(each.wire for each in keys)
    ready, packing = operand.packed(names, 0, groups)
    spec = AggregateSpec(
        keys=names,
        calls=calls,
        window=node.window,
        emit=node.emit,
        lateness=node.lateness,
        late=node.late,
        ttl=node.ttl,
        over_changes=node.over_changes,
        ansi=operand.spark.conf.get("spark.sql.ansi.enabled") == "true",
        limit=node.limit,
    )
    window = [Field(name, name, TimestampType()) for name in _WINDOW] if node.window else []
    fields = (*keys, *window, *results)
    schema = wire_schema(fields)
    kernel = kernel_of(spec, polars_types(schema))
    if spec.early:
        packing = replace(packing, fold=partial(folded, spec))
    physical: dict[str, Any] = {"types": types_in_state(schema, schema.names)}
    if tallied(spec):
        physical["distinct_values"] = "apart"
    return Operation(
        kernel,
        ((ready, packing),),
        schema,
        tuple(each.shown for each in fields),
        physical,
        changes=node.retracts,
        late=(LateInput(packing.name, late),) if keeps else (),
        wall_clock=node.window is not None and node.window.wall_clock,
    )


_WINDOW = (WINDOW_START, WINDOW_END, WINDOW_TIME)


def _deduplicate(operand: Operand, node: Deduplicate, groups: int) -> Operation:
    keys = operand.keys(_named(Kind.KEY, node.keys), "The key of DISTINCT")
    fields = operand.held()
    names = tuple(each.wire for each in keys)
    columns = tuple(each.wire for each in fields)
    ready, packing = operand.packed(names, 0, groups)
    spec = DeduplicateSpec(names, columns, node.within, node.late, node.limit)
    schema = wire_schema(fields)
    physical = {"types": types_in_state(ready.schema, names)}
    return Operation(
        DeduplicateKernel(spec, polars_types(schema)),
        ((ready, packing),),
        schema,
        _shown(fields),
        physical,
        late=_late(node, packing, fields),
    )


def _top_n(operand: Operand, node: TopN, groups: int) -> Operation:
    keys = operand.keys(_named(Kind.KEY, node.partition), "PARTITION BY")
    order = operand.keys(
        _named(Kind.ORDER, tuple(term.expression for term in node.order)), "ORDER BY"
    )
    fields = operand.held()
    due = None if node.due is None else operand.micros("_due", node.due)
    names = tuple(each.wire for each in keys)
    columns = tuple(each.wire for each in fields)
    ready, packing = operand.packed(names, 0, groups)
    rank = None if node.rank is None else Field(Kind.RANK.name_of(0), node.rank, IntegerType())
    spec = TopNSpec(
        partition=names,
        order=tuple(
            OrderSpec(each.wire, term.descending, term.nulls_first)
            for each, term in zip(order, node.order, strict=True)
        ),
        columns=columns,
        n=node.n,
        rank=None if rank is None else rank.wire,
        due=due,
        emit=node.emit,
        ttl=node.ttl,
        over_changes=node.over_changes,
        late=node.late,
        limit=node.limit,
    )
    if can_fold(spec):
        packing = replace(packing, fold=partial(fold, spec))
    numbered = () if rank is None else (rank,)
    schema = wire_schema((*fields, *numbered))
    physical = {"types": types_in_state(ready.schema, (*names, *columns))}
    return Operation(
        TopNKernel(spec, polars_types(schema)),
        ((ready, packing),),
        schema,
        (*_shown(fields), *(each.shown for each in numbered)),
        physical,
        changes=node.retracts,
        late=_late(node, packing, fields),
    )


def _rows_over(operand: Operand, node: RowsOver, groups: int) -> Operation:
    keys = operand.keys(_named(Kind.KEY, node.partition), "PARTITION BY")
    fields = operand.held()
    calls, results = operand.calls(node.calls)
    names = tuple(each.wire for each in keys)
    columns = tuple(each.wire for each in fields)
    ready, packing = operand.packed(names, 0, groups)
    spec = RowsOverSpec(
        partition=names,
        columns=columns,
        preceding=node.preceding,
        calls=calls,
        ttl=node.ttl,
        ansi=operand.spark.conf.get("spark.sql.ansi.enabled") == "true",
        late=node.late,
        limit=node.limit,
    )
    schema = wire_schema((*fields, *results))
    physical = {"types": types_in_state(ready.schema, names) | types_in_state(schema, schema.names)}
    return Operation(
        RowsOverKernel(spec, polars_types(schema)),
        ((ready, packing),),
        schema,
        (*_shown(fields), *(each.shown for each in results)),
        physical,
        late=_late(node, packing, fields),
    )


def _named(kind: Kind, keys: tuple[Expression, ...]) -> list[tuple[str, Expression]]:
    return [(kind.name_of(number), key) for number, key in enumerate(keys)]


def _shown(fields: tuple[Field, ...]) -> tuple[Column, ...]:
    return tuple(each.shown for each in fields if each.name != NOTHING)


def _late(
    node: Deduplicate | TopN | RowsOver, packing: Packing, fields: tuple[Field, ...]
) -> tuple[LateInput, ...]:
    if node.late.action is not LateAction.SIDE_OUTPUT:
        return ()
    return (LateInput(packing.name, fields),)


SINGLE_INPUT: dict[type[SingleInput], Callable[[Operand, Any, int], Operation]] = {
    Aggregate: _aggregate,
    Deduplicate: _deduplicate,
    TopN: _top_n,
    RowsOver: _rows_over,
}
