"""Opens sources and sinks, if confluent-kafka is installed."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from millstream.errors import RunError
from millstream.plan.nodes import SinkDef, Source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.connectors.kafka.sink import KafkaSink
    from millstream.connectors.work_items import WorkStream


def open_source(
    spark: SparkSession, source: Source, base: Path, columns: Collection[str]
) -> WorkStream:
    _require_driver(f"source {source.name}")
    from millstream.connectors.kafka import source as kafka_source

    return kafka_source.open_source(spark, source, base, columns)


def open_sink(sink: SinkDef, base: Path) -> KafkaSink:
    _require_driver(f"sink {sink.name}")
    from millstream.connectors.kafka.sink import KafkaSink

    return KafkaSink.opened(sink, base)


def _require_driver(owner: str) -> None:
    try:
        import confluent_kafka  # noqa: F401
    except ImportError:
        raise RunError(
            "MS-RUN-KAFKA-DRIVER",
            f"{owner} is in Kafka, and confluent-kafka is not installed.",
            fix="Add it: pip install 'millstream[kafka]'.",
        ) from None
