"""The rows of a regular join in state."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from millstream.errors import StateError
from millstream.kernels.core.frames import stack
from millstream.kernels.core.kernel import State, count_processed
from millstream.kernels.core.key_index import Ints
from millstream.kernels.interval_join.matching import Candidate
from millstream.kernels.regular_join.classify import RetractedRows
from millstream.kernels.regular_join.retractions import RowsToRetract, find
from millstream.kernels.regular_join.sides import Side
from millstream.kernels.state import limits
from millstream.kernels.state.compaction import LogSettings
from millstream.kernels.state.manifest import Manifest, Segment
from millstream.kernels.state.segment_log import SegmentLog
from millstream.kernels.state.sorted_rows import Rows
from millstream.temporal import BEGIN_OF_TIME, END_OF_TIME, StateLimit


class Buffer:
    """The buffered rows of both sides of a key group, for one step."""

    def __init__(
        self,
        state: State,
        manifest: Manifest,
        sides: tuple[Side, Side],
        settings: LogSettings,
    ) -> None:
        self._meta = state.value("meta")
        self.manifest = manifest
        layouts = (sides[0].layout, sides[1].layout)
        self._log = SegmentLog(state.map("segments"), manifest, layouts, settings)
        self._sides = sides

    def candidates(self, side: int) -> Iterator[Candidate]:
        """Yields all buffered rows of a side."""
        return self._log.overlapping(side, BEGIN_OF_TIME, END_OF_TIME)

    def find(self, side: Side, retracted: RetractedRows) -> list[RowsToRetract]:
        """Finds the buffered rows to retract."""
        return find(self._log, side, retracted)

    def remove(self, side: int, segment: Segment, numbers: Ints) -> None:
        self._log.set_flags(side, segment, numbers)

    def set_flags(self, side: int, segment: Segment, numbers: Ints) -> Ints:
        """Flags rows as matched; returns those that were not flagged before."""
        return self._log.set_flags(side, segment, numbers)

    def keep(self, side: Side, parts: list[Rows], live_from: int) -> None:
        """Expires rows older than `live_from`, and appends the rows of `parts` that are not."""
        expired = f"{side.name}.expired"
        self.manifest.counts[expired] += self._log.expire(side.number, live_from)
        if not parts:
            return
        rows = parts[0]
        if len(parts) > 1:
            flags = [part.matched for part in parts if part.matched is not None]
            frame = stack([part.frame for part in parts]).rechunk()
            rows = Rows.of(frame, np.concatenate(flags) if flags else None)
        expired_rows = rows.rows_before(live_from)
        self.manifest.counts[expired] += expired_rows
        rows = rows.select(expired_rows)
        self._log.append(side.number, rows, live_from, tidy=side.layout.removes_matched)

    def evict(self, limit: StateLimit) -> None:
        try:
            for number, _, numbers in limits.enforce(self._log, limit):
                self.manifest.counts[f"{self._sides[number].name}.evicted"] += numbers.size
        except StateError as error:
            fix = error.fix.replace("narrow the join's time bound", "lower 'state.ttl'")
            raise StateError(error.code, error.cause, fix=fix) from None

    def close(self, watermark: int) -> None:
        """Writes the changes of this step."""
        log, counts = self._log, self.manifest.counts
        log.drop_empty()
        for side in self._sides:
            if side.layout.removes_matched:
                log.tidy(side.number)
            stored = sum(segment.live_rows for segment in self.manifest.tables[side.number])
            counts[f"{side.name}.in_state"] = stored
            count_processed(counts, side.name)
        rows = log.row_count
        counts["state_rows"] = rows
        counts["state_bytes"] = log.byte_count
        counts["segments"] = sum(map(len, self.manifest.tables))
        counts["peak_rows"] = max(counts["peak_rows"], rows)
        self.manifest.watermark = watermark
        log.flush()
        self._meta.put(self.manifest.dump())
