"""Key groups: the unit of state. A row always belongs to group `pmod(xxhash64(key), G)`.

Spark places a group in partition `pmod(murmur3(label), P)`. If labels were the numbers of groups,
two partitions could get six and two of eight groups. So labels are chosen: the hash of label i is i
modulo `SPREAD`, which distributes G groups evenly to every P that divides `SPREAD`.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from millstream.engine.shuffle.spark_hashes import murmur3_int

SPREAD = 2**7 * 3 * 5 * 7
_CANDIDATES = 1 << 20


@lru_cache(maxsize=16)
def labels(groups: int) -> tuple[int, ...]:
    """Returns the labels of `groups` key groups. They never change: state is stored under them."""
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
