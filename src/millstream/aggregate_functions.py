"""The aggregate functions, and what planning, compilation and kernels need to know of each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """An aggregate function.

    Attributes:
        name: Its name in plans. That in SQL is known to sqlglot, or one of `spellings`.
        can_retract: Whether it can subtract retracted values.
        grows: Whether its state grows with the number of values.
        collects: Whether its result is a list of values.
        is_sketch: Whether it is an approximation. Spark's has other results.
        supports_over: Whether OVER (… ROWS …) can have it.
        spellings: Its names in SQL that sqlglot does not know.
    """

    name: str
    can_retract: bool = False
    grows: bool = False
    collects: bool = False
    is_sketch: bool = False
    supports_over: bool = True
    spellings: tuple[str, ...] = ()


FUNCTIONS = {
    each.name: each
    for each in (
        AggregateFunction("count", can_retract=True),
        AggregateFunction("count_distinct", can_retract=True, grows=True, supports_over=False),
        AggregateFunction("sum", can_retract=True),
        AggregateFunction("avg", can_retract=True, spellings=("mean",)),
        AggregateFunction("min"),
        AggregateFunction("max"),
        AggregateFunction("stddev_samp", can_retract=True, spellings=("std",)),
        AggregateFunction("stddev_pop", can_retract=True),
        AggregateFunction("var_samp", can_retract=True),
        AggregateFunction("var_pop", can_retract=True),
        AggregateFunction("first"),
        AggregateFunction("last"),
        AggregateFunction("approx_count_distinct", is_sketch=True, supports_over=False),
        AggregateFunction("approx_percentile", is_sketch=True, supports_over=False),
        AggregateFunction("collect_list", can_retract=True, grows=True, collects=True),
        AggregateFunction("collect_set", can_retract=True, grows=True, collects=True),
        AggregateFunction("bool_and", can_retract=True, spellings=("every",)),
        AggregateFunction("bool_or", can_retract=True, spellings=("some",)),
        AggregateFunction("max_by"),
        AggregateFunction("min_by"),
    )
}
