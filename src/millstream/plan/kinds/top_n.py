"""Describes Top-N: the first rows of each partition."""

from __future__ import annotations

from millstream.plan.document import Description, data, fact
from millstream.plan.document.formats import order_data, order_text
from millstream.plan.expressions import Expression
from millstream.plan.expressions.spark_sql import sql_or_none, to_spark_sql
from millstream.plan.kinds.base import OperatorFacts, SingleInputKind, StateFacts
from millstream.plan.kinds.single_input import (
    describe_operator,
    emit_fact,
    expiry_by_ttl,
    has_window_rows,
    input_title,
    partition_fact,
    pass_window_time,
    row_delay,
)
from millstream.plan.kinds.stream_names import input_name
from millstream.plan.nodes import TopN
from millstream.temporal import Emit

_LATER_ROW = "a later row of the partition starts a new ranking"


def _state(node: TopN) -> StateFacts:
    name = input_name(node.input)
    rows = "all rows" if node.over_changes else f"{node.n} row{'s' if node.n > 1 else ''}"
    if node.emit is Emit.FINAL:
        return StateFacts(
            ("a partition when the watermark reaches the end of its window",),
            f"{rows} per partition and open window of {name}",
            (f"the first {node.n} row{'s' if node.n > 1 else ''}, when their window closes",),
        )
    expiry = expiry_by_ttl(
        node.ttl, "partition", has_key=bool(node.partition), after_expiry=_LATER_ROW
    )
    change = f"+I for rows that enter the first {node.n}, -D for rows that leave"
    if node.rank:
        change = "-U/+U for each row number that another row takes"
    return StateFacts(expiry, f"{rows} per partition of {name}", (f"after each batch: {change}",))


def _describe(node: TopN, facts: OperatorFacts) -> Description:
    order = ", ".join(order_text(each) for each in node.order)
    own = (
        data("n", node.n),
        data("partition", list(map(to_spark_sql, node.partition))),
        partition_fact(node.partition),
        fact("order", [order_data(each) for each in node.order], "order", order),
        emit_fact(node),
        fact("rank", node.rank, "number", *([node.rank] if node.rank else [])),
        fact("due", sql_or_none(node.due), "due", *([str(node.due)] if node.due else [])),
        data("ttl_us", node.ttl),
        data("over_changes", node.over_changes),
    )
    late = node.due is not None
    return describe_operator(
        f"First {node.n} of {input_title(node.input)}", node, facts, own, can_be_late=late
    )


def _compared(node: TopN) -> tuple[Expression, ...]:
    order = tuple(term.expression for term in node.order)
    return order if node.due is None else (*order, node.due)


KIND = SingleInputKind[TopN](
    name="top_n",
    state=_state,
    describe=_describe,
    label=lambda node, inputs: f"top {node.n} of {inputs}",
    summary=lambda node: f"top {node.n} of {input_name(node.input)}",
    watermark_delay=row_delay,
    native_limitation=lambda _: "Spark has no first rows of a partition for streams",
    emit=lambda node: node.emit,
    has_window_time=lambda node: node.emit is Emit.FINAL and has_window_rows(node),
    with_window_time=pass_window_time,
    expires_without_retraction=lambda node: node.retracts and node.ttl is not None,
    expressions_over_retractions=lambda node: (
        (*node.partition, *_compared(node)) if node.over_changes else ()
    ),
    keys=lambda node: node.partition,
    compared_expressions=_compared,
)
