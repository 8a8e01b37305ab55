"""Records which batches were written, as the offset of a consumer group.

    group     the checkpoint, the output, and the task or DONE, for the driver
    offset    of partition 0 of the topic that is written: batch + 1, all before it are written

A task's marker is committed in the transaction of its rows. Brokers delete offsets of a group that
commits nothing for a week (`offsets.retention.minutes`), so the driver commits one after each
batch: while it is there, those of tasks, which are younger, are, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaException, TopicPartition

from millstream.connectors.kafka import failures
from millstream.connectors.kafka.client import Client, WaitNotice
from millstream.connectors.kafka.failures import ClientErrors
from millstream.connectors.kafka.librdkafka import new_client

DONE = "done"  # the driver's
_ONE_TRY = 10.0  # seconds
_PAUSE = 0.5
_T = TypeVar("_T")


@dataclass(slots=True)
class Marker:
    """The marker of one task of an output, or of the driver: `of` is the number of the task, or
    DONE. `writer` is that of the batch."""

    client: Client
    topic: str
    writer: str
    of: int | str
    _consumer: Any = None
    _client_errors: ClientErrors | None = None

    @property
    def group(self) -> str:
        return f"millstream.{self.writer}.{self.of}"

    def offset(self, batch: int) -> Any:
        """What says that a batch is written."""
        return TopicPartition(self.topic, 0, batch + 1)

    def next_batch(self) -> int | None:
        """The batch after the last that was written; None if there is no marker."""

        def request() -> int | None:
            part = TopicPartition(self.topic, 0)
            (found,) = self.consumer().committed([part], _ONE_TRY)
            if found.error is not None:
                raise KafkaException(found.error)
            return None if found.offset < 0 else int(found.offset)

        return waiting(self.client, self.topic, self.client_errors, request)

    def commit(self, batch: int) -> None:
        """Records a batch, outside of a transaction."""

        def request() -> None:
            self.consumer().commit(offsets=[self.offset(batch)], asynchronous=False)

        waiting(self.client, self.topic, self.client_errors, request)

    def consumer(self) -> Any:
        if self._consumer is None:
            own = {"group.id": self.group, "enable.auto.commit": False}
            own["error_cb"] = self.client_errors
            self._consumer = new_client(Consumer, self.client, own)
        return self._consumer

    @property
    def client_errors(self) -> ClientErrors:
        if self._client_errors is None:
            self._client_errors = ClientErrors()
        return self._client_errors

    def close(self) -> None:
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None


def waiting(client: Client, topic: str, client_errors: ClientErrors, call: Callable[[], _T]) -> _T:
    """Repeats a call while brokers do not answer; raises what it means if it cannot succeed."""
    begin = time.monotonic()
    notice = WaitNotice.of(client, client.retry)
    while True:
        try:
            return call()
        except KafkaException as error:
            reason = error.args[0]
        if rejected := client_errors.login_failure():
            raise failures.login_failed(client, rejected)
        if not failures.is_transient(reason):
            raise failures.meaning(client, topic, reason)
        if time.monotonic() - begin > client.retry:
            raise failures.unavailable(client, client.retry, client_errors)
        notice.show()
        time.sleep(_PAUSE)
