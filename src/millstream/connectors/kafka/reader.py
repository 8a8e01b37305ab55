"""Reads work items of a topic on executors: offset ranges to rows, with columns of the records."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from millstream.connectors.dead_letters import BAD, MALFORMED, Rejection
from millstream.connectors.file.rejections import Flaw
from millstream.connectors.kafka.client import Client
from millstream.connectors.kafka.offsets import OffsetRange
from millstream.connectors.kafka.values import Decoder

_HEADERS = pa.map_(pa.string(), pa.binary())


def _headers(messages: Sequence[Any]) -> pa.Array:
    """NULL if there are none; of several with one name, the last."""
    found = (message.headers() for message in messages)
    return pa.array([list(dict(each).items()) if each else None for each in found], _HEADERS)


def _times(messages: Sequence[Any]) -> pa.Array:
    millis = (message.timestamp() for message in messages)
    micros = [None if kind == 0 else time * 1000 for kind, time in millis]
    return pa.array(micros, pa.int64()).cast(pa.timestamp("us", "UTC"))


# System columns of a record: their SQL types, and how they are made.
RECORD_COLUMNS: Mapping[str, tuple[str, Callable[[Sequence[Any]], pa.Array]]] = {
    "_timestamp": ("TIMESTAMP", _times),
    "_partition": ("INT", lambda found: pa.array([m.partition() for m in found], pa.int32())),
    "_offset": ("BIGINT", lambda found: pa.array([m.offset() for m in found], pa.int64())),
    "_key": ("BINARY", lambda found: pa.array([m.key() for m in found], pa.binary())),
    "_headers": ("MAP<STRING, BINARY>", _headers),
}


@dataclass(frozen=True, slots=True)
class KafkaRecords:
    """`skip`: continue if records were deleted before they were read."""

    client: Client
    decoder: Decoder
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
        values = [message.value() for message in messages]
        decoded = self.decoder.decode(values)
        named = {
            column.name: array
            for column, array in zip(self.decoder.columns, decoded.columns, strict=True)
        }
        for name in wanted:
            if name.lower() in RECORD_COLUMNS:
                named[name] = RECORD_COLUMNS[name.lower()][1](messages).cast(wanted[name])
        bad = pa.nulls(len(values), pa.string())
        if decoded.flaws:
            texts: list[str | None] = [None] * len(values)
            for row, flaw in decoded.flaws.items():
                texts[row] = self._rejection(messages[row], flaw).encode()
            bad = pa.array(texts, pa.string())
        arrays = [*(named[name] for name in wanted), bad]
        return pa.RecordBatch.from_arrays(arrays, [*wanted, BAD])

    def _rejection(self, message: Any, flaw: Flaw) -> Rejection:
        where = f"{message.topic()}, partition {message.partition()}, offset {message.offset()}"
        value = message.value()
        if value is None:
            raw = None
        elif self.decoder.is_binary:
            raw = base64.b64encode(value).decode()
        else:
            raw = value.decode("utf-8", "replace")
        return Rejection(MALFORMED, flaw.message, raw, flaw.column, flaw.value, where)
