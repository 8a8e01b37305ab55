"""The Python API: event-time queries over streaming DataFrames, giving streaming DataFrames."""

from millstream.api.query import Outputs, account, end_of_input
from millstream.api.stream import Stream, stream
from millstream.api.tables import Table, database, table
from millstream.api.text import outputs, sql
from millstream.api.values import drop, reassign, session, side_output, sliding, tumbling

__all__ = [
    "Outputs",
    "Stream",
    "Table",
    "account",
    "database",
    "drop",
    "end_of_input",
    "outputs",
    "reassign",
    "session",
    "side_output",
    "sliding",
    "sql",
    "stream",
    "table",
    "tumbling",
]
