"""How rows of an operator are distributed over the workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

StrategyKind = Literal[
    "hash", "repartition", "shared", "two-phase", "single", "broadcast", "passthrough"
]


@dataclass(frozen=True, slots=True)
class Strategy:
    """How rows are spread over the workers."""

    kind: StrategyKind
    key: str | None = None
    sides: int = 1

    @property
    def brief(self) -> str:
        """In a list of several."""
        if self.kind == "broadcast":
            return f"broadcast of {self.key}"
        return str(self).split(": ")[0]

    def __str__(self) -> str:
        alike = "co-partitioned " if self.kind == "hash" and self.sides > 1 else ""
        return alike + _STRATEGIES[self.kind].format(key=self.key)


_STRATEGIES: dict[StrategyKind, str] = {
    "hash": "hash by {key}",
    "repartition": "repartition by {key}: results of the operator below are spread anew",
    "shared": "same exchange by {key}: results of the operator below lie by it already",
    "two-phase": "two-phase: folded where rows are read, then put together in one place",
    "single": "single: all rows go to one place, as there is no key to spread them by",
    "broadcast": "broadcast: every worker holds {key} whole, and rows stay where they are read",
    "passthrough": "passthrough: rows stay where they are read",
}
