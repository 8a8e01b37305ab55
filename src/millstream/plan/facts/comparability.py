"""What max_by and min_by go by: the columnar engine compares plain values, not structs."""

from __future__ import annotations

import re
from collections.abc import Iterable

from millstream.errors import PlanError
from millstream.plan.expressions.quoting import quote
from millstream.plan.expressions.shapes import struct_fields
from millstream.plan.kinds import single_input_kind_of
from millstream.plan.nodes import Call, Join, Operator, SingleInput


def reject_struct_comparison(operators: Iterable[Operator], *, native: bool) -> None:
    """Refuse a STRUCT that the call shows to be one; `native` says that Spark's own operators could
    run the query."""
    for operator in operators:
        if isinstance(operator, Join):
            continue
        for call in single_input_kind_of(operator).calls(operator):
            fields = None if call.by is None else struct_fields(call.by)
            if fields is not None:
                raise _struct_error(call, fields, operator, native)


def _struct_error(call: Call, fields: list[str], operator: SingleInput, native: bool) -> PlanError:
    ways = ["Go by one number made of its fields"]
    if partition := single_input_kind_of(operator).as_partition(operator):
        down = " DESC" if call.function == "max_by" else ""
        order = ", ".join(f"{_without_alias(field, operator)}{down}" for field in fields) or "…"
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


def _without_alias(field: str, operator: SingleInput) -> str:
    """A field as the user would write it over a stream without an alias."""
    return re.sub(rf"(?<![\w`.]){re.escape(quote(operator.input.alias))}\.", "", field)
