"""Packets: one Spark row that carries many rows of data, as an Arrow stream in a binary column.

    rows ──pack──▶ packets ──exchange──▶ step

A chunk of rows becomes one packet for every key group, also for groups it holds no rows for, since
each packet carries the chunk's greatest event time: so every group learns every source's progress
in the same micro-batch.
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
from pyspark.sql.pandas.types import from_arrow_schema

from millstream.connectors.dead_letters import AHEAD_OF_TIME, BAD, REMEDY, Rejection, dead_letters
from millstream.connectors.work_items import PARTITION
from millstream.engine.scan.loop import KEEP, Scan
from millstream.engine.shuffle.column_names import (
    BLOB,
    FROM,
    INPUTS,
    MAIN,
    NOW,
    OUTPUT_ROWS,
    PORT,
    RELAYED,
    STATS,
)
from millstream.engine.shuffle.layout import GROUP, Form
from millstream.engine.shuffle.max_ahead import MaxAhead
from millstream.errors import RunError
from millstream.kernels.core.kernel import HASH, TIME
from millstream.temporal import BEGIN_OF_TIME, Malformed, MissingTime

OWN = "_own"  # of rows that go to several groups: is this one theirs?
PROGRESS = "_p"  # the time that moves the watermark, if it is not TIME

PACKET_SCHEMA = pa.schema(
    [
        ("label", pa.int32()),
        ("kind", pa.int32()),
        ("source", pa.int32()),
        ("place", pa.int64()),  # in the order of tasks and their chunks: a retry has the same
        ("top", pa.int64()),
        ("now", pa.int64()),
        ("rows", pa.int64()),
        ("silent", pa.int8()),
        ("blob", pa.binary()),
        ("tally", pa.string()),
        # JSON. Of rows of a source with partitions: the greatest time of each, or null. Of messages
        # about a partition: its source and name.
        ("partitions", pa.string()),
    ]
)
PACKET = from_arrow_schema(PACKET_SCHEMA)
# An allowance is of the operator `source`: `rows`, or NO_LIMIT, and in `top` bytes, or NO_TIME.
ROWS, END_OF_INPUT, REJECTED, TICK, ALLOWANCE, NEW_PARTITION = 0, 1, 2, 3, 4, 5
NO_LIMIT = -1
UNSAID = -1  # whether an operator is silent
_TASK_BITS = 32
TABLES = 1 << 16  # FROM of what a table join reports: this, and its number
PASSED = 16  # and the port: what an operator before this one has put out beside its result
NO_TIME = BEGIN_OF_TIME  # a column without NULLs stays one of integers in pandas

RELAYED_ROWS = 100_000  # of one packet, at most
_CHUNK_ROWS = 1_000_000
_CHUNK_BYTES = 128 << 20
_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")


def encode(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_OPTIONS) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def decode(blob: bytes) -> pa.Table:
    return pa.ipc.open_stream(pa.py_buffer(blob)).read_all()


@dataclass(frozen=True, slots=True)
class Packing:
    """How the rows of one input become packets."""

    source: int
    name: str
    labels: tuple[int, ...]
    filtered: bool = False  # is there a KEEP column?
    checked: bool = False  # is there a BAD column?
    apart: bool = False  # is there a PROGRESS column?
    keeps_progress: bool = False  # is it packed, so that a late row can say how late it is?
    partitioned: bool = False  # is there a PARTITION column?
    upstream: int | None = None  # the operator whose results these rows are
    sided: bool = False  # are there PORT, FROM and BLOB columns?
    copies: int = 1  # a row goes to so many groups, from its own on
    form: Form | None = None  # None: columns come as they are packed
    scan: Scan | None = None  # what comes are names of files
    fold: Callable[[pl.DataFrame], pl.DataFrame] | None = None  # done before the exchange
    tables: tuple[int, ...] = ()  # numbers of the table joins between the rows' origin and here
    missing_time: MissingTime = MissingTime.ERROR
    malformed: Malformed = Malformed.DEAD_LETTER
    max_ahead: MaxAhead | None = None


def packer(packing: Packing) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that `mapInArrow` runs before the exchange."""

    def pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task = TaskContext.get()
        first = (task.partitionId() if task else 0) << _TASK_BITS
        read = packing.scan.rows(batches) if packing.scan else batches
        for number, chunk in enumerate(chunks(read)):
            yield pack_chunk(packing, chunk, first + number)

    return pack


def chunks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if batch.num_rows == 0:
            continue
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= _CHUNK_ROWS or size >= _CHUNK_BYTES:
            yield pa.Table.from_batches(held)
            held, rows, size = [], 0, 0
    if held:
        yield pa.Table.from_batches(held)


def pack_chunk(packing: Packing, chunk: pa.Table, place: int = 0) -> pa.RecordBatch:
    if packing.form is not None:
        chunk = packing.form.made(chunk, len(packing.labels))
    told = Told(chunk.slice(0, 0), NO_TIME, None)
    now = chunk[NOW][0].as_py()
    chunk = chunk.drop_columns([NOW])
    if packing.sided:
        chunk, told = split_told(packing.upstream, chunk)
    tally, rows = {"in": chunk.num_rows}, chunk.num_rows
    names = _partitions_of(packing, chunk)
    rejected = None
    if packing.checked:
        chunk, rejected = _split_malformed(packing, chunk, tally, now)
    if packing.upstream is not None:
        # The operator reports the watermark: a result that is filtered out need not have a time.
        chunk = _drop_filtered(packing, chunk, tally, told)
    chunk = _drop_missing_time(packing, chunk, tally)
    if packing.max_ahead is not None:
        time = PROGRESS if packing.apart else TIME
        chunk, ahead = packing.max_ahead.split(chunk, time, now)
        if ahead is not None:
            tally[AHEAD_OF_TIME] = ahead.num_rows
            rejected = ahead if rejected is None else pa.concat_tables([rejected, ahead])
    top = told.watermark
    if packing.upstream is None and chunk.num_rows:
        top = pc.max(chunk[PROGRESS if packing.apart else TIME]).as_py()
    chunk, partitions = _split_partitions(packing, chunk, names)
    if packing.apart and not packing.keeps_progress:
        chunk = chunk.drop_columns([PROGRESS])
    if packing.upstream is None:
        chunk = _drop_filtered(packing, chunk, tally, told)
    if packing.copies > 1:
        tally["copies"] = chunk.num_rows * (packing.copies - 1)
    packets = [
        (label, ROWS, packing.source, top, blob, text)
        for label, blob, text in _group_packets(packing, chunk, json.dumps(tally))
    ]
    first = packing.labels[0]
    if rejected is not None:
        packets.append((first, REJECTED, packing.source, NO_TIME, encode(rejected), None))
    packets += [
        (_label(packing, port, place + number), PASSED + port, origin, NO_TIME, blob, None)
        for number, (port, origin, blob) in enumerate(told.rows())
    ]
    labels, kinds, sources, tops, blobs, texts = zip(*packets, strict=True)
    count = len(packets)
    return pa.RecordBatch.from_arrays(
        [
            pa.array(labels, pa.int32()),
            pa.array(kinds, pa.int32()),
            pa.array(sources, pa.int32()),
            pa.array([place] * count, pa.int64()),
            pa.array(tops, pa.int64()),
            pa.array([now] * count, pa.int64()),
            pa.array([rows] * count, pa.int64()),
            pa.array([UNSAID if told.silent is None else int(told.silent)] * count, pa.int8()),
            pa.array(blobs, pa.binary()),
            pa.array(texts, pa.string()),
            pa.array([partitions] * count, pa.string()),
        ],
        schema=PACKET_SCHEMA,
    )


def _label(packing: Packing, port: int, place: int) -> int:
    """The key group that a packet passes. Packets of many rows are spread over all groups."""
    many = port in (RELAYED, OUTPUT_ROWS)
    return packing.labels[place % len(packing.labels) if many else 0]


@dataclass(frozen=True, slots=True)
class Told:
    """What an operator says beside its result: packets of other ports, and its watermark."""

    others: pa.Table
    watermark: int
    silent: bool | None

    def rows(self) -> Iterator[tuple[int, int, bytes]]:
        for row in self.others.to_pylist():
            yield row[PORT], row[FROM], row[BLOB]

    def lookups_failed(self, tables: tuple[int, ...]) -> int:
        """How many rows these table joins could not look up, which they report here."""
        reports = [
            json.loads(blob)
            for port, origin, blob in (self.rows() if tables else ())  # few jobs have tables
            if port == STATS and origin - TABLES in tables
        ]
        return sum(report["counts"]["failed_rows"] for report in reports)


def split_told(operator: int | None, chunk: pa.Table) -> tuple[pa.Table, Told]:
    """The rows, and what is said beside them: by the operator whose results they are, if they are
    results, and by others."""
    is_main = pc.equal(chunk[PORT], MAIN)
    others = chunk.filter(pc.invert(is_main)).select([PORT, FROM, BLOB])
    marks = [
        json.loads(blob)
        for port, origin, blob in Told(others, NO_TIME, None).rows()
        if port == STATS and origin // INPUTS == operator
    ]
    watermark, silent = _slowest(marks)
    told = Told(others, NO_TIME if watermark is None else watermark, silent)
    return chunk.filter(is_main).drop_columns([PORT, FROM, BLOB]), told


def _partitions_of(packing: Packing, chunk: pa.Table) -> list[str]:
    return pc.unique(chunk[PARTITION]).to_pylist() if packing.partitioned else []


def _split_partitions(
    packing: Packing, chunk: pa.Table, names: list[str]
) -> tuple[pa.Table, str | None]:
    """The rows, and as JSON the greatest time of each partition; null if all its rows are gone."""
    if not packing.partitioned:
        return chunk, None
    time = PROGRESS if packing.apart else TIME
    found = chunk.group_by(PARTITION, use_threads=False).aggregate([(time, "max")])
    tops = zip(found[PARTITION].to_pylist(), found[f"{time}_max"].to_pylist(), strict=True)
    return chunk.drop_columns([PARTITION]), json.dumps(dict.fromkeys(names) | dict(tops))


def _split_malformed(
    packing: Packing, chunk: pa.Table, tally: dict[str, int], now: int
) -> tuple[pa.Table, pa.Table | None]:
    bad = pc.is_valid(chunk[BAD])
    count = pc.sum(bad).as_py() or 0
    tally["malformed"] = count
    if not count:
        return chunk.drop_columns([BAD]), None
    rejections = [Rejection.decoded(text) for text in chunk[BAD].drop_null().to_pylist()]
    if packing.malformed is Malformed.FAIL:
        raise RunError(
            "MS-RUN-MALFORMED",
            f"source {packing.name}: {rejections[0]}",
            fix=REMEDY,
        )
    rejected = dead_letters(packing.name, rejections, now)
    return chunk.filter(pc.invert(bad)).drop_columns([BAD]), rejected


def _drop_filtered(
    packing: Packing, chunk: pa.Table, tally: dict[str, int], told: Told
) -> pa.Table:
    if not packing.filtered:
        return chunk
    kept = chunk.filter(chunk[KEEP]).drop_columns([KEEP])
    tally["filtered"] = chunk.num_rows - kept.num_rows
    if failed := told.lookups_failed(packing.tables):
        tally["filtered"] -= failed
        tally["lookup_failed"] = failed
    return kept


def _drop_missing_time(packing: Packing, chunk: pa.Table, tally: dict[str, int]) -> pa.Table:
    # Of a row that is filtered out, the window is not made; its own time is there all the same.
    time = PROGRESS if packing.apart else TIME
    missing = chunk[time].null_count
    if not missing:
        return chunk
    if packing.missing_time is MissingTime.ERROR:
        raise RunError(
            "MS-RUN-MISSING-TIME",
            f"source {packing.name} holds {missing} row(s) without an event time.",
            fix="Set 'event.missing' = 'skip' to leave them out (counted), or 'wall_clock'.",
        )
    tally["missing_event_time"] = missing
    return chunk.filter(pc.is_valid(chunk[time]))


def _group_packets(
    packing: Packing, chunk: pa.Table, tally: str
) -> Iterator[tuple[int, bytes | None, str | None]]:
    """One packet for each group, the tally in the first; no blob for a group that has no rows."""
    if packing.fold is not None and chunk.num_rows:
        for name, same in packing.form.copies if packing.form else ():
            chunk = chunk.append_column(name, chunk[same])
        chunk = packing.fold(cast("pl.DataFrame", pl.from_arrow(chunk))).to_arrow()
    if GROUP in chunk.column_names:
        groups = chunk[GROUP]
        chunk = chunk.drop_columns([GROUP])
    else:
        groups = pa.array(chunk[HASH].to_numpy() % len(packing.labels))
    for number, label in enumerate(packing.labels):
        part = chunk
        if chunk.num_rows and packing.copies == 1:
            part = chunk.filter(pc.equal(groups, number))
        elif chunk.num_rows:
            behind = (number - groups.to_numpy()) % len(packing.labels)
            copied = chunk.append_column(OWN, pa.array(behind == 0))
            part = copied.filter(pa.array(behind < packing.copies))
        yield label, encode(part) if part.num_rows else None, tally if number == 0 else None


__all__ = [
    "BAD",
    "GROUP",
    "HASH",
    "KEEP",
    "PACKET",
    "TIME",
    "Packing",
    "decode",
    "encode",
    "packer",
]


def _slowest(reports: Iterable[dict[str, Any]]) -> tuple[int | None, bool | None]:
    """Returns the watermark that an operator's groups report, and whether all its inputs are idle;
    None where they report nothing."""
    found = list(reports)
    if not found:
        return None, None
    return min(report["after"] for report in found), all(report["silent"] for report in found)
