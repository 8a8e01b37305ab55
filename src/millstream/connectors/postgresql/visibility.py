"""Which transactions a snapshot of PostgreSQL sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot: it sees transactions before `end` that were not running."""

    end: int
    running: frozenset[int]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parses pg_snapshot, such as 10:20:10,14,15."""
        _, end, running = text.split(":")
        return cls(int(end), frozenset(map(int, filter(None, running.split(",")))))

    def sees(self, xid: int) -> bool:
        return xid < self.end and xid not in self.running

    def sees_each(self, xids: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Tests transactions by the lower 32 bits of their numbers, as messages have them."""
        distance = (xids - self.end) & 0xFFFFFFFF
        whole = self.end + np.where(distance >= 1 << 31, distance - (1 << 32), distance)
        return (whole < self.end) & ~np.isin(whole, np.array(sorted(self.running), np.int64))
