"""Reads work items on executors and returns their rows to Spark."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import ByteType, StringType, StructField, StructType

from millstream.connectors.dead_letters import BAD, Rejection
from millstream.connectors.deferred_frame import DeferredFrame
from millstream.connectors.work_items import (
    CHANGE,
    ITEM,
    MAX_PARTS,
    PARTITION,
    Reader,
    WorkStream,
    split_into_parts,
)
from millstream.engine.scan.loop import read_items

# Spark computes with the rows in the same task, so smaller parts than for reading only are worth a
# task. NEXMark q21 and q22, with a 42 MB file per micro-batch: two thirds of the time.
_SMALLER_PARTS = 4
_TIME = "_ms_time"  # the processing time that is sent with an item


def rows_of(
    opened: DataFrame | DeferredFrame | WorkStream, columns: Collection[str]
) -> DeferredFrame | DataFrame:
    """Returns an opened source as rows; those of work items have the given columns, also columns of
    their item, BAD and, if the source has partitions, PARTITION; of a changelog, also CHANGE."""
    if not isinstance(opened, WorkStream):
        return opened
    stream = opened
    fields = [field for field in stream.schema if field.name in columns]
    change = [StructField(CHANGE, ByteType())] if stream.is_changelog else []
    schema = StructType([*fields, *change, StructField(BAD, StringType())])
    for name, type_ in stream.item_columns.items():
        if name in columns and name not in schema.names:
            schema.add(name, type_)
    if stream.partitions is not None:
        schema.add(PARTITION, StringType())
    return DeferredFrame(lambda: _frame(stream, schema), schema, origin=stream)


def _frame(stream: WorkStream, schema: StructType) -> DataFrame:
    """Reads large items in parts, with all cores."""
    cores = stream.items.sparkSession.sparkContext.defaultParallelism
    wanted = {name: type_ for name, type_ in stream.types.items() if name in schema.names}
    if stream.is_changelog:
        wanted[CHANGE] = pa.int8()
    size = stream.reader.size_of(stream.sample, wanted) if stream.sample else 0
    least = max(1, stream.reader.min_part_bytes // _SMALLER_PARTS)
    parts = max(1, min(cores, MAX_PARTS, size // least))
    now = F.unix_micros(F.current_timestamp()).alias(_TIME)
    side = [name for name in stream.item_columns if name in schema.names and name not in wanted]
    side += [] if stream.partitions is None else [PARTITION]
    items = split_into_parts(stream.items.select(ITEM, now, *side), parts)
    constant = {name: to_arrow_type(schema[name].dataType, timezone="UTC") for name in side}
    return items.mapInArrow(_reading(stream.reader, wanted, parts, constant), schema)


def _reading(
    reader: Reader,
    wanted: Mapping[str, pa.DataType],
    parts: int,
    constant: Mapping[str, pa.DataType],
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """`constant`: the columns of an item that are appended to its rows."""

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for read, sent, _ in read_items(batches, reader, wanted, parts):
            rows = _with_rejection_time(read, sent[_TIME])
            for name, type_ in constant.items():
                repeated = pa.repeat(pa.scalar(sent[name], type_), rows.num_rows)
                rows = rows.append_column(name, repeated)
            yield rows

    return read


def _with_rejection_time(rows: pa.RecordBatch, now: int) -> pa.RecordBatch:
    """Adds the processing time to rejections; a reader that rejects nothing has no BAD."""
    place = rows.schema.get_field_index(BAD)
    if place < 0:
        return rows.append_column(BAD, pa.nulls(rows.num_rows, pa.string()))
    bad = rows.column(place)
    if bad.null_count == len(bad):
        return rows
    texts = [
        None if text is None else replace(Rejection.decode(text), time=now).encode()
        for text in bad.to_pylist()
    ]
    return rows.set_column(place, BAD, pa.array(texts, pa.string()))
