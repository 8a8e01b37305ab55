"""Makes a source of upserts a changelog: the last row of each key, unless that deletes the key.

    upserts ──▶ Top-1 per key, the last record first ──▶ WHERE it is no delete ──▶ +I, -D

The records of a key are in one partition, so their offsets have their order.
"""

from __future__ import annotations

from millstream.plan.expressions import column, template
from millstream.plan.facts.watermark_delay import watermark_delay_of
from millstream.plan.nodes import OP, Input, Order, Output, Select, Source, TopN
from millstream.plan.resolve.system_columns import with_system_columns
from millstream.temporal import Emit

_OFFSET = "_offset"


def latest_rows(source: Source) -> Select:
    """Returns the current row of each key as a stream that retracts rows."""
    read = with_system_columns(source, {OP, _OFFSET})
    own = {each.name: each.type for each in source.columns}
    time = source.time
    delay = 0 if time is None else watermark_delay_of(read)
    top = TopN(
        input=Input(source.name, read, time, delay, (*own, OP)),
        partition=tuple(column(source.name, name, own[name]) for name in source.upsert_key),
        order=(Order(column(source.name, _OFFSET, "BIGINT"), descending=True, nulls_first=False),),
        n=1,
        emit=Emit.CHANGES,
        place=source.place,
    )
    outputs = tuple(Output(column(None, name, kind), name) for name, kind in own.items())
    where = template("NOT {} <=> '-D'", column(None, OP, "STRING"))
    return Select(top, outputs, where, place=source.place)
