"""Offsets of a topic as values: what a micro-batch reads, within the limit of its size.

{"id": "…", "0": 1200, "1": 900}     the offset log's entry: the topic's id, and the first offset
                                     of each partition that is not read yet
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

ID = "id"
_PIECE = 250_000  # offsets of a work item; the same on any machine, since a retry must fit
Offsets = dict[int, int]


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Records of one partition from `start` to before `end`."""

    topic: str
    partition: int
    start: int
    end: int

    def encoded(self) -> str:
        return json.dumps([self.topic, self.partition, self.start, self.end])

    @classmethod
    def decoded(cls, text: str) -> OffsetRange:
        return cls(*json.loads(text))


def entry(topic_id: str, offsets: Mapping[int, int]) -> dict[str, str | int]:
    """Returns offsets as an entry of the offset log."""
    return {ID: topic_id, **{str(number): offsets[number] for number in sorted(offsets)}}


def offsets_of(logged: Mapping[str, str | int]) -> tuple[str, Offsets]:
    """Returns the topic's id and the offsets of an entry of the offset log."""
    offsets = {int(name): int(value) for name, value in logged.items() if name != ID}
    return str(logged.get(ID, "")), offsets


def limited(start: Offsets, ends: Offsets, most: int | None) -> Offsets:
    """Returns where a batch of at most `most` offsets ends; each partition has a share of them
    in proportion to what it has, and at least one."""
    left = {number: max(end - start[number], 0) for number, end in ends.items()}
    total = sum(left.values())
    if most is None or total <= most:
        return {number: start[number] + count for number, count in left.items()}
    shares = {n: min(count, max(1, most * count // total)) for n, count in left.items() if count}
    return {number: start[number] + shares.get(number, 0) for number in left}


def pieces(topic: str, start: Offsets, end: Offsets) -> Iterator[OffsetRange]:
    """Yields the work items of a batch."""
    for number, last in sorted(end.items()):
        for first in range(start[number], last, _PIECE):
            yield OffsetRange(topic, number, first, min(first + _PIECE, last))


def shared_out(items: Sequence[OffsetRange], tasks: int) -> list[list[OffsetRange]]:
    """Distributes work items to tasks, the largest first to the task that has the fewest."""
    found: list[list[OffsetRange]] = [[] for _ in range(max(1, min(tasks, len(items))))]
    weights = [0] * len(found)
    for item in sorted(items, key=lambda each: each.start - each.end):
        least = weights.index(min(weights))
        found[least].append(item)
        weights[least] += item.end - item.start
    return [each for each in found if each]
