"""Writes a DataFrame to a sink as a micro-batch of a job."""

from __future__ import annotations

from pyspark.sql import DataFrame

from millstream.connectors.file.sink import FileSink
from millstream.connectors.sink import BatchId
from millstream.engine.processor.routing import MAIN_OUTPUT, MESSAGES, BatchReport, Routing, router
from millstream.run.batch_writer import Openers, write_batch


def write_frame(sink: FileSink, rows: DataFrame, batch: int) -> None:
    ids = {MAIN_OUTPUT: BatchId("checkpoint", "query", MAIN_OUTPUT, batch)}
    ansi = rows.sparkSession.conf.get("spark.sql.ansi.enabled") == "true"
    taken = sink.projection(rows.schema, ansi=ansi)
    shown = rows.select(*(column.alias(name) for name, column in taken.items()))

    def execute(openers: Openers) -> BatchReport:
        routed = shown.mapInArrow(router(Routing(), ids, openers), MESSAGES)
        return BatchReport.of(routed.collect())

    write_batch({MAIN_OUTPUT: sink}, ids, execute, lambda *_: None)
