"""Reads work items of a topic on executors: offset ranges to rows, with columns of the records."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from millstream.connectors.dead_letters import BAD, MALFORMED, Rejection
from millstream.connectors.file.rejections import Flaw
from millstream.connectors.file.values import Column
from millstream.connectors.kafka.changes import OPS, ChangeRows, record_times
from millstream.connectors.kafka.client import Client
from millstream.connectors.kafka.envelopes import Envelopes, TruncatedError
from millstream.connectors.kafka.offsets import OffsetRange
from millstream.connectors.kafka.settings import OP
from millstream.connectors.kafka.upserts import Upserts
from millstream.connectors.kafka.values import Decoder
from millstream.connectors.work_items import CHANGE
from millstream.errors import RunError

_HEADERS = pa.map_(pa.string(), pa.binary())


def _headers(messages: Sequence[Any]) -> pa.Array:
    """NULL if there are none; of several with one name, the last."""
    found = (message.headers() for message in messages)
    return pa.array([list(dict(each).items()) if each else None for each in found], _HEADERS)


# System columns of a record: their SQL types, and how they are made.
RECORD_COLUMNS: Mapping[str, tuple[str, Callable[[Sequence[Any]], pa.Array]]] = {
    "_timestamp": ("TIMESTAMP", record_times),
    "_partition": ("INT", lambda found: pa.array([m.partition() for m in found], pa.int32())),
    "_offset": ("BIGINT", lambda found: pa.array([m.offset() for m in found], pa.int64())),
    "_key": ("BINARY", lambda found: pa.array([m.key() for m in found], pa.binary())),
    "_headers": ("MAP<STRING, BINARY>", _headers),
}


@dataclass(frozen=True, slots=True)
class KafkaRecords:
    """`columns`: those of values. `skip`: continue if records were deleted before they were
    read."""

    client: Client
    columns: tuple[Column, ...]
    decoder: Decoder | Envelopes | Upserts
    skip: bool
    min_part_bytes: ClassVar[int] = 1 << 40  # a work item is read by one task

    def size_of(self, path: str, wanted: Mapping[str, pa.DataType]) -> int:  # noqa: ARG002
        return 0

    def read(
        self,
        path: str,
        wanted: Mapping[str, pa.DataType],
        part: int = 0,  # noqa: ARG002
        parts: int = 1,  # noqa: ARG002
    ) -> Iterator[pa.RecordBatch]:
        from millstream.connectors.kafka.records import messages_of

        for messages in messages_of(self.client, OffsetRange.decoded(path), skip=self.skip):
            yield self._rows(messages, wanted)

    def _rows(self, messages: Sequence[Any], wanted: Mapping[str, pa.DataType]) -> pa.RecordBatch:
        decoder = self.decoder
        is_changelog = isinstance(decoder, Envelopes | Upserts)
        if isinstance(decoder, Envelopes | Upserts):
            try:
                found = decoder.changes(messages)
            except TruncatedError as error:
                raise self._truncated(messages[error.record]) from None
        else:
            found = _inserts(decoder, messages)
        named = dict(zip((each.name for each in self.columns), found.columns, strict=True))
        every = found.records.size == len(messages)
        for name in wanted:
            if name == CHANGE:
                named[name] = pa.array(found.ops, pa.int8())
            elif is_changelog and name.lower() == OP:
                named[name] = pa.array(OPS).take(pa.array(found.ops))
            elif name.lower() in RECORD_COLUMNS:
                own = RECORD_COLUMNS[name.lower()][1](messages).cast(wanted[name])
                named[name] = own if every else own.take(pa.array(found.records))
        bad = pa.nulls(found.records.size, pa.string())
        if found.flaws:
            texts: list[str | None] = [None] * found.records.size
            for row, flaw in found.flaws.items():
                texts[row] = self._rejection(messages[found.records[row]], flaw).encode()
            bad = pa.array(texts, pa.string())
        arrays = [*(named[name] for name in wanted), bad]
        return pa.RecordBatch.from_arrays(arrays, [*wanted, BAD])

    def _truncated(self, message: Any) -> RunError:
        return RunError(
            "MS-RUN-KAFKA-TRUNCATE",
            f"{self.client.owner}: the table was truncated at {_place(message)}. The deleted rows "
            "are not in the record, so they cannot be retracted.",
            fix="Empty the sink and start with a new checkpoint behind the record, or set "
            "'on.truncate' = 'ignore' to keep the rows in results. DELETE instead of TRUNCATE is "
            "read as changes.",
        )

    def _rejection(self, message: Any, flaw: Flaw) -> Rejection:
        value = message.value()
        if value is None:
            raw = None
        elif self.decoder.is_binary:
            raw = base64.b64encode(value).decode()
        else:
            raw = value.decode("utf-8", "replace")
        return Rejection(MALFORMED, flaw.message, raw, flaw.column, flaw.value, _place(message))


def _place(message: Any) -> str:
    return f"{message.topic()}, partition {message.partition()}, offset {message.offset()}"


def _inserts(decoder: Decoder, messages: Sequence[Any]) -> ChangeRows:
    """The rows of a source that is no changelog."""
    decoded = decoder.decode([message.value() for message in messages])
    rows = np.arange(len(messages))
    return ChangeRows(decoded.columns, rows, np.zeros(rows.size, np.int8), decoded.flaws)
