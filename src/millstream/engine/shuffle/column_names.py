"""Names of the columns that the engine generates.

Numbered columns of packets and of operator state have one prefix per kind. No prefix ends in a
digit and no two are equal, so names of two kinds differ. Columns of users have generated names in
packets and state. Where generated columns are added to columns of users, their names begin with
`_ms_`, a prefix that `plan/resolve/name_checks` rejects in names of users.
"""

from __future__ import annotations

from enum import StrEnum, unique

from pyspark.sql.types import BinaryType, ByteType, IntegerType, StructField


@unique
class Kind(StrEnum):
    INPUT = "sent"  # a column of the stream, as Spark sends it to a packer
    FILE = "file"  # a column that a packer reads only for a predicate
    BUFFERED = "c"  # a column of the stream in the state of an operator with one input
    KEY = "d"  # of PARTITION BY or DISTINCT
    ORDER = "s"  # of ORDER BY
    RANK = "rank"  # of ROW_NUMBER()
    ARGUMENT = "x"  # of an aggregate function
    BY = "o"  # what max_by and min_by compare
    FILTER = "f"  # of an aggregate function
    GROUP_BY = "k"  # named in plan/build/group_scope
    RESULT = "a"  # of an aggregate function, named in plan/build/aggregate_calls
    LEFT = "l"  # the same as BUFFERED, KEY and ARGUMENT, of the sides of a join
    RIGHT = "r"
    LEFT_KEY = "lk"
    RIGHT_KEY = "rk"
    LEFT_COMPARED = "lx"
    RIGHT_COMPARED = "rx"

    def name_of(self, number: int) -> str:
        return f"{self.value}{number}"


BRANCH = "_branch"  # of rows from a UNION ALL: the number of the operator's input
NOW = "_ms_now"  # the micro-batch's processing time, in microseconds, from the offset log
ROW_KIND, ORIGIN, PAYLOAD = (
    "_ms_row_kind",
    "_ms_origin",
    "_ms_payload",
)  # of side rows among rows
OUTPUT = "_ms_output"  # in a query with several outputs: the number of the one that a row is for

MAIN, LATE, REJECTED, STATS = 0, 1, 2, 3
# Rows that pass other operators as packets, in a query with several outputs: results of an operator
# that a later output group reads, and rows of an earlier group's outputs. BAD_RECORD of `routing`
# is 4.
RELAYED, OUTPUT_ROWS = 5, 6
SIDE_COLUMNS = (
    StructField(ROW_KIND, ByteType()),
    StructField(ORIGIN, IntegerType()),
    StructField(PAYLOAD, BinaryType()),
)
INPUTS = 256  # ORIGIN is the operator's number times this, plus the input's number


def output_column(number: int) -> str:
    """The struct of an output's columns, in a query with several outputs."""
    return f"_ms_output{number}"
