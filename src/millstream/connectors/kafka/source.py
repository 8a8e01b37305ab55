"""Opens a topic as a stream of offset ranges that executors read."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.types import StructField, StructType

from millstream.connectors.declared_columns import to_spark_schema
from millstream.connectors.file.options import arrow_type
from millstream.connectors.kafka.checks import start_millis, start_offsets
from millstream.connectors.kafka.client import Client
from millstream.connectors.kafka.decoders import decoders
from millstream.connectors.kafka.range_stream import SETTINGS, KafkaRanges, StreamSettings
from millstream.connectors.kafka.reader import RECORD_COLUMNS, KafkaRecords
from millstream.connectors.kafka.settings import OP
from millstream.connectors.kafka.topics import Topic
from millstream.connectors.python_source import register
from millstream.connectors.work_items import WorkStream
from millstream.plan import nodes
from millstream.temporal import parse_span


def open_source(
    spark: SparkSession,
    source: nodes.Source,
    base: Path,
    _: Collection[str],
) -> WorkStream:
    client = Client.of("source", source, base)
    schema = to_spark_schema(spark, source.columns)
    columns, decoder = decoders(source, schema, base)
    topic = source.option("topic")
    # Errors of the cluster are known before Spark starts to read.
    _, partitions = Topic(client, topic, client.connect).describe()
    settings = _settings(source, topic, spark.sparkContext.defaultParallelism)
    stream = spark.readStream.format(register(spark, KafkaRanges)).option(
        SETTINGS, settings.encoded(client)
    )
    schema = _with_record_columns(spark, schema)
    return WorkStream(
        stream.load(),
        KafkaRecords(client, columns, decoder, source.option("on.data.loss", "fail") == "skip"),
        schema,
        {field.name: arrow_type(field.dataType) for field in schema},
        partitions=tuple(map(str, partitions)),
        is_changelog=source.retracts,
    )


def _settings(source: nodes.Source, topic: str, tasks: int) -> StreamSettings:
    start: str | int | dict[str, int] = source.option("start", "earliest")
    if start == "timestamp":
        start = start_millis(source.option("start.timestamp"))
    elif start == "offsets":
        offsets = start_offsets(source.option("start.offsets"))
        start = {str(number): offset for number, offset in offsets.items()}
    limit = int(source.option("max.rows.per.batch", "1000000"))
    discovery = parse_span(source.option("partition.discovery", "10s")) / 1e6
    return StreamSettings(topic, tasks, limit, discovery, start)


def _with_record_columns(spark: SparkSession, schema: StructType) -> StructType:
    declared = {name.lower() for name in schema.names}
    kinds = {OP: "STRING"} | {name: kind for name, (kind, _) in RECORD_COLUMNS.items()}
    more = [nodes.Column(name, kind) for name, kind in kinds.items() if name not in declared]
    fields: list[StructField] = [*schema, *to_spark_schema(spark, more)]
    return StructType(fields)
