"""Packs rows: splits each chunk of rows into one packet per key group.

    rows ──packer──▶ packets ──shuffle──▶ step

Key groups without rows get a packet, too, because each packet carries the chunk's greatest event
time. So every group receives the progress of every source in the same micro-batch.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from millstream.connectors.dead_letters import (
    AHEAD_OF_TIME,
    BAD,
    FAILED_EXPRESSION,
    REMEDY,
    Rejection,
    dead_letters,
)
from millstream.connectors.work_items import PARTITION
from millstream.engine.scan.loop import KEEP, Scan
from millstream.engine.shuffle.column_names import (
    INPUTS,
    MAIN,
    NOW,
    ORIGIN,
    OUTPUT_ROWS,
    PAYLOAD,
    RELAYED,
    ROW_KIND,
    STATS,
)
from millstream.engine.shuffle.format import (
    IS_ORIGINAL,
    NO_TIME,
    PACKET_SCHEMA,
    PASS_THROUGH,
    PROGRESS,
    REJECTED_ROWS,
    ROWS,
    TABLES,
    UNKNOWN,
    encode,
)
from millstream.engine.shuffle.layout import GROUP, PacketLayout
from millstream.engine.shuffle.max_ahead import MaxAhead
from millstream.errors import RunError
from millstream.kernels.core.kernel import HASH, TIME
from millstream.temporal import MalformedAction, MissingTime

_TASK_BITS = 32
_CHUNK_ROWS = 1_000_000
_CHUNK_BYTES = 128 << 20


@dataclass(frozen=True, slots=True)
class PackerSpec:
    """How the rows of one input become packets."""

    target: int  # of its packets
    name: str
    labels: tuple[int, ...]
    has_keep_column: bool = False  # whether there is a KEEP column
    has_bad_records: bool = False  # whether there is a BAD column
    has_progress_column: bool = False  # whether there is a PROGRESS column
    keeps_progress: bool = False  # whether it is packed, for the lateness of late rows
    has_partition_column: bool = False  # whether there is a PARTITION column
    upstream: int | None = None  # the operator whose results these rows are
    has_side_rows: bool = False  # whether there are SIDE_COLUMNS
    copies: int = 1  # the number of consecutive key groups that get each row
    layout: PacketLayout | None = None  # None: columns are packed as they are
    scan: Scan | None = None  # reads files, of which Spark sends names
    fold: Callable[[pl.DataFrame], pl.DataFrame] | None = None  # aggregates rows before the shuffle
    # Numbers of the table joins between the previous operator, or the source, and this one.
    table_joins: tuple[int, ...] = ()
    missing_time: MissingTime = MissingTime.ERROR
    malformed: MalformedAction = MalformedAction.DEAD_LETTER
    max_ahead: MaxAhead | None = None


def packer(spec: PackerSpec) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Returns the function that `mapInArrow` runs before the shuffle."""

    def pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task = TaskContext.get()
        first = (task.partitionId() if task else 0) << _TASK_BITS
        read = spec.scan.rows(batches) if spec.scan else batches
        for number, chunk in enumerate(chunks(read)):
            yield pack_chunk(spec, chunk, first + number)

    return pack


def chunks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Concatenates batches to chunks of limited size."""
    collected: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if batch.num_rows == 0:
            continue
        collected.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= _CHUNK_ROWS or size >= _CHUNK_BYTES:
            yield pa.Table.from_batches(collected)
            collected, rows, size = [], 0, 0
    if collected:
        yield pa.Table.from_batches(collected)


def pack_chunk(spec: PackerSpec, chunk: pa.Table, sequence: int = 0) -> pa.RecordBatch:
    """Returns the packets of a chunk. `sequence` orders chunks of all tasks."""
    if spec.layout is not None:
        chunk = spec.layout.apply(chunk, len(spec.labels))
    side_rows = SideRows(chunk.slice(0, 0), NO_TIME, None)
    now = chunk[NOW][0].as_py()
    chunk = chunk.drop_columns([NOW])
    if spec.has_side_rows:
        chunk, side_rows = split_side_rows(spec.upstream, chunk)
    input_counts, rows = {"in": chunk.num_rows}, chunk.num_rows
    names = _partitions_of(spec, chunk)
    rejected = None
    if spec.has_bad_records:
        chunk, rejected = _split_rejected(spec, chunk, input_counts, now)
    if spec.upstream is not None:
        # The operator reports the watermark, so a result that is filtered out needs no time.
        chunk = _drop_filtered(spec, chunk, input_counts, side_rows)
    chunk = _drop_missing_time(spec, chunk, input_counts)
    if spec.max_ahead is not None:
        time = PROGRESS if spec.has_progress_column else TIME
        chunk, ahead = spec.max_ahead.split(chunk, time, now)
        if ahead is not None:
            input_counts[AHEAD_OF_TIME] = ahead.num_rows
            rejected = ahead if rejected is None else pa.concat_tables([rejected, ahead])
    max_time = side_rows.watermark
    if spec.upstream is None and chunk.num_rows:
        max_time = pc.max(chunk[PROGRESS if spec.has_progress_column else TIME]).as_py()
    chunk, partitions = _split_partitions(spec, chunk, names)
    if spec.has_progress_column and not spec.keeps_progress:
        chunk = chunk.drop_columns([PROGRESS])
    if spec.upstream is None:
        chunk = _drop_filtered(spec, chunk, input_counts, side_rows)
    if spec.copies > 1:
        input_counts["copies"] = chunk.num_rows * (spec.copies - 1)
    packets = [
        (label, ROWS, spec.target, max_time, payload, text)
        for label, payload, text in _group_packets(spec, chunk, json.dumps(input_counts))
    ]
    first = spec.labels[0]
    if rejected is not None:
        packets.append((first, REJECTED_ROWS, spec.target, NO_TIME, encode(rejected), None))
    packets += [
        (_label(spec, kind, sequence + number), PASS_THROUGH + kind, origin, NO_TIME, payload, None)
        for number, (kind, origin, payload) in enumerate(side_rows.rows())
    ]
    labels, kinds, targets, max_times, blobs, texts = zip(*packets, strict=True)
    count = len(packets)
    return pa.RecordBatch.from_arrays(
        [
            pa.array(labels, pa.int32()),
            pa.array(kinds, pa.int32()),
            pa.array(targets, pa.int32()),
            pa.array([sequence] * count, pa.int64()),
            pa.array(max_times, pa.int64()),
            pa.array([now] * count, pa.int64()),
            pa.array([rows] * count, pa.int64()),
            pa.array(
                [UNKNOWN if side_rows.is_idle is None else int(side_rows.is_idle)] * count,
                pa.int8(),
            ),
            pa.array(blobs, pa.binary()),
            pa.array(texts, pa.string()),
            pa.array([partitions] * count, pa.string()),
        ],
        schema=PACKET_SCHEMA,
    )


def _label(spec: PackerSpec, row_kind: int, sequence: int) -> int:
    """The key group that a side row passes through. Packets of many rows go to all groups in
    turn."""
    many = row_kind in (RELAYED, OUTPUT_ROWS)
    return spec.labels[sequence % len(spec.labels) if many else 0]


@dataclass(frozen=True, slots=True)
class SideRows:
    """The side rows of a chunk, with the watermark that the operator before has reported."""

    others: pa.Table
    watermark: int
    is_idle: bool | None

    def rows(self) -> Iterator[tuple[int, int, bytes]]:
        for row in self.others.to_pylist():
            yield row[ROW_KIND], row[ORIGIN], row[PAYLOAD]

    def count_failed_lookups(self, table_joins: tuple[int, ...]) -> int:
        """Returns how many lookups of these table joins have failed, from their statistics."""
        reports = [
            json.loads(payload)
            for kind, origin, payload in (
                self.rows() if table_joins else ()
            )  # few jobs have tables
            if kind == STATS and origin - TABLES in table_joins
        ]
        return sum(report["counts"]["failed_rows"] for report in reports)


def split_side_rows(operator: int | None, chunk: pa.Table) -> tuple[pa.Table, SideRows]:
    """Splits a chunk into data rows and side rows. `operator` is the one whose results the data
    rows are, if any."""
    is_main = pc.equal(chunk[ROW_KIND], MAIN)
    others = chunk.filter(pc.invert(is_main)).select([ROW_KIND, ORIGIN, PAYLOAD])
    reports = [
        json.loads(payload)
        for kind, origin, payload in SideRows(others, NO_TIME, None).rows()
        if kind == STATS and origin // INPUTS == operator
    ]
    watermark, is_idle = _reported_progress(reports)
    side_rows = SideRows(others, NO_TIME if watermark is None else watermark, is_idle)
    return chunk.filter(is_main).drop_columns([ROW_KIND, ORIGIN, PAYLOAD]), side_rows


def _partitions_of(spec: PackerSpec, chunk: pa.Table) -> list[str]:
    return pc.unique(chunk[PARTITION]).to_pylist() if spec.has_partition_column else []


def _split_partitions(
    spec: PackerSpec, chunk: pa.Table, names: list[str]
) -> tuple[pa.Table, str | None]:
    """Returns the rows, and as JSON the greatest time of each partition; null if it has no rows."""
    if not spec.has_partition_column:
        return chunk, None
    time = PROGRESS if spec.has_progress_column else TIME
    found = chunk.group_by(PARTITION, use_threads=False).aggregate([(time, "max")])
    max_times = zip(found[PARTITION].to_pylist(), found[f"{time}_max"].to_pylist(), strict=True)
    return chunk.drop_columns([PARTITION]), json.dumps(dict.fromkeys(names) | dict(max_times))


def _split_rejected(
    spec: PackerSpec, chunk: pa.Table, input_counts: dict[str, int], now: int
) -> tuple[pa.Table, pa.Table | None]:
    bad = pc.is_valid(chunk[BAD])
    rejections = [Rejection.decode(text) for text in chunk[BAD].drop_null().to_pylist()]
    malformed = [each for each in rejections if each.reason != FAILED_EXPRESSION]
    input_counts["malformed"] = len(malformed)
    if not rejections:
        return chunk.drop_columns([BAD]), None
    if malformed and spec.malformed is MalformedAction.FAIL:
        raise RunError(
            "MS-RUN-MALFORMED",
            f"source {spec.name}: {malformed[0]}",
            fix=REMEDY,
        )
    if len(malformed) < len(rejections):
        input_counts[FAILED_EXPRESSION] = len(rejections) - len(malformed)
    rejected = dead_letters(spec.name, rejections, now)
    return chunk.filter(pc.invert(bad)).drop_columns([BAD]), rejected


def _drop_filtered(
    spec: PackerSpec, chunk: pa.Table, input_counts: dict[str, int], side_rows: SideRows
) -> pa.Table:
    if not spec.has_keep_column:
        return chunk
    passed = chunk.filter(chunk[KEEP]).drop_columns([KEEP])
    input_counts["filtered"] = chunk.num_rows - passed.num_rows
    if failed := side_rows.count_failed_lookups(spec.table_joins):
        input_counts["filtered"] -= failed
        input_counts["lookup_failed"] = failed
    return passed


def _drop_missing_time(spec: PackerSpec, chunk: pa.Table, input_counts: dict[str, int]) -> pa.Table:
    # For a row that is filtered out, the window is not computed, but its own time is.
    time = PROGRESS if spec.has_progress_column else TIME
    missing = chunk[time].null_count
    if not missing:
        return chunk
    if spec.missing_time is MissingTime.ERROR:
        raise RunError(
            "MS-RUN-MISSING-TIME",
            f"source {spec.name} has {missing} row(s) without an event time.",
            fix="Set 'event.missing' = 'skip' to leave them out (counted), or 'wall_clock'.",
        )
    input_counts["missing_event_time"] = missing
    return chunk.filter(pc.is_valid(chunk[time]))


def _group_packets(
    spec: PackerSpec, chunk: pa.Table, input_counts: str
) -> Iterator[tuple[int, bytes | None, str | None]]:
    """Returns one packet for each group: its label, its rows if it has any, and in the first one
    the counts."""
    if spec.fold is not None and chunk.num_rows:
        for name, same in spec.layout.equal_columns if spec.layout else ():
            chunk = chunk.append_column(name, chunk[same])
        chunk = spec.fold(cast("pl.DataFrame", pl.from_arrow(chunk))).to_arrow()
    if GROUP in chunk.column_names:
        groups = chunk[GROUP]
        chunk = chunk.drop_columns([GROUP])
    else:
        groups = pa.array(chunk[HASH].to_numpy() % len(spec.labels))
    for number, label in enumerate(spec.labels):
        part = chunk
        if chunk.num_rows and spec.copies == 1:
            part = chunk.filter(pc.equal(groups, number))
        elif chunk.num_rows:
            distance = (number - groups.to_numpy()) % len(spec.labels)
            copied = chunk.append_column(IS_ORIGINAL, pa.array(distance == 0))
            part = copied.filter(pa.array(distance < spec.copies))
        yield label, encode(part) if part.num_rows else None, input_counts if number == 0 else None


def _reported_progress(reports: Iterable[dict[str, Any]]) -> tuple[int | None, bool | None]:
    """Returns the watermark that an operator's groups report, and whether all its inputs are idle;
    None where they report nothing."""
    found = list(reports)
    if not found:
        return None, None
    watermark = min(report["watermark_after"] for report in found)
    return watermark, all(report["is_idle"] for report in found)
