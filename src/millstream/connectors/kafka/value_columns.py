"""The values that Spark computes for a Kafka sink: text of JSON, or structs that are encoded."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

OP = "_OP"


def value_column(columns: list[Column], *, changes: bool, upsert: bool) -> Column:
    """Returns the value of a record that is a struct. `changes`: rows have `_OP`."""
    value = F.struct(*columns)
    if not changes:
        return value
    deleted = F.col(OP).isin("-D", "-U")
    if upsert:
        return F.when(~deleted, value)  # a tombstone
    return F.struct(
        F.when(deleted, value).alias("before"),
        F.when(~deleted, value).alias("after"),
        F.when(deleted, F.lit("d")).otherwise(F.lit("c")).alias("op"),
    )


def json_column(
    columns: list[Column], options: dict[str, str], *, changes: bool, upsert: bool
) -> Column:
    """Returns the value of a record that is JSON."""
    value = F.to_json(F.struct(*columns), options)
    if not changes:
        return value
    deleted = F.col(OP).isin("-D", "-U")
    if upsert:
        return F.when(~deleted, value)
    nothing = F.lit("null")
    before, after = F.when(deleted, value), F.when(~deleted, value)
    return F.concat(
        *(F.lit('{"before":'), F.coalesce(before, nothing)),
        *(F.lit(',"after":'), F.coalesce(after, nothing)),
        *(F.lit(',"op":'), F.when(deleted, F.lit('"d"}')).otherwise(F.lit('"c"}'))),
    )
