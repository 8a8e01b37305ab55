"""Pairs of an expected row and an actual row, by number; each row is used once."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.testing.compare import Mark, near


def equal(wanted: Sequence[tuple[Mark, ...]], came: Sequence[tuple[Mark, ...]]) -> dict[int, int]:
    """Expected row to actual row, each used once."""
    places: dict[tuple[Mark, ...], list[int]] = {}
    for i in reversed(range(len(came))):
        places.setdefault(came[i], []).append(i)
    return {i: places[row].pop() for i, row in enumerate(wanted) if places.get(row)}


def nearest(
    wanted: Sequence[tuple[Mark, ...]],
    came: Sequence[tuple[Mark, ...]],
    tolerances: Sequence[float | None],
) -> dict[int, int]:
    """As many pairs as there can be: near is not transitive, so first come would not be best."""
    fits = [
        [
            j
            for j, row in enumerate(came)
            if all(
                near(a, b, tolerance) if tolerance is not None else a == b
                for a, b, tolerance in zip(want, row, tolerances, strict=True)
            )
        ]
        for want in wanted
    ]
    taken: dict[int, int] = {}

    def place(i: int, tried: set[int]) -> bool:
        """Give row i a partner, moving others to another of theirs where that helps."""
        for j in fits[i]:
            if j not in tried:
                tried.add(j)
                if j not in taken or place(taken[j], tried):
                    taken[j] = i
                    return True
        return False

    for i in range(len(wanted)):
        place(i, set())
    return {i: j for j, i in taken.items()}
