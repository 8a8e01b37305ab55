"""The state host: one Spark stateful processor that runs any kernel.

Spark starts a Python process on the driver, only to ask the processor what state it has. So this
module imports little: what a step needs comes in with the first step.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from copy import copy
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.stateful_processor import (
    StatefulProcessor,
    StatefulProcessorHandle,
)
from pyspark.sql.types import BinaryType, ByteType, IntegerType, StructField

from millstream.spark.clock import HostInput
from millstream.spark.state import SparkState, opened

if TYPE_CHECKING:
    import pandas as pd

    from millstream.kernels.base import Kernel

MAIN, LATE, REJECTED, STATS = 0, 1, 2, 3
PORTS = (
    StructField("_port", ByteType()),
    StructField("_from", IntegerType()),
    StructField("_blob", BinaryType()),
)
INPUTS = 16  # `_from` is the operator's number times this, and the input's number


class Stage:
    """One operator in the host. Its result comes out or, if there is `into`, is what the next stage
    reads: as its input `into`, with the columns that `renamed` gives, new names to old."""

    def __init__(
        self,
        number: int,
        kernel: Kernel,
        inputs: tuple[HostInput, ...],
        signature: dict[str, str],
        into: int | None = None,
        renamed: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.number = number  # of the operator in its pipeline, from the sink's side
        self.inputs = inputs
        self.signature = signature  # what the state that is kept depends on
        self.into = into
        self.renamed = renamed
        self._pickled = pickle.dumps(kernel)  # its module is imported when it is first used
        self._kernel: Kernel | None = None

    def feeding(self, into: int, renamed: tuple[tuple[str, str], ...]) -> Stage:
        """The same stage, its result read by another."""
        fed = copy(self)
        fed.into, fed.renamed = into, renamed
        return fed

    @property
    def kernel(self) -> Kernel:
        if self._kernel is None:
            self._kernel = pickle.loads(self._pickled)  # noqa: S301 -- our own, made above
        return self._kernel


class KernelHost(StatefulProcessor):
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
        from millstream.spark.step import step

        return step(self, int(key[0]), rows)

    def close(self) -> None:
        pass
