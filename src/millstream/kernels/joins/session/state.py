"""What a session join keeps: tables of sessions and logs of rows, each a side, in two stores.

    tables[0] and [1]   sessions of the left and right: key, first row, end, how many rows
    logs[0] and [1]     their rows, found by key and time; they never move when sessions merge

A key group's `Tables` has room for two, so there are two of them, each in a half of the stores.
"""

from __future__ import annotations

from millstream.kernels.base import State, count_processed
from millstream.kernels.joins.interval import COUNTS
from millstream.kernels.joins.session.halves import halves
from millstream.kernels.specs import GIVEN_START, SessionJoinSpec
from millstream.kernels.state.merging import LogSettings
from millstream.kernels.state.table import Keyed, Tables

START = GIVEN_START  # a session's first row: its window's start
LOW = (
    "_lo"  # the same, but no older than what was open when it came: no closed session is met by it
)
HELD = "_n"  # how many of a session's rows the log holds, at most
_SUMMED = ("state_rows", "state_bytes", "segments")


class Kept:
    """The state of a key group, for one step."""

    def __init__(
        self, spec: SessionJoinSpec, state: State, settings: LogSettings | None = None
    ) -> None:
        one, two = halves(state)
        by = () if spec.key_is_hash else tuple(f"_k{i}" for i in range(len(spec.left_keys)))
        self.tables = Tables(one, (Keyed(by), Keyed(by)), COUNTS, settings)
        keyed = (
            _keyed(spec, spec.left_keys, spec.left_columns),
            _keyed(spec, spec.right_keys, spec.right_columns),
        )
        self.logs = Tables(two, keyed, (), settings)
        self.keys = by  # of sessions; none where equal hashes are equal keys
        self.counts = self.tables.counts

    @property
    def watermark(self) -> int:
        return self.tables.watermark

    @property
    def rows(self) -> int:
        return self.tables.log.held_rows + self.logs.log.held_rows

    @property
    def bytes(self) -> int:
        return self.tables.log.held_bytes + self.logs.log.held_bytes

    def told(self) -> dict[str, int]:
        """The counts, those of the state over both stores."""
        summed = {name: self.counts[name] + self.logs.counts[name] for name in _SUMMED}
        return {**self.counts, **summed}

    def drop_empty(self) -> None:
        self.tables.log.drop_empty()
        self.logs.log.drop_empty()

    def close(self, watermark: int) -> None:
        counts = self.counts
        counts["peak_rows"] = max(counts["peak_rows"], self.rows)
        for number, side in enumerate(("left", "right")):
            counts[f"{side}.in_state"] = self.logs[number].held
            count_processed(counts, side)
        self.logs.close(watermark)
        self.tables.close(watermark)


def _keyed(spec: SessionJoinSpec, keys: tuple[str, ...], columns: tuple[str, ...]) -> Keyed:
    if not spec.key_is_hash:
        return Keyed(keys)
    return Keyed(keys, hash_is_key=True) if keys[0] in columns else Keyed(())
