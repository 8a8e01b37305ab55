"""Declares the connector `kafka`."""

from __future__ import annotations

from millstream.connectors.kafka.checks import (
    check_columns,
    check_kafka,
    delivery_of,
    retracts,
    upsert_key,
)
from millstream.connectors.kafka.schema_properties import SCHEMA_PROPERTIES
from millstream.plan.connectors import PATH, ConnectorSpec, Delivery, Property, Role
from millstream.sql.properties import BOOLEAN, CHARACTER, COUNT, DURATION, TEXT, TIMEOUT, one_of
from millstream.temporal import OutputMode

_SOURCE, _SINK = (Role.SOURCE,), (Role.SINK,)
_CSV = ("csv",)

SPEC = ConnectorSpec(
    "kafka",
    "A topic of Apache Kafka.",
    (
        Property(
            "bootstrap.servers",
            TEXT,
            "Brokers, separated by commas.",
            required="localhost:9092",
        ),
        Property("topic", TEXT, "The topic.", required="{name}"),
        Property(
            "format",
            one_of("json", "avro", "protobuf", "csv", "raw"),
            "How values are written; raw: the one column is the value. A sink writes JSON, Avro or "
            "Protobuf.",
            default="json",
        ),
        *SCHEMA_PROPERTIES,
        Property(
            "start",
            one_of("earliest", "latest", "timestamp", "offsets"),
            "Where a new checkpoint starts to read.",
            _SOURCE,
            default="earliest",
        ),
        Property(
            "start.timestamp",
            TEXT,
            "Required with 'start' = 'timestamp': records from this time on, in ISO 8601, such as "
            "2026-01-31T12:00:00Z; without an offset it is UTC.",
            _SOURCE,
        ),
        Property(
            "start.offsets",
            TEXT,
            "Required with 'start' = 'offsets': the first offset of partitions, such as "
            "0:42,1:300; other partitions start at the earliest.",
            _SOURCE,
        ),
        Property(
            "max.rows.per.batch",
            COUNT,
            "The maximum number of offsets per micro-batch.",
            _SOURCE,
            default="1000000",
        ),
        Property(
            "partition.discovery",
            DURATION,
            "How often new partitions are looked for.",
            _SOURCE,
            default="10s",
        ),
        Property(
            "on.data.loss",
            one_of("fail", "skip"),
            "What to do if records were deleted before they were read.",
            _SOURCE,
            default="fail",
        ),
        Property(
            "timestamp.format",
            TEXT,
            "How times are written: iso8601, epoch_millis, epoch_seconds or a pattern such as "
            "dd.MM.yyyy HH:mm:ss.",
            _SOURCE,
            default="iso8601",
            formats=("json", "csv", "avro", "protobuf"),
        ),
        Property(
            "delimiter", CHARACTER, "The character between values.", _SOURCE, ",", formats=_CSV
        ),
        Property(
            "quote",
            TEXT,
            "The character around values that need it, or none.",
            _SOURCE,
            '"',
            formats=_CSV,
        ),
        Property(
            "null.value",
            TEXT,
            "A text that means NULL, besides an empty value.",
            _SOURCE,
            formats=_CSV,
        ),
        Property(
            "trim",
            BOOLEAN,
            "Whether blanks around values are removed.",
            _SOURCE,
            "false",
            formats=_CSV,
        ),
        Property(
            "delivery",
            one_of("exactly_once", "at_least_once"),
            "Exactly once: with transactions, for consumers that read committed records. At least "
            "once is faster.",
            _SINK,
            default="exactly_once",
        ),
        Property(
            "key.columns",
            TEXT,
            "Columns, separated by commas, that are the key of the record: one as text, several as "
            "JSON. Of a source, with 'changelog' = 'upsert'.",
        ),
        Property(
            "headers.column",
            TEXT,
            "A column MAP<STRING, BINARY> or MAP<STRING, STRING> that is the headers of the "
            "record, not part of its value.",
            _SINK,
        ),
        Property(
            "changelog",
            one_of("upsert", "debezium"),
            "How changes are written: upsert: the last row of a key, and a tombstone for one that "
            "is deleted; debezium: before, after and op. A sink writes results that change as "
            "upserts if it is not set; a source without it has ordinary rows.",
        ),
        Property(
            "on.truncate",
            one_of("fail", "ignore"),
            "With 'changelog' = 'debezium': fail: TRUNCATE stops the job, because the topic does "
            "not have the deleted rows; ignore: they remain in results.",
            _SOURCE,
            default="fail",
        ),
        Property(
            "on.expired.marker",
            one_of("fail", "write"),
            "What to do if brokers have deleted the markers of written batches: fail, or write the "
            "batch, which may repeat rows.",
            _SINK,
            default="fail",
        ),
        Property(
            "connect.timeout",
            TIMEOUT,
            "How long the start of a job waits for brokers.",
            default="30s",
        ),
        Property(
            "retry.timeout",
            TIMEOUT,
            "How long a running job waits for brokers that do not answer.",
            default="10m",
        ),
        Property(
            "security.protocol",
            one_of("plaintext", "ssl", "sasl_plaintext", "sasl_ssl"),
            "How connections are secured.",
            default="plaintext",
        ),
        Property(
            "sasl.mechanism",
            TEXT,
            "How the user logs in, such as PLAIN or SCRAM-SHA-512. Default: GSSAPI, that of "
            "librdkafka.",
        ),
        Property("sasl.username", TEXT, "The user that logs in."),
        Property("sasl.password.env", TEXT, "The environment variable with the password."),
        Property("ssl.ca.location", PATH, "The file of trusted certificates."),
        Property(
            "config.file",
            PATH,
            "A file with further settings of librdkafka, one name=value per line, such as "
            "sasl.password=…. Executors read it, too.",
        ),
        Property(
            "kafka.NAME",
            TEXT,
            "The setting NAME of librdkafka, such as kafka.fetch.message.max.bytes.",
        ),
    ),
    source="millstream.connectors.kafka.opening:open_source",
    sink="millstream.connectors.kafka.opening:open_sink",
    modes=(OutputMode.APPEND, OutputMode.UPSERT, OutputMode.RETRACT),
    delivery=Delivery.EXACTLY_ONCE,
    delivery_reason="a transaction per task contains its rows and the number of the batch; "
    "consumers need isolation.level=read_committed",
    delivery_of=delivery_of,
    executor_reads=True,
    admission_control=True,
    system_columns=(
        ("_timestamp", "_timestamp"),
        ("_partition", "_partition"),
        ("_offset", "_offset"),
        ("_key", "_key"),
        ("_headers", "_headers"),
    ),
    pass_through=("kafka.",),
    retracts=retracts,
    upsert_key=upsert_key,
    check=check_kafka,
    check_columns=check_columns,
)
