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

import pyarrow as pa
import pyarrow.compute as pc

from millstream.connectors.sources import BAD
from millstream.errors import RunError
from millstream.kernels.base import HASH, TIME
from millstream.temporal import Malformed, MissingTime

GROUP = "_g"
KEEP = "_ms_keep"  # false: the row is filtered out, but its time still counts for the watermark

PACKET = "label int, kind int, source int, top bigint, rows bigint, blob binary, tally string"
PACKET_SCHEMA = pa.schema(
    [
        ("label", pa.int32()),
        ("kind", pa.int32()),
        ("source", pa.int32()),
        ("top", pa.int64()),
        ("rows", pa.int64()),
        ("blob", pa.binary()),
        ("tally", pa.string()),
    ]
)
ROWS, END_OF_INPUT, REJECTED = 0, 1, 2

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
    missing_time: MissingTime = MissingTime.ERROR
    malformed: Malformed = Malformed.DEAD_LETTER


def packer(packing: Packing) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that `mapInArrow` runs before the exchange."""

    def pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for chunk in _chunks(batches):
            yield pack_chunk(packing, chunk)

    return pack


def _chunks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
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


def pack_chunk(packing: Packing, chunk: pa.Table) -> pa.RecordBatch:
    tally = {"in": chunk.num_rows}
    rejected = None
    if packing.checked:
        chunk, rejected = _split_malformed(packing, chunk, tally)
    chunk = _drop_missing_time(packing, chunk, tally)
    top = pc.max(chunk[TIME]).as_py()
    if packing.filtered:
        before = chunk.num_rows
        chunk = chunk.filter(chunk[KEEP]).drop_columns([KEEP])
        tally["filtered"] = before - chunk.num_rows
    rows = list(_group_packets(packing, chunk, top))
    if rejected is not None:
        rows.append((packing.labels[0], REJECTED, None, rejected.num_rows, encode(rejected)))
    columns = list(zip(*rows, strict=True))
    tallies = [json.dumps(tally, separators=(",", ":"))] + [None] * (len(rows) - 1)
    return pa.RecordBatch.from_arrays(
        [
            pa.array(columns[0], pa.int32()),
            pa.array(columns[1], pa.int32()),
            pa.array([packing.source] * len(rows), pa.int32()),
            pa.array(columns[2], pa.int64()),
            pa.array(columns[3], pa.int64()),
            pa.array(columns[4], pa.binary()),
            pa.array(tallies, pa.string()),
        ],
        schema=PACKET_SCHEMA,
    )


def _split_malformed(
    packing: Packing, chunk: pa.Table, tally: dict[str, int]
) -> tuple[pa.Table, pa.Table | None]:
    bad = pc.is_valid(chunk[BAD])
    count = pc.sum(bad).as_py() or 0
    tally["malformed"] = count
    if not count:
        return chunk.drop_columns([BAD]), None
    raw = chunk[BAD].filter(bad)
    if packing.malformed is Malformed.FAIL:
        raise RunError(
            "MS-RUN-MALFORMED",
            f"source {packing.name} holds a record that does not fit its schema: "
            f"{raw[0].as_py()!r}.",
            fix="Mend the input, or set 'malformed' = 'dead_letter' to set such records aside.",
        )
    rejected = dead_letters(packing.name, raw)
    return chunk.filter(pc.invert(bad)).drop_columns([BAD]), rejected


def dead_letters(source: str, raw: pa.ChunkedArray | pa.Array) -> pa.Table:
    """Malformed records as they are set aside."""
    return pa.table(
        {
            "_source": pa.array([source] * len(raw), pa.string()),
            "_reason": pa.array(["malformed"] * len(raw), pa.string()),
            "_raw": raw,
        }
    )


def _drop_missing_time(packing: Packing, chunk: pa.Table, tally: dict[str, int]) -> pa.Table:
    missing = chunk[TIME].null_count
    if not missing:
        return chunk
    if packing.missing_time is MissingTime.ERROR:
        raise RunError(
            "MS-RUN-MISSING-TIME",
            f"source {packing.name} holds {missing} row(s) without an event time.",
            fix="Set 'event.missing' = 'skip' to leave them out (counted), or 'wall_clock'.",
        )
    tally["missing_time"] = missing
    return chunk.filter(pc.is_valid(chunk[TIME]))


def _group_packets(
    packing: Packing, chunk: pa.Table, top: int | None
) -> Iterator[tuple[int, int, int | None, int, bytes | None]]:
    """One packet for each group; no blob for a group that has no rows."""
    groups = chunk[GROUP]
    chunk = chunk.drop_columns([GROUP])
    for number, label in enumerate(packing.labels):
        part = chunk.filter(pc.equal(groups, number)) if chunk.num_rows else chunk
        blob = encode(part) if part.num_rows else None
        yield label, ROWS, top, part.num_rows, blob


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
