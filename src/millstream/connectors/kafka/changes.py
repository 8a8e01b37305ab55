"""The changes that records of a changelog are: rows with the kind of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millstream.connectors.file.rejections import Flaw

OPS = ("+I", "-U", "+U", "-D")  # by the number in the column CHANGE
INSERT, BEFORE, AFTER, DELETE = range(4)
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ChangeRows:
    """Rows of a block of records.

    Attributes:
        columns: The declared columns.
        records: The place of each row's record in the block.
        ops: The kind of each row, a number of OPS.
        flaws: By row.
    """

    columns: list[pa.Array]
    records: Ints
    ops: npt.NDArray[np.int8]
    flaws: dict[int, Flaw]


def record_times(messages: Sequence[Any]) -> pa.Array:
    """Returns the times of records; NULL if they have none."""
    millis = (message.timestamp() for message in messages)
    micros = [None if kind == 0 else time * 1000 for kind, time in millis]
    return pa.array(micros, pa.int64()).cast(pa.timestamp("us", "UTC"))
