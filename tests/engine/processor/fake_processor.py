"""Runs the stateful processor of one operator without Spark: batches of rows in, rows out.

Spark's part is small enough to be played here: it groups packets by label, keeps a map of values
for each group, and names the batch's processing time.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from millstream.engine.processor.processor import KernelProcessor, Stage
from millstream.engine.processor.state_adapter import SparkState
from millstream.engine.processor.step import run_stages
from millstream.engine.processor.watermarks import InputSpec
from millstream.engine.shuffle.column_names import LATE, MAIN, NOW, ORIGIN, PAYLOAD, ROW_KIND, STATS
from millstream.engine.shuffle.format import END_OF_INPUT, NO_TIME, PACKET_SCHEMA, decode
from millstream.engine.shuffle.packer import PackerSpec, pack_chunk
from millstream.kernels.core.kernel import Kernel


class Values:
    """Spark's MapState, of one key group."""

    def __init__(self) -> None:
        self.values: dict[Any, Any] = {}

    def getValue(self, key: Any) -> Any:  # noqa: N802 -- Spark's name
        return self.values.get(key)

    def updateValue(self, key: Any, value: Any) -> None:  # noqa: N802
        self.values[key] = value

    def removeKey(self, key: Any) -> None:  # noqa: N802
        self.values.pop(key, None)


@dataclass
class Output:
    main: list[dict[str, Any]] = field(default_factory=list)
    late: list[dict[str, Any]] = field(default_factory=list)
    stats: list[dict[str, Any]] = field(default_factory=list)

    def count(self, what: str) -> int:
        return sum(each["counts"].get(what, 0) for each in self.stats)


@dataclass
class Processor:
    kernel: Kernel
    columns: tuple[str, ...]
    input: InputSpec
    packer_spec: PackerSpec
    states: dict[int, Values] = field(default_factory=dict)

    def batch(
        self,
        rows: pa.Table | None,
        now: int,
        *,
        end: bool = False,
        control: Sequence[dict[str, Any]] = (),
        allowances: Sequence[dict[str, Any]] = (),
    ) -> Output:
        """One micro-batch at a processing time. `control`: packets for all groups; `allowances`:
        packets for the groups that they name."""
        packets: list[dict[str, Any]] = []
        if rows is not None and rows.num_rows:
            stamped = rows.append_column(NOW, pa.repeat(pa.scalar(now, pa.int64()), rows.num_rows))
            packets = pack_chunk(self.packer_spec, stamped).to_pylist()
        messages = [*control, *([{"kind": END_OF_INPUT}] if end else [])]
        packets += [
            {**_MESSAGE, "label": label, **message}
            for label in self.packer_spec.labels
            for message in messages
        ]
        packets += [{**_MESSAGE, **allowance} for allowance in allowances]
        output = Output()
        for label in self.packer_spec.labels:
            own = [packet for packet in packets if packet["label"] == label]
            if own:
                self._run(label, own, output)
        return output

    def _run(self, label: int, packets: list[dict[str, Any]], output: Output) -> None:
        processor = KernelProcessor(
            (Stage(0, self.kernel, (self.input,), "{}", evicts=True),), self.columns
        )
        values = self.states.setdefault(label, Values())
        processor.states = [SparkState(values)]  # type: ignore[arg-type]
        frame = pa.Table.from_pylist(packets, PACKET_SCHEMA).to_pandas()
        for given in run_stages(processor, label, iter([frame])):
            for row in given.to_dict("records"):
                port, payload = row.pop(ROW_KIND), row.pop(PAYLOAD)
                row.pop(ORIGIN)
                if port == MAIN:
                    output.main.append(row)
                elif port == LATE:
                    output.late += decode(payload).to_pylist()
                elif port == STATS:
                    output.stats.append(json.loads(payload))

    def copy(self) -> Processor:
        """With the same state, to run a batch again from where it began."""
        states = copy.deepcopy(self.states)
        return Processor(self.kernel, self.columns, self.input, self.packer_spec, states)


_MESSAGE = {
    "kind": 0,
    "target": 0,
    "sequence": 0,
    "max_time": NO_TIME,
    "now": NO_TIME,
    "rows": 0,
    "is_idle": -1,
    "payload": None,
    "input_counts": None,
    "partitions": None,
}
