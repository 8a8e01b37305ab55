"""What a micro-batch reads, from its offsets alone."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from millstream.connectors.kafka.offsets import (
    OffsetRange,
    entry,
    limited,
    offsets_of,
    pieces,
    shared_out,
)


def test_an_entry_of_the_offset_log_has_the_topic_and_each_partition() -> None:
    made = entry("abc", {1: 7, 0: 3})
    assert json.dumps(made) == '{"id": "abc", "0": 3, "1": 7}'
    assert offsets_of(made) == ("abc", {0: 3, 1: 7})


def test_a_limit_is_shared_in_proportion_to_what_partitions_have() -> None:
    assert limited({0: 0, 1: 10}, {0: 90, 1: 20}, 10) == {0: 9, 1: 11}
    assert limited({0: 0, 1: 10}, {0: 90, 1: 20}, 100) == {0: 90, 1: 20}
    assert limited({0: 0, 1: 10}, {0: 90, 1: 20}, None) == {0: 90, 1: 20}
    assert limited({0: 5, 1: 5}, {0: 5, 1: 5}, 1) == {0: 5, 1: 5}


def test_a_long_range_is_several_work_items() -> None:
    found = list(pieces("t", {0: 0, 1: 5}, {0: 600_000, 1: 5}))
    assert [(each.start, each.end) for each in found] == [
        (0, 250_000),
        (250_000, 500_000),
        (500_000, 600_000),
    ]
    assert OffsetRange.decoded(found[2].encoded()) == found[2]


COUNTS = st.dictionaries(st.integers(0, 9), st.integers(0, 400_000), min_size=1)


@given(counts=COUNTS, limit=st.integers(1, 900_000))
def test_batches_reach_the_end_and_read_each_offset_once(
    counts: dict[int, int], limit: int
) -> None:
    at = dict.fromkeys(counts, 0)
    read = dict.fromkeys(counts, 0)
    for _ in range(sum(counts.values()) // limit * 2 + len(counts) * 20 + 50):
        end = limited(at, counts, limit)
        assert sum(end.values()) - sum(at.values()) <= limit + len(counts)
        for task in shared_out(list(pieces("t", at, end)), 3):
            for item in task:
                read[item.partition] += item.end - item.start
        if at == end:
            break
        at = end
    assert at == read == counts
