"""Several inputs of a stage that are one input of its kernel: the branches of a UNION ALL."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.processor.fake_processor import Values

from millstream.engine.processor.processor import KernelProcessor, Stage
from millstream.engine.processor.state_adapter import SparkState
from millstream.engine.processor.step import run_stages
from millstream.engine.processor.watermarks import InputSpec
from millstream.engine.shuffle.column_names import (
    INPUTS,
    LATE,
    MAIN,
    NOW,
    ORIGIN,
    PAYLOAD,
    ROW_KIND,
    STATS,
)
from millstream.engine.shuffle.format import PACKET_SCHEMA, decode
from millstream.engine.shuffle.packer import PackerSpec, pack_chunk
from millstream.kernels.core.specs import DeduplicateSpec
from millstream.kernels.deduplicate import Deduplicate
from millstream.temporal import BEGIN_OF_TIME, LateAction, LatePolicy

DELAYS = (3, 5)
Batch = tuple[list[tuple[int, int]], list[tuple[int, int]]]  # rows (key, time) of both branches


class UnionProcessor:
    """Runs the deduplication of two branches in one key group, without Spark."""

    def __init__(self) -> None:
        spec = DeduplicateSpec(("k",), ("k", "t"), None, LatePolicy(LateAction.SIDE_OUTPUT))
        self.inputs = tuple(
            InputSpec(name, delay, source=name, kernel_input=0, keeps_origin=True)
            for name, delay in zip(("a", "b"), DELAYS, strict=True)
        )
        self.kernel = Deduplicate(spec)
        self.values = Values()
        self.main: list[tuple[int, int]] = []
        self.late: list[tuple[int, int, int]] = []  # number of the branch, key, time
        self.stats: dict[str, Any] = {}

    def batch(self, branches: Batch) -> None:
        packets: list[dict[str, Any]] = []
        for number, rows in enumerate(branches):
            if rows:
                # The second branch has its columns in another order.
                spec = PackerSpec(number, "ab"[number], (0,))
                packets += pack_chunk(spec, _table(rows, number)).to_pylist()
        if not packets:
            return
        processor = KernelProcessor((Stage(0, self.kernel, self.inputs, "{}"),), ("k", "t"))
        processor.states = [SparkState(self.values)]  # type: ignore[arg-type]
        frame = pa.Table.from_pylist(packets, PACKET_SCHEMA).to_pandas()
        for given_rows in run_stages(processor, 0, iter([frame])):
            for row in given_rows.to_dict("records"):
                if row[ROW_KIND] == MAIN:
                    self.main.append((int(row["k"]), int(row["t"])))
                elif row[ROW_KIND] == LATE:
                    number = row[ORIGIN] % INPUTS
                    found = decode(row[PAYLOAD]).to_pylist()
                    self.late += [(number, each["k"], each["t"]) for each in found]
                elif row[ROW_KIND] == STATS:
                    self.stats = json.loads(row[PAYLOAD])


def _table(rows: list[tuple[int, int]], number: int) -> pa.Table:
    keys, times = ([row[place] for row in rows] for place in (0, 1))
    columns = {"_h": keys, "_t": times, "k": keys, "t": times}
    names = list(columns) if number == 0 else list(columns)[::-1]
    table = pa.table({name: pa.array(columns[name], pa.int64()) for name in names})
    return table.append_column(NOW, pa.repeat(pa.scalar(0, pa.int64()), len(rows)))


class Oracle:
    """The same in plain Python: the watermark is the minimum over the branches."""

    def __init__(self) -> None:
        self.max_times = [BEGIN_OF_TIME, BEGIN_OF_TIME]
        self.watermark = BEGIN_OF_TIME
        self.keys: set[int] = set()
        self.late: list[tuple[int, int, int]] = []

    def batch(self, branches: Batch) -> None:
        for number, rows in enumerate(branches):
            for key, time in rows:
                if time < self.watermark:
                    self.late.append((number, key, time))
                else:
                    self.keys.add(key)
                self.max_times[number] = max(self.max_times[number], time)
        progress = (top - delay for top, delay in zip(self.max_times, DELAYS, strict=True))
        self.watermark = max(self.watermark, min(progress))


ROWS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 40)), max_size=5)


@given(st.lists(st.tuples(ROWS, ROWS), max_size=8))
def test_branches_are_one_input_with_the_minimum_of_their_watermarks(batches: list[Batch]) -> None:
    processor, oracle = UnionProcessor(), Oracle()
    for branches in batches:
        processor.batch(branches)
        oracle.batch(branches)
        if processor.stats:
            assert processor.stats["watermark_after"] == oracle.watermark
    assert {key for key, _ in processor.main} == oracle.keys
    assert len(processor.main) == len(oracle.keys)
    assert Counter(processor.late) == Counter(oracle.late)
    counts = processor.stats.get("input_counts", {})
    counted = {name: each["in"] for name, each in counts.items()}
    rows = [sum(len(batch[number]) for batch in batches) for number in (0, 1)]
    assert counted == {name: rows[number] for number, name in enumerate("ab") if rows[number]}
