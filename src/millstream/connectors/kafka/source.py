"""Opens a topic as a stream of offset ranges that executors read."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructField, StructType

from millstream.connectors.declared_columns import to_spark_schema
from millstream.connectors.file.csv_files import CsvFiles
from millstream.connectors.file.options import arrow_type, files_of
from millstream.connectors.file.patterns import PatternError
from millstream.connectors.file.values import Column, time_format
from millstream.connectors.kafka.checks import start_millis, start_offsets
from millstream.connectors.kafka.client import Client
from millstream.connectors.kafka.range_stream import SETTINGS, KafkaRanges, StreamSettings
from millstream.connectors.kafka.reader import RECORD_COLUMNS, KafkaRecords
from millstream.connectors.kafka.schema_properties import FORMATS
from millstream.connectors.kafka.schemas import record_values
from millstream.connectors.kafka.topics import Topic
from millstream.connectors.kafka.values import CsvValues, Decoder, JsonValues, RawValues
from millstream.connectors.python_source import register
from millstream.connectors.work_items import WorkStream
from millstream.errors import PropertyError
from millstream.plan import nodes
from millstream.temporal import parse_span


def open_source(
    spark: SparkSession,
    source: nodes.Source,
    base: Path,
    columns: Collection[str],  # noqa: ARG001
) -> WorkStream:
    client = Client.of("source", source, base)
    schema = to_spark_schema(spark, source.columns)
    decoder = _decoder(source, schema, base)
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
        KafkaRecords(client, decoder, source.option("on.data.loss", "fail") == "skip"),
        schema,
        {field.name: arrow_type(field.dataType) for field in schema},
        partitions=tuple(map(str, partitions)),
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


def _decoder(source: nodes.Source, schema: StructType, base: Path) -> Decoder:
    """Declared columns with the name of a system column are those of the record."""
    own = StructType([each for each in schema if each.name.lower() not in RECORD_COLUMNS])
    if source.option("format", "json").lower() == "raw":
        return RawValues((_raw_column(source, own),))
    if source.option("format").lower() in FORMATS:
        return record_values(source, _columns(source, own), base)
    files = files_of(source, "/", own)
    if isinstance(files, CsvFiles):
        return CsvValues(files.columns, replace(files.form, multiline=False), files.nulls)
    return JsonValues(files.columns)


def _columns(source: nodes.Source, schema: StructType) -> tuple[Column, ...]:
    """The columns of Avro records or Protobuf messages."""
    given = source.option("timestamp.format")
    try:
        times = time_format(given)
    except PatternError as error:
        raise PropertyError(
            "MS-PROP-KAFKA",
            f"{source.name}: 'timestamp.format' = '{given}' {error}.",
            fix="Use iso8601, epoch_millis, epoch_seconds, or a pattern.",
            place=source.place,
        ) from None
    columns = []
    for field in schema:
        sql = field.dataType.simpleString().upper()
        try:
            columns.append(Column(field.name, arrow_type(field.dataType), sql, times))
        except PySparkException:
            raise PropertyError(
                "MS-PROP-KAFKA",
                f"{source.name}: values do not have the type {sql} of column {field.name}.",
                fix="Declare the column STRING and convert it in the query.",
                place=source.place,
            ) from None
    return tuple(columns)


def _raw_column(source: nodes.Source, schema: StructType) -> Column:
    kinds = [field.dataType.simpleString() for field in schema]
    if len(kinds) != 1 or kinds[0] not in ("string", "binary"):
        raise PropertyError(
            "MS-PROP-KAFKA",
            f"{source.name}: with 'format' = 'raw', one column is the value, and it is STRING or "
            f"BINARY; there are {', '.join(schema.names) or 'none'}.",
            fix="Declare one such column, and system columns of the record as you need them.",
            place=source.place,
        )
    field = schema[0]
    return Column(field.name, arrow_type(field.dataType), kinds[0].upper())


def _with_record_columns(spark: SparkSession, schema: StructType) -> StructType:
    declared = {name.lower() for name in schema.names}
    kinds = {name: kind for name, (kind, _) in RECORD_COLUMNS.items()}
    more = [nodes.Column(name, kind) for name, kind in kinds.items() if name not in declared]
    fields: list[StructField] = [*schema, *to_spark_schema(spark, more)]
    return StructType(fields)
