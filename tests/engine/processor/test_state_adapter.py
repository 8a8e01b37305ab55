"""The state stores of kernels, in Spark's state store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from millstream.connectors.memory import MemoryStream
from millstream.engine.processor.state_adapter import SparkState, open_state
from millstream.errors import StateError
from millstream.run.failures import user_error

STORED = "g int, last int, all array<int>, seen array<int>, other int"


def recording_processor() -> StatefulProcessor:
    """Stores numbers in stores of all kinds, and returns the previous ones. Defined here, so that
    Spark pickles it by value: workers cannot import this module."""

    def number(stored: bytes | None) -> int | None:
        return None if stored is None else int(stored)

    class Noting(StatefulProcessor):
        def init(self, handle: StatefulProcessorHandle) -> None:
            stored = open_state(handle)
            self.state = SparkState(stored)
            self.other = SparkState(stored, "s1_").value("last")

        def handleInputRows(  # noqa: N802 -- Spark's name
            self,
            key: Any,
            rows: Iterator[pd.DataFrame],
            timerValues: Any,  # noqa: N803, ARG002
        ) -> Iterator[pd.DataFrame]:
            last, every = self.state.value("last"), self.state.list("every")
            seen = self.state.map("seen")
            stored = {
                "g": int(key[0]),
                "last": number(last.get()),
                "all": [int(each) for each in every.get()],
                "seen": [each for each in range(-2, 10) if seen.get(each) is not None],
                "other": number(self.other.get()),
            }
            for frame in rows:
                for each in map(int, frame["x"]):
                    if each == 0:
                        last.clear()
                        every.clear()
                        seen.remove(2)
                    else:
                        last.put(b"%d" % each)
                        every.append(b"%d" % each)
                        seen.put(each, b"")
                    self.other.put(b"%d" % -each)
            yield pd.DataFrame([stored], dtype=object)

        def close(self) -> None:
            pass

    return Noting()


def test_stores_of_all_kinds_are_kept_from_batch_to_batch(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = MemoryStream(spark, "g int, x int")
    found: list[list[tuple[Any, ...]]] = []

    def note(batch: Any, _: int) -> None:
        found.append(sorted(tuple(row) for row in batch.collect()))

    stored = (
        rows.frame()
        .groupBy("g")
        .transformWithStateInPandas(recording_processor(), STORED, "Append", "None")
    )
    written = stored.writeStream.foreachBatch(note)
    query = written.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    try:
        for batch in ([(1, 5), (1, -1), (2, 7)], [(1, 2), (2, 7)], [(1, 0)], [(1, 8)], [(1, 9)]):
            rows.add([{"g": group, "x": each} for group, each in batch])
            query.processAllAvailable()
    finally:
        query.stop()
    assert found[0] == [(1, None, [], [], None), (2, None, [], [], None)]
    assert found[1] == [(1, -1, [5, -1], [-1, 5], 1), (2, 7, [7], [7], -7)]
    assert found[2] == [(1, 2, [5, -1, 2], [-1, 2, 5], -2)]
    assert found[3] == [(1, None, [], [-1, 5], 0)]
    assert found[4] == [(1, 8, [8], [-1, 5, 8], -8)]


def test_a_checkpoint_with_a_variable_per_store_is_rejected(
    spark: SparkSession, tmp_path: Path
) -> None:
    class Before(StatefulProcessor):
        def init(self, handle: StatefulProcessorHandle) -> None:
            self.clock = handle.getValueState("clock", "v binary")

        def handleInputRows(  # noqa: N802 -- Spark's name
            self,
            key: Any,
            rows: Iterator[pd.DataFrame],
            timerValues: Any,  # noqa: N803, ARG002
        ) -> Iterator[pd.DataFrame]:
            self.clock.update((b"%d" % len(list(rows)),))
            yield pd.DataFrame({"g": [key[0]]})

        def close(self) -> None:
            pass

    rows = MemoryStream(spark, "g int, x int")

    def run(processor: StatefulProcessor, schema: str) -> None:
        rows.add([{"g": 1, "x": 1}])
        grouped = rows.frame().groupBy("g")
        stored = grouped.transformWithStateInPandas(processor, schema, "Append", "None")
        written = stored.writeStream.format("noop").trigger(availableNow=True)
        query = written.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
        query.awaitTermination()

    run(Before(), "g int")
    with pytest.raises(StateError, match="MS-STATE-FORMAT"), user_error():
        run(recording_processor(), STORED)
