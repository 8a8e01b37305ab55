"""Declares the connector `file`."""

from __future__ import annotations

from millstream.connectors.file.sink_options import check_file, check_partitions
from millstream.plan.connectors import PATH, ConnectorSpec, Delivery, Property, Role
from millstream.sql.properties import (
    ANY_TEXT,
    BOOLEAN,
    CHARACTER,
    COUNT,
    DURATION,
    TEXT,
    one_of,
)
from millstream.temporal import OutputMode

_READ, _SOURCE, _SINK = (Role.SOURCE, Role.TABLE), (Role.SOURCE,), (Role.SINK,)
_CSV, _TEXTS = ("csv",), ("csv", "json")

SPEC = ConnectorSpec(
    "file",
    "Files of a folder, local or on S3, GCS, HDFS or ABFS.",
    (
        Property("path", PATH, "The folder or file.", required="data/{name}"),
        Property(
            "format",
            one_of("csv", "json", "parquet", "orc", "avro"),
            "The format of the files; JSON has an object on each line.",
            default="json",
        ),
        Property("max.files.per.batch", COUNT, "The maximum number of files per batch.", _SOURCE),
        Property(
            "max.rows.per.batch",
            COUNT,
            "The maximum number of rows per batch; larger files are divided.",
            _SOURCE,
            formats=("csv", "json", "parquet", "avro"),
        ),
        Property(
            "recursive",
            BOOLEAN,
            "Whether files in all folders below the path are read, not only in column=value.",
            _SOURCE,
            default="false",
        ),
        Property(
            "deleted.retention",
            DURATION,
            "How long the path of a deleted file is retained; afterwards a new file there is read.",
            _SOURCE,
            default="30d",
        ),
        Property(
            "timestamp.format",
            TEXT,
            "How timestamps are written: iso8601, epoch_millis, epoch_seconds or a pattern such "
            "as dd.MM.yyyy HH:mm:ss.",
            _READ,
            default="iso8601",
            formats=_TEXTS,
        ),
        Property(
            "timestamp.format",
            TEXT,
            "The pattern of timestamps, such as dd.MM.yyyy HH:mm:ss; ISO 8601 by default.",
            _SINK,
            formats=_TEXTS,
        ),
        # Accepted for all formats: jobs whose format is a variable set it for each.
        Property(
            "header",
            BOOLEAN,
            "Whether CSV files begin with the names of columns.",
            _READ,
            default="true",
        ),
        Property(
            "header",
            BOOLEAN,
            "Whether files begin with the names of columns.",
            _SINK,
            default="true",
            formats=_CSV,
        ),
        Property(
            "delimiter",
            TEXT,
            "The character between values; \\t is a tab.",
            _READ,
            default=",",
            formats=_CSV,
        ),
        Property(
            "delimiter",
            CHARACTER,
            "The character between values.",
            _SINK,
            default=",",
            formats=_CSV,
        ),
        Property(
            "quote",
            TEXT,
            "The character around values that need it, or none.",
            _READ,
            default='"',
            formats=_CSV,
        ),
        Property(
            "quote",
            CHARACTER,
            "The character around values that need it.",
            _SINK,
            default='"',
            formats=_CSV,
        ),
        Property(
            "escape",
            TEXT,
            "The character before a quote inside a value; by default the quote is doubled.",
            _READ,
            formats=_CSV,
        ),
        Property(
            "escape",
            CHARACTER,
            "The character before a quote inside a value; by default the quote is doubled.",
            _SINK,
            formats=_CSV,
        ),
        Property(
            "null.value",
            TEXT,
            "An unquoted value that means NULL, in addition to the empty value.",
            _READ,
            formats=_CSV,
        ),
        Property(
            "null.value",
            ANY_TEXT,
            "The representation of NULL, written without quotes.",
            _SINK,
            default="",
            formats=_CSV,
        ),
        Property(
            "encoding",
            TEXT,
            "The encoding, such as iso-8859-1 or utf-16.",
            _READ,
            default="utf-8",
            formats=_TEXTS,
        ),
        Property(
            "encoding", one_of("utf-8"), "The encoding.", _SINK, default="utf-8", formats=_CSV
        ),
        Property(
            "multiline",
            BOOLEAN,
            "Whether a value in quotes may contain line breaks.",
            _READ,
            default="true",
            formats=_CSV,
        ),
        Property(
            "trim",
            BOOLEAN,
            "Whether blanks around values are removed.",
            _READ,
            default="false",
            formats=_CSV,
        ),
        Property(
            "compression",
            TEXT,
            "The compression: none, gzip or bzip2 for CSV and JSON; snappy, "
            "gzip, zstd or lz4 for Parquet; snappy, zlib, zstd or lz4 for ORC; snappy "
            "or deflate for Avro.",
            _SINK,
        ),
        Property("partition.by", TEXT, "Partition columns, separated by commas (folders).", _SINK),
    ),
    source="millstream.connectors.file.source:open_source",
    table="millstream.connectors.file.table:open_table",
    sink="millstream.connectors.file.sink:open_sink",
    output="millstream.connectors.file.output:open_output",
    modes=(OutputMode.APPEND, OutputMode.UPSERT, OutputMode.RETRACT),
    delivery=Delivery.EXACTLY_ONCE,
    executor_reads=True,
    admission_control=True,
    source_state=True,
    watchable=True,
    system_columns=(("_timestamp", "_timestamp"),),
    check=check_file,
    check_columns=check_partitions,
)
