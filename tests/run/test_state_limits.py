"""Limits of state are the operator's: the driver adds up what its key groups have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.processor.fake_processor import Processor

from millstream.engine.processor.watermarks import InputSpec
from millstream.engine.shuffle.format import ALLOWANCE, NO_LIMIT, NO_TIME
from millstream.engine.shuffle.packer import PackerSpec
from millstream.errors import StateError
from millstream.kernels.core.specs import DeduplicateSpec
from millstream.kernels.deduplicate import Deduplicate
from millstream.plan.build.job import build_job
from millstream.plan.build.query_groups import group_into_queries
from millstream.run.state_limits import StateLimits, shares
from millstream.temporal import OnLimit, StateLimit

GROUPS = 8
SQL = """
CREATE SOURCE clicks (k STRING, at TIMESTAMP, WATERMARK FOR at AS at) WITH ('connector' = 'memory');
CREATE SINK out AS SELECT DISTINCT ON (k) k FROM clicks
WITH ('state.ttl' = 'forever', 'state.max_rows' = '8', 'state.on_limit' = 'POLICY');
"""


def limits_of(folder: Path, policy: str) -> StateLimits:
    folder.mkdir(exist_ok=True)
    [query] = group_into_queries(build_job(SQL.replace("POLICY", policy)))
    return StateLimits.of(query, folder)


def stats(*rows: int) -> list[dict[str, Any]]:
    return [
        {"operator": 0, "group": group, "counts": {"state_rows": count, "state_bytes": 10 * count}}
        for group, count in enumerate(rows)
    ]


def sent(folder: Path) -> dict[str, list[dict[str, Any]]]:
    return {
        path.name: [json.loads(line) for line in path.read_text().splitlines()]
        for path in sorted(folder.glob("allowance-*.json"))
    }


def test_one_key_group_may_use_the_whole_limit(tmp_path):
    limits_of(tmp_path, "fail").check(stats(0, 8, 0, 0))


def test_with_fail_more_rows_than_the_limit_in_all_groups_fail_the_batch(tmp_path):
    with pytest.raises(StateError) as caught:
        limits_of(tmp_path, "fail").check(stats(3, 3, 3))
    assert caught.value.code == "MS-STATE-LIMIT"
    assert caught.value.cause == (
        "the deduplication of clicks has 9 rows of state; 'state.max_rows' is 8."
    )
    assert caught.value.fix == (
        "Raise 'state.max_rows' and run again: the batch is then retried. Or bound the state by "
        "time, or set 'state.on_limit' = 'evict'."
    )


def test_with_evict_nothing_is_sent_while_the_limit_is_kept(tmp_path):
    limits = limits_of(tmp_path, "evict")
    limits.check(stats(5, 9))
    limits.distribute(0, stats(4, 4))
    assert sent(tmp_path) == {}


def test_with_evict_each_group_is_sent_its_part_by_what_it_uses(tmp_path):
    limits_of(tmp_path, "evict").distribute(3, stats(12, 0, 4))
    assert sent(tmp_path) == {
        "allowance-000000003.json": [
            {"kind": "allowance", "operator": 0, "label": label, "rows": rows, "bytes": None}
            for label, rows in ((0, 6), (1, 0), (2, 2))
        ]
    }


def test_a_batch_that_is_tried_again_sends_the_same_message(tmp_path):
    limits_of(tmp_path, "evict").distribute(3, stats(12, 0, 4))
    first = sent(tmp_path)
    limits_of(tmp_path, "evict").distribute(3, stats(12, 0, 4))
    assert sent(tmp_path) == first


def test_an_allowance_that_did_not_help_is_not_sent_again(tmp_path):
    limits = limits_of(tmp_path, "evict")
    for batch in range(5):
        limits.distribute(batch, stats(12, 4))
    assert list(sent(tmp_path)) == ["allowance-000000000.json"]


def test_allowances_are_sent_after_each_batch_of_a_steady_stream(tmp_path):
    limits = limits_of(tmp_path, "evict")
    for batch in range(3):
        after = stats(12, 4)
        after[0]["counts"]["input.evicted"] = 8 * batch
        limits.distribute(batch, after)
    assert len(sent(tmp_path)) == 3


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=16), st.integers(1, 20_000))
def test_parts_of_a_limit_add_up_to_it_and_no_group_gets_more_than_it_uses(used, limit):
    usage = dict(enumerate(used))
    parts = shares(usage, limit)
    if sum(used) <= limit:
        assert set(parts.values()) == {None}
    else:
        assert sum(part or 0 for part in parts.values()) == limit
        assert all((part or 0) <= usage[label] for label, part in parts.items())


def batch_of(keys: list[int], at: int) -> pa.Table:
    return pa.table(
        {
            "_t": pa.array([at] * len(keys), pa.int64()),
            "_h": pa.array(keys, pa.int64()),
            "k": pa.array(keys, pa.int64()),
        }
    )


@settings(max_examples=8)
@given(
    st.lists(st.lists(st.integers(0, 60), max_size=12), min_size=1, max_size=5),
    st.booleans(),
)
def test_state_is_over_its_limit_by_no_more_than_one_batch(tmp_path_factory, batches, hot):
    """The driver's part is played by StateLimits, the control stream's by its files."""
    folder = tmp_path_factory.mktemp("control")
    limits = limits_of(folder, "evict")
    whole = StateLimit(max_rows=8, on_limit=OnLimit.EVICT)
    spec = DeduplicateSpec(("k",), ("k",), None, limit=whole)
    packing = PackerSpec(0, "clicks", tuple(range(GROUPS)))
    processor = Processor(Deduplicate(spec), ("k",), InputSpec("clicks", 0), packing)
    read: set[str] = set()
    highest = 0
    for number, numbers in enumerate([*batches, []]):
        # Keys of a hot key group are all in one of the eight.
        keys = list(dict.fromkeys(key * GROUPS if hot else key for key in numbers))
        messages = sent(folder)
        control = [line for name in messages if name not in read for line in messages[name]]
        read |= set(messages)
        output = processor.batch(
            batch_of(keys, number),
            number,
            allowances=[
                {"kind": ALLOWANCE, "label": line["label"], "source": line["operator"]}
                | {"rows": NO_LIMIT if line["rows"] is None else line["rows"]}
                | {"max_time": NO_TIME if line["bytes"] is None else line["bytes"]}
                for line in control
            ],
        )
        if output.stats:
            used = output.count("state_rows")
            assert used <= 8 + len(keys)
            highest = max(highest, used)
            limits.distribute(number, output.stats)
    if hot:
        distinct = {key for numbers in batches for key in numbers}
        assert highest >= min(8, len(distinct)), "one hot key group may use all of the limit"
