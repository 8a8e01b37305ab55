"""Writes the rows of a task to a topic, on an executor.

exactly once    rows and the marker of the batch in one transaction (`markers.py`); a task that
                finds its marker writes nothing, and an older attempt that still runs is fenced
at least once   rows without a transaction; a task that is repeated writes them again
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from confluent_kafka import KafkaException, Producer

from millstream.connectors.file.texts import json_lines
from millstream.connectors.kafka import failures
from millstream.connectors.kafka.client import Client
from millstream.connectors.kafka.failures import ClientErrors
from millstream.connectors.kafka.last_changes import LastChanges
from millstream.connectors.kafka.librdkafka import new_client
from millstream.connectors.kafka.markers import Marker, waiting
from millstream.connectors.sink import ORDER_KEY, Message, TaskId
from millstream.errors import RunError

if TYPE_CHECKING:  # needs packages that JSON does not
    from millstream.connectors.kafka.sink_schema import Encoders

# Columns that Spark computes.
KEY, VALUE, HEADERS = ORDER_KEY, "_ms_value", "_ms_headers"
IS_UPSERT = "_ms_is_upsert"  # of changes with a key: of a log of upserts, or of Debezium
_CHUNK = 10_000
_TRANSACTION = 300.0  # seconds; brokers abort an older one
_SETTINGS: dict[str, Any] = {
    "enable.idempotence": True,
    "linger.ms": 5,
    "batch.size": 1 << 20,
    "compression.type": "lz4",
    "partitioner": "murmur2_random",  # that of Java's producer: a key has one partition for all
    "queue.buffering.max.messages": 500_000,
    "queue.buffering.max.kbytes": 256 << 10,
    "message.timeout.ms": int(_TRANSACTION * 1000),
    "delivery.report.only.error": True,
}


@dataclass(frozen=True, slots=True)
class KafkaOpener:
    """Opens the writers of a batch."""

    client: Client
    topic: str
    exactly_once: bool
    encoders: Encoders | None = None  # None: values are text
    keys: str = ""  # the columns of the key, for errors

    def open(self, task: TaskId) -> KafkaWriter:
        writer = KafkaWriter(self, task)
        writer.begin()
        return writer


@dataclass(slots=True)
class KafkaWriter:
    opener: KafkaOpener
    task: TaskId
    _rows: int = 0
    _written: bool = False  # by an earlier try of the batch
    _marker: Marker = field(init=False)
    _producer: Any = None
    _client_errors: ClientErrors = field(default_factory=ClientErrors)
    _failed: list[Any] = field(default_factory=list)
    _upserts: LastChanges = field(default_factory=LastChanges)

    def begin(self) -> None:
        opener, batch = self.opener, self.task.batch
        self._marker = Marker(opener.client, opener.topic, batch.writer, self.task.task)
        own = {**_SETTINGS, "error_cb": self._client_errors, "on_delivery": self._delivered}
        if opener.exactly_once:
            own["transactional.id"] = _transactional_id(self.task)
            own["transaction.timeout.ms"] = int(_TRANSACTION * 1000)
        self._producer = new_client(Producer, opener.client, own)
        if not opener.exactly_once:
            return
        # Fences an older attempt, so that its marker is committed by now or never.
        self._request(lambda: self._producer.init_transactions(10.0))
        following = self._marker.next_batch()
        self._written = following is not None and following > batch.batch
        if not self._written:
            self._producer.begin_transaction()

    def write(self, rows: pa.RecordBatch) -> None:
        self._rows += rows.num_rows
        if self._written:
            return
        if IS_UPSERT not in rows.schema.names:
            self._write(rows)
            return
        self._check_keys(rows.column(KEY))
        if rows.num_rows and rows.column(IS_UPSERT)[0].as_py():
            self._upserts.add(rows)
        else:
            self._write(rows)

    def _check_keys(self, keys: pa.Array) -> None:
        """Rejects a change without a key: it may be in any partition, before or after others."""
        if keys.null_count:
            opener = self.opener
            raise RunError(
                "MS-RUN-KAFKA-KEY",
                f"{opener.client.owner}: {opener.keys}, which 'key.columns' names, is NULL in a "
                f"result that changes. Records of {opener.topic} without a key have no order.",
                fix=f"Remove such rows with WHERE {opener.keys} IS NOT NULL, replace NULL with "
                f"COALESCE({opener.keys}, …), or name several columns: their key is a JSON object.",
            )

    def _write(self, rows: pa.RecordBatch) -> None:
        for first in range(0, rows.num_rows, _CHUNK):
            self._produce(list(_messages(self._encoded(rows.slice(first, _CHUNK)))))

    def _encoded(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Encodes the values of rows."""
        encoders = self.opener.encoders
        if encoders is None:
            return rows
        names = rows.schema.names
        if VALUE not in names:
            values = encoders.encode(rows.to_struct_array(), is_main=False)
            return pa.RecordBatch.from_arrays([pa.array(values, pa.binary())], [VALUE])
        place = names.index(VALUE)
        values = encoders.encode(rows.column(place), is_main=True)
        return rows.set_column(place, VALUE, pa.array(values, pa.binary()))

    def close(self) -> Message:
        if not self._written:
            for rows in self._upserts.take():
                self._write(rows)
            self._finish()
        self._marker.close()
        return {"rows": self._rows}

    def abort(self) -> None:
        # Whatever is not committed is aborted, at the latest by the next attempt.
        with suppress(Exception):
            if self.opener.exactly_once and not self._written:
                self._producer.abort_transaction(10.0)
            self._producer.purge()
            self._marker.close()

    def _finish(self) -> None:
        if not self.opener.exactly_once:
            self._request(self._flush)
            return
        marker = self._marker.offset(self.task.batch.batch)
        group = self._marker.consumer().consumer_group_metadata()
        self._request(lambda: self._producer.send_offsets_to_transaction([marker], group, 10.0))
        self._request(lambda: self._producer.commit_transaction(30.0))

    def _flush(self) -> None:
        left = self._producer.flush(10.0)
        if self._failed:
            raise KafkaException(self._failed[0])
        if left:
            raise KafkaException(failures.timed_out())

    def _request(self, call: Any) -> None:
        waiting(self.opener.client, self.opener.topic, self._client_errors, call)

    def _delivered(self, error: Any, message: Any) -> None:  # noqa: ARG002
        if error is not None:
            self._failed.append(error)

    def _produce(self, messages: list[dict[str, Any]]) -> None:
        if any("headers" in message for message in messages):
            for message in messages:
                self._put(message)
            return
        left: Sequence[dict[str, Any]] = messages
        while left:
            with suppress(BufferError):
                self._producer.produce_batch(self.opener.topic, left)
            left = [_again(each) for each in left if "_error" in each]
            if left:
                self._check(left[0])
        self._producer.poll(0)

    def _put(self, message: dict[str, Any]) -> None:
        while True:
            try:
                self._producer.produce(self.opener.topic, **message)
            except BufferError:
                self._check({})
            else:
                return

    def _check(self, message: dict[str, Any]) -> None:  # noqa: ARG002
        """Waits for room in the queue."""
        self._producer.poll(0.1)
        if self._failed:
            opener = self.opener
            raise failures.meaning(opener.client, opener.topic, self._failed[0])


def _again(message: dict[str, Any]) -> dict[str, Any]:
    error = message.pop("_error")
    if not failures.is_queue_full(error):
        raise KafkaException(error)
    return message


def _transactional_id(task: TaskId) -> str:
    digest = hashlib.sha256(task.batch.writer.encode()).hexdigest()[:24]
    return f"millstream.{digest}.{task.task}"


def _messages(rows: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """Messages of rows that Spark formatted, or of late rows and dead letters as JSON."""
    names = rows.schema.names
    if VALUE not in names:
        for line in json_lines(rows).to_pylist():
            yield {"value": line}
        return
    values = rows.column(VALUE).to_pylist()
    keys = rows.column(KEY).to_pylist() if KEY in names else None
    if HEADERS in names:
        for row, headers in enumerate(rows.column(HEADERS).to_pylist()):
            message = {"value": values[row], "headers": dict(headers or [])}
            yield message if keys is None else {**message, "key": keys[row]}
    elif keys is None:
        for value in values:
            yield {"value": value}
    else:
        for value, key in zip(values, keys, strict=True):
            yield {"value": value, "key": key}
