"""Results that change, as the output mode of their sink shows them."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from millstream.engine.compile.stateless import Flow
from millstream.engine.shuffle.column_names import CHANGE
from millstream.kernels.core.kernel import BEFORE
from millstream.temporal import OutputMode


def in_mode(rows: Flow, mode: OutputMode) -> tuple[Column | None, tuple[Column, ...]]:
    """Rows that change, as a sink sees them: `_OP` last; in upsert mode without old values."""
    sound = rows.sound
    if mode is OutputMode.UPSERT:
        replaced = F.col(CHANGE) != BEFORE
        sound = replaced if sound is None else sound & replaced
    op = F.element_at(F.array(*map(F.lit, _OPS)), F.col(CHANGE) + 1)
    return sound, (*rows.shown, op.alias("_OP"))


_OPS: tuple[str, ...] = ("+I", "-U", "+U", "-D")
