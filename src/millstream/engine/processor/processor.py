"""The state host: one Spark stateful processor that runs any kernel.

Spark starts a Python process on the driver, only to ask the processor what state it has. So this
module imports little: what a step needs comes in with the first step.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql.streaming.stateful_processor import (
    StatefulProcessor,
    StatefulProcessorHandle,
)

from millstream.engine.processor.state_adapter import SparkState, opened
from millstream.engine.processor.watermarks import InputSpec

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from millstream.kernels.core.kernel import Kernel
    from millstream.temporal import StateLimit


class StageLink(NamedTuple):
    """How the result of a stage is read by the next: as its input `into`, with the columns that
    `renamed` gives, new names to old, and the hash of those in `hashed`; then folded."""

    into: int
    renamed: tuple[tuple[str, str], ...]
    hashed: tuple[str, ...]
    fold: Callable[[pl.DataFrame], pl.DataFrame] | None


class Stage:
    """One operator in the host. Its result comes out or, with a feed, goes to the next one."""

    def __init__(
        self,
        number: int,
        kernel: Kernel,
        inputs: tuple[InputSpec, ...],
        identity: str,
        feed: StageLink | None = None,
        share: StateLimit | None = None,
        evicts: bool = False,
        relayed: tuple[str, ...] = (),
    ) -> None:
        self.number = number  # of the operator in its query (`query_operators`)
        self.inputs = inputs
        self.identity = identity  # what its state depends on, as canonical JSON
        self.has_link = feed is not None
        self.share = share  # the limit of each key group, if the driver sends no allowances
        self.evicts = evicts  # are rows over the limit evicted?
        self.relayed = relayed  # columns of results that come out as packets, too
        # Their modules are imported when they are first used.
        self._pickled = pickle.dumps((kernel, feed))
        self._made: tuple[Kernel, StageLink | None] | None = None

    def with_link(self, feed: StageLink) -> Stage:
        """The same stage, its result read by another."""
        own = (self.number, self.kernel, self.inputs, self.identity)
        return Stage(*own, feed, self.share, self.evicts, self.relayed)

    @property
    def kernel(self) -> Kernel:
        return self._parts[0]

    @property
    def feed(self) -> StageLink | None:
        return self._parts[1]

    @property
    def _parts(self) -> tuple[Kernel, StageLink | None]:
        if self._made is None:
            self._made = pickle.loads(self._pickled)  # noqa: S301 -- our own, made above
        return self._made


class KernelProcessor(StatefulProcessor):
    """One instance a task; one call a key group and micro-batch. Stages of one key run one after
    the other in the same call: what lies in a group is never sent about again."""

    def __init__(self, stages: tuple[Stage, ...], columns: tuple[str, ...]) -> None:
        self.stages = stages
        self.columns = columns

    def init(self, handle: StatefulProcessorHandle) -> None:
        held = opened(handle)
        self.states = [
            SparkState(held, prefix=f"s{place}_" if place else "")
            for place in range(len(self.stages))
        ]

    def handleInputRows(
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,
    ) -> Iterator[pd.DataFrame]:
        from millstream.engine.processor.step import step

        return step(self, int(key[0]), rows)

    def close(self) -> None:
        pass
