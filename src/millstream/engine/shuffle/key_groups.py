"""Key groups: the unit of state. A row belongs to group `pmod(xxhash64(key), G)`, for ever.

Spark places a group in partition `pmod(murmur3(label), P)`. Were a group's label its number, eight
groups could fall six to two on two partitions. So labels are chosen: label i hashes to i modulo
`SPREAD`, which spreads G groups evenly over every P that divides `SPREAD`.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from millstream.engine.shuffle.spark_hashes import murmur3_int

SPREAD = 2**7 * 3 * 5 * 7
_CANDIDATES = 1 << 20


@lru_cache(maxsize=16)
def labels(groups: int) -> tuple[int, ...]:
    """The labels of `groups` key groups; the same for ever, since state is kept under them."""
    found: dict[int, int] = {}
    start = 0
    while len(found) < groups:
        candidates = np.arange(start, start + _CANDIDATES, dtype=np.int64)
        residues = murmur3_int(candidates).astype(np.int64) % SPREAD
        for label in np.flatnonzero(residues < min(groups, SPREAD)):
            residue = int(residues[label])
            for group in range(residue, groups, SPREAD):
                if group not in found:
                    found[group] = start + int(label)
                    break
        start += _CANDIDATES
    return tuple(found[group] for group in range(groups))
