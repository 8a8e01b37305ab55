"""Backward search: rows match the last version at or before their time.

A row waits until the watermark has passed it, because a version of the same time may arrive until
then.
"""

from __future__ import annotations

import polars as pl

from millstream.kernels.core.frames import split, stack
from millstream.kernels.core.kernel import HASH, TIME
from millstream.kernels.core.specs import TemporalJoinSpec
from millstream.kernels.state.keyed_table import Table, TableSpec
from millstream.kernels.state.time_search import VersionSearch
from millstream.kernels.temporal_join.output import Output
from millstream.kernels.temporal_join.versions import Versions
from millstream.temporal import BEGIN_OF_TIME


class Backward:
    """The strategy of the direction BACKWARD."""

    def __init__(self, spec: TemporalJoinSpec) -> None:
        self._tolerance = spec.tolerance
        self._keys = () if spec.key_is_hash else spec.left_keys
        self.table_spec = TableSpec(spec.left_keys, spec.key_is_hash, removable=False)

    def live_from(self, after: int) -> int:
        """Returns the time before which no waiting or future row needs a version."""
        return BEGIN_OF_TIME if self._tolerance is None else after - self._tolerance

    def emit_due(
        self, waiting: Table, versions: Versions, new: pl.DataFrame | None, after: int, out: Output
    ) -> None:
        """Emits stored and new rows that are due; stores the others."""
        ready = [] if (due := waiting.take_before(after)) is None else [due]
        if new is not None:
            passed, early = split(new, new[TIME].to_numpy() < after)
            ready.append(passed)
            waiting.append(early, after)
        rows = stack(ready).rechunk() if ready else None
        if rows is not None and rows.height:
            self._join(rows, versions, out)

    def _join(self, rows: pl.DataFrame, versions: Versions, out: Output) -> None:
        times = rows[TIME].to_numpy()
        oldest = self.live_from(int(times.min()))
        parts = versions.parts(oldest, int(times.max()))
        seekers = VersionSearch(rows[HASH].to_numpy(), times, rows[:, list(self._keys)])
        matched = seekers.last_before(parts, versions.keys)
        versions.clear_ended(parts, matched)
        if self._tolerance is not None:
            matched.clear_where(matched.time < times - self._tolerance)
        out.matched(rows, parts, matched)
        out.unmatched(rows, ~matched.found)

    def expire_versions(self, versions: Versions, after: int) -> None:
        versions.retain_valid(after, self.live_from(after))
