"""The stateful processor that runs any kernel: Spark calls it for each key group and micro-batch.

Spark also starts a Python process on the driver, only to read which state the processor has.
Therefore this module imports little; what a step needs is imported with the first step.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql.streaming.stateful_processor import (
    StatefulProcessor,
    StatefulProcessorHandle,
)

from millstream.engine.processor.state_adapter import SparkState, open_state
from millstream.engine.processor.watermarks import InputSpec

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from millstream.kernels.core.kernel import Kernel
    from millstream.temporal import StateLimit


class StageLink(NamedTuple):
    """How the next stage reads the results of a stage, with no shuffle in between.

    Attributes:
        input: The number of the next stage's input.
        columns: The new and the old name of each column.
        hash_columns: The columns whose hash is the key's; empty if it is one of `columns`.
        fold: Aggregates rows before the next stage reads them.
    """

    input: int
    columns: tuple[tuple[str, str], ...]
    hash_columns: tuple[str, ...]
    fold: Callable[[pl.DataFrame], pl.DataFrame] | None


class Stage:
    """One operator of the processor. Its result is emitted or, with a link, read by the next stage.

    Args:
        operator: The number of the operator in its query (`query_operators`).
        kernel: The operator itself.
        inputs: Its inputs.
        identity: What its state depends on, as canonical JSON.
        link: How the next stage reads the result.
        default_limit: The limit of each key group, if the driver sends no allowances.
        evicts: Whether rows over the limit are evicted.
        relayed: The columns of results that are also emitted as packets.
    """

    def __init__(
        self,
        operator: int,
        kernel: Kernel,
        inputs: tuple[InputSpec, ...],
        identity: str,
        link: StageLink | None = None,
        default_limit: StateLimit | None = None,
        evicts: bool = False,
        relayed: tuple[str, ...] = (),
    ) -> None:
        self.operator = operator
        self.inputs = inputs
        self.identity = identity
        self.has_link = link is not None
        self.default_limit = default_limit
        self.evicts = evicts
        self.relayed = relayed
        # Pickled here, so that their modules are imported only when they are first used.
        self._pickled = pickle.dumps((kernel, link))
        self._parts: tuple[Kernel, StageLink | None] | None = None

    def with_link(self, link: StageLink) -> Stage:
        """The same stage, with its result read by another."""
        own = (self.operator, self.kernel, self.inputs, self.identity)
        return Stage(*own, link, self.default_limit, self.evicts, self.relayed)

    def kernel_input(self, number: int) -> int:
        """The kernel's input that an input of the stage is, or a branch of."""
        found = self.inputs[number].kernel_input
        return number if found is None else found

    @property
    def kernel(self) -> Kernel:
        return self._unpickle()[0]

    @property
    def link(self) -> StageLink | None:
        return self._unpickle()[1]

    def _unpickle(self) -> tuple[Kernel, StageLink | None]:
        if self._parts is None:
            self._parts = pickle.loads(self._pickled)  # noqa: S301 -- pickled in `__init__`
        return self._parts


class KernelProcessor(StatefulProcessor):
    """Runs the stages that share a shuffle, one after the other in the same call.

    Spark creates one instance for each task and calls it once for each key group and micro-batch.
    """

    def __init__(self, stages: tuple[Stage, ...], columns: tuple[str, ...]) -> None:
        self.stages = stages
        self.columns = columns  # of the last stage's result

    def init(self, handle: StatefulProcessorHandle) -> None:
        state = open_state(handle)
        self.states = [
            SparkState(state, prefix=f"s{number}_" if number else "")
            for number in range(len(self.stages))
        ]

    def handleInputRows(
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,
    ) -> Iterator[pd.DataFrame]:
        from millstream.engine.processor.step import run_stages

        return run_stages(self, int(key[0]), rows)

    def close(self) -> None:
        pass
