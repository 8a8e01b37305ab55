"""How Spark's Python workers are started."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa


def test_workers_pass_over_what_spark_puts_on_their_path_and_what_is_imported(spark) -> None:
    def told(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import gc
        import sys

        for _ in batches:
            found = [each for each in sys.path if each.endswith(("src.zip", "pyspark.zip", ".jar"))]
            yield pa.RecordBatch.from_pydict(
                {"archives": [", ".join(found)], "aside": [gc.get_freeze_count()]}
            )

    rows = spark.range(1).coalesce(1).mapInArrow(told, "archives string, aside bigint")
    ((archives, aside),) = rows.collect()
    assert archives == ""
    assert aside > 10_000
