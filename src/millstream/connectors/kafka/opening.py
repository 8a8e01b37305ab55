"""Opens sources and sinks, if the packages that they need are installed."""

from __future__ import annotations

import importlib
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from millstream.errors import RunError
from millstream.plan.nodes import SinkDef, Source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.connectors.kafka.sink import KafkaSink
    from millstream.connectors.work_items import WorkStream

_AVRO = (("fastavro", "kafka"),)
_FORMATS = {"avro": _AVRO, "protobuf": (*_AVRO, ("ptars", "protobuf"))}


def open_source(
    spark: SparkSession, source: Source, base: Path, columns: Collection[str]
) -> WorkStream:
    _require_packages(f"source {source.name}", source.option("format"))
    from millstream.connectors.kafka import source as kafka_source

    return kafka_source.open_source(spark, source, base, columns)


def open_sink(sink: SinkDef, base: Path) -> KafkaSink:
    _require_packages(f"sink {sink.name}", sink.option("format"))
    from millstream.connectors.kafka.sink import KafkaSink

    return KafkaSink.opened(sink, base)


def _require_packages(owner: str, form: str) -> None:
    for package, extra in (("confluent_kafka", "kafka"), *_FORMATS.get(form.lower(), ())):
        try:
            importlib.import_module(package)
        except ImportError:
            name = package.replace("_", "-")
            raise RunError(
                "MS-RUN-KAFKA-DRIVER",
                f"{owner} is in Kafka, and {name} is not installed.",
                fix=f"Add it: pip install 'millstream[{extra}]'.",
            ) from None
