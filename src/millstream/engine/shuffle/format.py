"""The packet format: one Spark row that carries many rows of data, as an Arrow stream.

A packet belongs to a key group (`label`). What it is for depends on its kind:

    kind                      target                          payload
    ROWS                      stage * INPUTS + input          rows, if there are any
    REJECTED_ROWS             stage * INPUTS + input          dead letters
    PASS_THROUGH + row kind   ORIGIN of the side row          that of the side row
    ALLOWANCE                 the operator's number           -; `rows`, or NO_LIMIT, and bytes in
                                                              `max_time`, or NO_TIME
    other messages            -                               -; of the control stream

A stage is a position among the operators that share the shuffle. All packets of a chunk carry the
chunk's progress.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from millstream.temporal import BEGIN_OF_TIME

IS_ORIGINAL = "_own"  # false for copies of a row in other key groups
PROGRESS = "_p"  # the time that moves the watermark, if it is not TIME

PACKET_SCHEMA = pa.schema(
    [
        ("label", pa.int32()),
        ("kind", pa.int32()),
        ("target", pa.int32()),
        ("sequence", pa.int64()),  # in the order of tasks and their chunks; the same in a retry
        ("max_time", pa.int64()),
        ("now", pa.int64()),
        ("rows", pa.int64()),
        ("is_idle", pa.int8()),
        ("payload", pa.binary()),
        ("input_counts", pa.string()),
        # JSON. For rows of a source with partitions: the greatest time of each, or null. For
        # messages about a partition: its source and name.
        ("partitions", pa.string()),
    ]
)
PACKET = from_arrow_schema(PACKET_SCHEMA)
# Kinds of packets.
ROWS, END_OF_INPUT, REJECTED_ROWS, PROCESSING_TIME, ALLOWANCE, KNOWN_PARTITION = 0, 1, 2, 3, 4, 5
NO_LIMIT = -1
UNKNOWN = -1  # in `is_idle`
TABLES = 1 << 20  # ORIGIN of the statistics of a table join: this plus its number
PASS_THROUGH = 16  # plus the row kind: side rows of an earlier operator
NO_TIME = BEGIN_OF_TIME  # an integer column without NULLs keeps its type in pandas

MAX_RELAYED_ROWS = 100_000  # of one packet at most
_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")


def encode(table: pa.Table) -> bytes:
    """Returns rows as the payload of a packet."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_OPTIONS) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def decode(payload: bytes) -> pa.Table:
    """Returns the rows of a payload."""
    return pa.ipc.open_stream(pa.py_buffer(payload)).read_all()
