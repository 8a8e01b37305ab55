"""The Python API: streams with an event time, whose joins and operators chain into one query."""

from millstream.api.frames import Outputs
from millstream.api.queries import Sink, StreamRun, sink
from millstream.api.query_ledger import end_of_input, ledger
from millstream.api.sql_text import sql
from millstream.api.stream import Stream, stream
from millstream.api.tables import Table, database, table
from millstream.api.values import drop, reassign, session, side_output, sliding, tumbling

__all__ = [
    "Outputs",
    "Sink",
    "Stream",
    "StreamRun",
    "Table",
    "database",
    "drop",
    "end_of_input",
    "ledger",
    "reassign",
    "session",
    "side_output",
    "sink",
    "sliding",
    "sql",
    "stream",
    "table",
    "tumbling",
]
