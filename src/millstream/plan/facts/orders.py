"""What max_by and min_by go by: the columnar engine compares plain values, not structs."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sqlglot import exp, parse_one

from millstream.errors import PlanError
from millstream.plan.names.names import quote
from millstream.plan.nodes import WINDOW_START, Aggregate, Call, Operator, RowsOver
from millstream.sql.dialect import Millstream
from millstream.sql.spans import span_of
from millstream.temporal import WindowKind

_BEFORE = "SELECT "


def refuse_struct_order(operators: Iterable[Operator], *, native: bool) -> None:
    """Refuse a STRUCT that the text shows to be one; `native` says that Spark's own operators could
    run the query."""
    for operator in operators:
        if not isinstance(operator, Aggregate | RowsOver):
            continue
        for call in operator.calls:
            fields = _fields(call)
            if fields is not None:
                raise _refused(call, fields, operator, native)


def _fields(call: Call) -> list[str] | None:
    """The fields of the struct that a call goes by; None if it goes by something else."""
    if call.by is None:
        return None
    text = f"{_BEFORE}{call.by}"
    order = parse_one(text, read=Millstream).expressions[0]
    if isinstance(order, exp.Case):  # FILTER
        order = order.args["ifs"][0].args["true"]
    if not isinstance(order, exp.Struct | exp.Tuple):
        return None
    named = (each for each in order.expressions)
    values = [each.expression if isinstance(each, exp.PropertyEQ) else each for each in named]
    spans = [span_of(value) for value in values]
    return [text[span[0] : span[1] + 1] for span in spans if span]


def _refused(
    call: Call, fields: list[str], operator: Aggregate | RowsOver, native: bool
) -> PlanError:
    ways = ["Go by one number made of its fields"]
    if isinstance(operator, Aggregate) and (partition := _partition(operator)):
        down = " DESC" if call.function == "max_by" else ""
        order = ", ".join(f"{_bare(field, operator)}{down}" for field in fields) or "…"
        over = f"PARTITION BY {', '.join(partition)} ORDER BY {order}"
        ways.append(f"take the first row by each of them with ROW_NUMBER() OVER ({over}) = 1")
    if native:
        ways.append("set 'engine' = 'native'")
    return PlanError(
        "MS-PLAN-KEY-TYPE",
        f"{call.function} goes by a STRUCT, which the columnar engine does not compare.",
        fix=f"{', or '.join(ways)}.",
        place=operator.place,
    )


def _partition(aggregate: Aggregate) -> list[str]:
    """The groups as a partition of rows; none of sessions, which rows do not know of."""
    window, keys = aggregate.window, [_bare(key.sql, aggregate) for key in aggregate.keys]
    if window is None:
        return keys
    if window.kind is WindowKind.SESSION or window.wall_clock:
        return []
    given = [_bare(text, aggregate) for text in (aggregate.given or ())[:1]]
    return [*keys, *(given or [WINDOW_START])]


def _bare(text: str, operator: Aggregate | RowsOver) -> str:
    """A text over the operator's input as the user writes it over one stream."""
    return re.sub(rf"(?<![\w`.]){re.escape(quote(operator.input.alias))}\.", "", text)
