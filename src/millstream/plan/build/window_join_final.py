"""EMIT FINAL of a window join: its pairs wait until their window closes.

They wait in a RowsOver without calls: a row leaves it once the watermark has passed its time, which
is the last microsecond of the window. Rows are spread by the key of the join.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from millstream.plan.build.emit import final_without_window
from millstream.plan.build.joins.chain import PlannedJoin
from millstream.plan.build.joins.event_times import WINDOW
from millstream.plan.build.operator_input import JOINED, of_join
from millstream.plan.build.policies import limit_of
from millstream.plan.build.query_options import Asked
from millstream.plan.expressions import column, template
from millstream.plan.nodes import Key, Output, RowsOver, Select
from millstream.plan.resolve.expressions import Expressions
from millstream.plan.resolve.names import fresh
from millstream.plan.resolve.select_list import carrying, distinct, outputs_of
from millstream.sql.text import SourceText

_SPREAD = "_spread"


def plan_final(tree: exp.Select, planned: PlannedJoin, asked: Asked, text: SourceText) -> Select:
    assert asked.emit is not None
    join = planned.join
    if WINDOW not in planned.times.whole:
        raise final_without_window(asked.emit, text)
    sides = [0] if not join.how.keeps_right else [0, 1] if join.how.keeps_left else [1]
    reads = {read for read in planned.key_reads if read[0] in sides}
    spread = replace(planned, reads=planned.reads | reads, order=(WINDOW,))
    base = of_join(tree, spread, text, every=False)
    assert isinstance(base.node, Select)
    keys = [
        key.right if side == 1 and isinstance(key, Key) else key.left
        for side in sides
        for key in planned.keys
    ]
    name = fresh(_SPREAD, (output.name for output in base.node.outputs))
    listed = ", ".join("{}" for _ in keys)
    hashed = Output(template(f"xxhash64({listed})", *keys, kind="BIGINT"), name)
    node = replace(base.node, outputs=(*base.node.outputs, hashed))
    base = replace(base, node=node)
    items = list(outputs_of(tree, Expressions(base.above)))
    used = tuple(name for name in base.used(items, every=False) if name != hashed.name)
    waiting = RowsOver(
        input=base.input(base.time, used),
        partition=(column(JOINED, hashed.name, hashed.type),),
        preceding=0,
        calls=(),
        limit=limit_of(asked.properties),
        place=asked.place,
    )
    shown = tuple(carrying(items, ((0, name),)) for name in base.window or ())
    return Select(
        input=waiting,
        outputs=distinct(items, base.above, asked.place),
        time=carrying(items, ((0, base.time),)),
        window=(shown[0], shown[1]) if len(shown) == 2 and shown[0] and shown[1] else None,
        place=asked.place,
    )
