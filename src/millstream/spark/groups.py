"""Key groups: the unit of state. A row belongs to group `pmod(xxhash64(key), G)`, for ever.

Spark places a group in partition `pmod(murmur3(label), P)`. Were a group's label its number, eight
groups could fall six to two on two partitions. So labels are chosen: label i hashes to i modulo
`SPREAD`, which spreads G groups evenly over every P that divides `SPREAD`.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

SPREAD = 2**7 * 3 * 5 * 7
_SPARK_SEED = 42
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


def murmur3_int(values: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """Spark's `hash(int)`: Murmur3 x86 32-bit of the four bytes, seed 42."""
    with np.errstate(over="ignore"):
        k = values.astype(np.uint32) * np.uint32(0xCC9E2D51)
        k = _rotate(k, 15) * np.uint32(0x1B873593)
        h = _rotate(np.uint32(_SPARK_SEED) ^ k, 13) * np.uint32(5) + np.uint32(0xE6546B64)
        h ^= np.uint32(4)
        h ^= h >> np.uint32(16)
        h *= np.uint32(0x85EBCA6B)
        h ^= h >> np.uint32(13)
        h *= np.uint32(0xC2B2AE35)
        h ^= h >> np.uint32(16)
    return h.view(np.int32)


def _rotate(value: npt.NDArray[np.uint32], bits: int) -> npt.NDArray[np.uint32]:
    return (value << np.uint32(bits)) | (value >> np.uint32(32 - bits))
