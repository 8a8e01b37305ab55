"""Dead letters: rejected records and files, with location and cause.

In a stream, a rejected record is a row whose column BAD contains the `Rejection` as JSON; BAD is
NULL in all other rows. One string column costs valid rows less than a struct of eight fields.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass

import pyarrow as pa

BAD = "_ms_bad"
MALFORMED = "malformed"  # a record does not fit the columns of its source
UNREADABLE_FILE = "unreadable_file"  # no row of the file is read
AHEAD_OF_TIME = "ahead_of_time"  # the event time is too far ahead of processing time
LOOKUP_FAILED = "lookup_failed"
FAILED_EXPRESSION = "failed_expression"  # an expression of the query fails for the row
REPORT = "report"  # in the JSON of a rejection: an object with further fields
DELETED = "the file was deleted before it was read."
REMEDY = "Correct the input, or set 'malformed' = 'dead_letter' to continue without such records."

DEAD_LETTER = pa.schema(
    [
        ("_source", pa.string()),
        ("_reason", pa.string()),  # a category
        ("_message", pa.string()),  # the cause, as a sentence
        ("_raw", pa.string()),  # the unparsed record
        ("_column", pa.string()),
        ("_value", pa.string()),
        ("_file", pa.string()),
        ("_line", pa.int64()),  # where the record begins; the first line is 1
        ("_time", pa.timestamp("us", "UTC")),  # processing time
    ]
)


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a record, a file or a row was rejected, and where it is. `time` is in microseconds.

    `source` is the name in the dead letter, if it is not that of the source that was read.
    """

    reason: str
    message: str
    raw: str | None = None
    column: str | None = None
    value: str | None = None
    file: str | None = None
    line: int | None = None
    time: int | None = None
    source: str | None = None

    def encode(self) -> str:
        known = {name: value for name, value in asdict(self).items() if value is not None}
        return json.dumps(known, ensure_ascii=False)

    @classmethod
    def decode(cls, text: str) -> Rejection:
        fields = json.loads(text)
        report = fields.pop(REPORT, {})
        return cls(**fields, **report)

    def __str__(self) -> str:
        where = self.file or ""
        if self.line is not None:
            where += f"{', ' if where else ''}line {self.line}"
        return f"{where}: {self.message}" if where else self.message


def dead_letters(source: str, rejections: Iterable[Rejection], now: int | None = None) -> pa.Table:
    """Returns the rejections of one source as rows of its dead-letter queue. `now` is the
    processing time, in microseconds, of rejections without a time."""
    rows = [
        {
            **{f"_{name}": value for name, value in asdict(each).items()},
            "_source": each.source or source,
            "_time": now if each.time is None else each.time,
        }
        for each in rejections
    ]
    return pa.Table.from_pylist(rows, DEAD_LETTER)
