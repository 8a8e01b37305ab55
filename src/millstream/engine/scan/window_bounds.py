"""Moments of windows, as a packer makes them of a time: as Spark would."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.values import Pane


@dataclass(frozen=True, slots=True)
class WindowBound:
    """What a pane says of a column of files."""

    column: str
    pane: Pane

    def evaluate(self, times: pa.Array) -> pa.Array:
        micros = times.cast(pa.int64())
        known = pc.fill_null(micros, 0).to_numpy(zero_copy_only=False)
        begins = known - np.mod(known - self.pane.offset, self.pane.slide)
        missing = pc.is_null(micros).to_numpy(zero_copy_only=False) if micros.null_count else None
        return pa.array(begins + self.pane.after, mask=missing).cast(times.type)
