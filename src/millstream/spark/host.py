"""The state host: one Spark stateful processor that runs any kernel.

Spark starts a Python process on the driver, only to ask the processor which stores it has. So this
module imports little: what a step needs comes in with the first step.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.stateful_processor import (
    StatefulProcessor,
    StatefulProcessorHandle,
)

from millstream.spark.clock import HostInput
from millstream.spark.state import SparkState

if TYPE_CHECKING:
    import pandas as pd

    from millstream.kernels.base import Kernel

MAIN, LATE, REJECTED, STATS = 0, 1, 2, 3
PORTS = "_port tinyint, _from int, _blob binary"
INPUTS = 16  # `_from` is the operator's number times this, and the input's number


class KernelHost(StatefulProcessor):
    """One instance a task; one call a key group and micro-batch."""

    def __init__(
        self,
        kernel: Kernel,
        inputs: tuple[HostInput, ...],
        columns: tuple[str, ...],
        signature: dict[str, str],
        number: int = 0,
    ) -> None:
        self.number = number  # of the operator in its pipeline, from the sink's side
        self.inputs = inputs
        self.signature = signature  # what the state that is kept depends on
        self.columns = columns
        self._stores = kernel.stores
        self._pickled = pickle.dumps(kernel)  # its module is imported when it is first used
        self._kernel: Kernel | None = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.state = SparkState(handle, (("clock", "value"), *self._stores))

    @property
    def kernel(self) -> Kernel:
        if self._kernel is None:
            self._kernel = pickle.loads(self._pickled)  # noqa: S301 -- our own, made above
        return self._kernel

    def handleInputRows(
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,
    ) -> Iterator[pd.DataFrame]:
        from millstream.spark.step import step

        return step(self, int(key[0]), rows)

    def close(self) -> None:
        pass
