"""The state of a session join: for each side a table of sessions and a table of their rows.

sessions: key, first row, end, number of rows

rows: found by key and time; they do not move when sessions merge
"""

from __future__ import annotations

from millstream.kernels.core.kernel import State, count_processed
from millstream.kernels.core.specs import INHERITED_START, SessionJoinSpec
from millstream.kernels.interval_join.kernel import COUNTS
from millstream.kernels.state.compaction import LogSettings
from millstream.kernels.state.keyed_table import Tables, TableSpec

START = INHERITED_START  # the time of a session's first row, and its window's start
MATCH_START = "_lo"  # the same, but at least the start of time that is still open
HAS_MATCH = "_has_match"  # in rows, if a predicate decides: whether the row has matched
ROW_COUNT = "_n"  # how many of a session's rows are in state, at most


class SessionJoinState:
    """The tables of a key group, for one step."""

    def __init__(
        self, spec: SessionJoinSpec, state: State, settings: LogSettings | None = None
    ) -> None:
        # Of sessions; none if equal hashes are equal keys.
        self.keys = () if spec.key_is_hash else tuple(f"_k{i}" for i in range(len(spec.left_keys)))
        sessions = TableSpec(self.keys)
        left = _rows_by_key(spec, spec.left_keys, spec.left_columns)
        right = _rows_by_key(spec, spec.right_keys, spec.right_columns)
        tables = Tables(state, (sessions, sessions, left, right), COUNTS, settings)
        self.sessions = (tables[0], tables[1])
        self.rows = (tables[2], tables[3])
        self.counts = tables.counts
        self._tables = tables

    @property
    def watermark(self) -> int:
        return self._tables.watermark

    @property
    def row_count(self) -> int:
        """Rows in state, sessions included."""
        return self._tables.log.row_count

    @property
    def byte_count(self) -> int:
        return self._tables.log.byte_count

    def any_closing(self, since: int, until: int) -> bool:
        """Whether a session may end in [since, until)."""
        return any(
            segment.first < until and segment.last >= since
            for table in self.sessions
            for segment in table.segments
        )

    def drop_empty(self) -> None:
        self._tables.log.drop_empty()

    def close(self, watermark: int) -> None:
        """Writes what this step changed."""
        for side, rows in zip(("left", "right"), self.rows, strict=True):
            self.counts[f"{side}.in_state"] = rows.row_count
            count_processed(self.counts, side)
        self._tables.close(watermark)


def _rows_by_key(
    spec: SessionJoinSpec, keys: tuple[str, ...], columns: tuple[str, ...]
) -> TableSpec:
    if not spec.key_is_hash:
        return TableSpec(keys)
    return TableSpec(keys, hash_is_key=True) if keys[0] in columns else TableSpec(())
