"""Window bounds that packers compute from a time, as Spark does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.values import Pane


@dataclass(frozen=True, slots=True)
class WindowBound:
    """The start or end of a pane, for a column of files."""

    column: str
    pane: Pane

    def evaluate(self, times: pa.Array) -> pa.Array:
        micros = times.cast(pa.int64())
        known = pc.fill_null(micros, 0).to_numpy(zero_copy_only=False)
        begins = known - np.mod(known - self.pane.offset, self.pane.slide)
        missing = pc.is_null(micros).to_numpy(zero_copy_only=False) if micros.null_count else None
        return pa.array(begins + self.pane.after, mask=missing).cast(times.type)
