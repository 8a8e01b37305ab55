"""Parts of operators as data."""

from __future__ import annotations

from typing import Any

from millstream.plan.expressions import to_spark_sql
from millstream.plan.nodes import Input, Key, Output, TableKey
from millstream.temporal import LatePolicy, StateLimit, Window


def keys_data(keys: tuple[Key, ...] | tuple[TableKey, ...]) -> list[dict[str, str]]:
    return [{"left": str(key.left), "right": str(key.right)} for key in keys]


def output_data(output: Output) -> dict[str, str | None]:
    return {"sql": to_spark_sql(output.expression), "name": output.name, "type": output.type}


def window_data(window: Window) -> dict[str, Any]:
    return {
        "kind": str(window.kind),
        "size_us": window.size,
        "slide_us": window.slide,
        "offset_us": window.offset,
        "wall_clock": window.wall_clock,
    }


def input_data(side: Input, node: dict[str, Any]) -> dict[str, Any]:
    return {
        "alias": side.alias,
        "time": side.time,
        "delay_us": side.delay,
        "columns_held": list(side.used),
        "node": node,
    }


def late_data(late: LatePolicy) -> dict[str, Any]:
    told: dict[str, Any] = {"action": str(late.action), "sink": late.sink}
    return told | ({"budget_us": late.budget} if late.budget else {})


def limit_data(limit: StateLimit) -> dict[str, Any]:
    return {
        "max_rows": limit.max_rows,
        "max_bytes": limit.max_bytes,
        "on_limit": str(limit.on_limit),
    }
