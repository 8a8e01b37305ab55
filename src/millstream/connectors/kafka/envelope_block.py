"""The envelopes of a block, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millstream.connectors.file.rejections import Flaw

Mask = npt.NDArray[np.bool_]
_NO_OLD = (
    "the Debezium envelope has op '{}' but no field 'before'; PostgreSQL needs ALTER TABLE … "
    "REPLICA IDENTITY FULL."
)


@dataclass(frozen=True, slots=True)
class EnvelopeBlock:
    """A row for each envelope.

    Attributes:
        op: Of each envelope.
        has_before: Which envelopes have an old row.
        has_after: Which envelopes have a new row.
        before: The declared columns of old rows.
        after: The declared columns of new rows.
        flaws: By row.
    """

    op: pa.Array
    has_before: Mask
    has_after: Mask
    before: list[pa.Array]
    after: list[pa.Array]
    flaws: dict[int, Flaw]

    def has_op(self, *ops: str) -> Mask:
        return mask_of(pc.is_in(self.op, value_set=pa.array(ops)))

    def truncates(self) -> Mask:
        found = self.has_op("t")
        found[list(self.flaws)] = False
        return found

    def add_incomplete(self, *, old_values: bool) -> None:
        """Adds a flaw for each envelope that lacks what its op needs."""
        needs_old = self.has_op("u", "d") if old_values else self.has_op("d")
        needs_new = self.has_op("c", "r", "u")
        lacks = (needs_old & ~self.has_before) | ~self.has_op("c", "r", "u", "d", "t")
        lacks |= needs_new & ~self.has_after
        for row in np.flatnonzero(lacks).tolist():
            self.flaws.setdefault(row, self._lack(row))

    def _lack(self, row: int) -> Flaw:
        op = self.op[row].as_py()
        if op in ("c", "r", "u") and not self.has_after[row]:
            return Flaw(f"the Debezium envelope has op '{op}' but no field 'after'.")
        if op in ("u", "d"):
            return Flaw(_NO_OLD.format(op))
        return Flaw(f"the Debezium envelope has op {op!r}, which is not c, r, u or d.", "op", op)

    def replaced(self, rows: Sequence[int], other: EnvelopeBlock) -> EnvelopeBlock:
        """Returns the block with other envelopes in some rows."""
        places = np.arange(len(self.op))
        places[list(rows)] = len(self.op) + np.arange(len(rows))
        taken = pa.array(places)

        def mixed(one: pa.Array, two: pa.Array) -> pa.Array:
            return pa.concat_arrays([one, two]).take(taken)

        replaced = set(rows)
        return EnvelopeBlock(
            mixed(self.op, other.op),
            np.concatenate([self.has_before, other.has_before])[places],
            np.concatenate([self.has_after, other.has_after])[places],
            [mixed(*both) for both in zip(self.before, other.before, strict=True)],
            [mixed(*both) for both in zip(self.after, other.after, strict=True)],
            {row: flaw for row, flaw in self.flaws.items() if row not in replaced}
            | {rows[row]: flaw for row, flaw in other.flaws.items()},
        )


def mask_of(array: pa.Array) -> Mask:
    return np.array(array.to_numpy(zero_copy_only=False), np.bool_)
