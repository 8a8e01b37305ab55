"""The window join: an interval join by the end of the window."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from millstream.plan.kinds import interval_join
from millstream.plan.kinds.base import OperatorKind
from millstream.plan.nodes import WindowJoin


def _against_native(join: WindowJoin) -> str:
    if join.salt > 1:
        return interval_join.SALTED
    return "Spark's join of streams keeps rows by their own times, not until a window closes"


KIND = replace(cast("OperatorKind[WindowJoin]", interval_join.KIND), against_native=_against_native)
