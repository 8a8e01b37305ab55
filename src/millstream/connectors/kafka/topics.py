"""Queries brokers about a topic: its partitions and their offsets."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from confluent_kafka import IsolationLevel, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from millstream.connectors.kafka import failures
from millstream.connectors.kafka.client import Client, WaitNotice
from millstream.connectors.kafka.failures import ClientErrors
from millstream.connectors.kafka.librdkafka import new_client

_ONE_TRY = 10.0  # seconds
_LEAST = 0.1
_PAUSE = 0.5
_T = TypeVar("_T")


@dataclass(slots=True)
class Topic:
    """A topic of a cluster. Calls wait for brokers that do not answer, `patience` seconds long."""

    client: Client
    name: str
    patience: float
    _client_errors: ClientErrors = field(default_factory=ClientErrors)
    _admin: Any = None

    def describe(self) -> tuple[str, list[int]]:
        """Returns the id of the topic, which a new topic of the same name does not have, and its
        partitions."""

        def request(seconds: float) -> tuple[str, list[int]]:
            names = TopicCollection([self.name])
            (result,) = self._client().describe_topics(names, request_timeout=seconds).values()
            found = result.result(seconds)
            return str(found.topic_id), sorted(each.id for each in found.partitions)

        return self._request(request)

    def begins(self, partitions: Iterable[int]) -> dict[int, int]:
        return self._offsets(dict.fromkeys(partitions, OffsetSpec.earliest()))

    def ends(self, partitions: Iterable[int]) -> dict[int, int]:
        """The last stable offset of partitions: records of open transactions are after it."""
        return self._offsets(dict.fromkeys(partitions, OffsetSpec.latest()))

    def written_ends(self, partitions: Iterable[int]) -> dict[int, int]:
        """The end of partitions, with the records of open transactions."""
        specs = dict.fromkeys(partitions, OffsetSpec.latest())
        return self._offsets(specs, IsolationLevel.READ_UNCOMMITTED)

    def at(self, partitions: Iterable[int], millis: int) -> dict[int, int]:
        """The first offset that is not before a time; the end if there is none."""
        numbers = list(partitions)
        ends = self.ends(numbers)
        found = self._offsets(dict.fromkeys(numbers, OffsetSpec.for_timestamp(millis)))
        return {each: ends[each] if offset < 0 else offset for each, offset in found.items()}

    def _offsets(
        self, specs: Mapping[int, Any], isolation: IsolationLevel = IsolationLevel.READ_COMMITTED
    ) -> dict[int, int]:
        def request(seconds: float) -> dict[int, int]:
            offset_specs = {TopicPartition(self.name, each): spec for each, spec in specs.items()}
            results = self._client().list_offsets(
                offset_specs,
                isolation_level=isolation,
                request_timeout=seconds,
            )
            return {part.partition: each.result(seconds).offset for part, each in results.items()}

        return self._request(request) if specs else {}

    def _client(self) -> Any:
        if self._admin is None:
            own = {"error_cb": self._client_errors}
            self._admin = new_client(AdminClient, self.client, own)
        return self._admin

    def _request(self, call: Callable[[float], _T]) -> _T:
        """Repeats a call with the seconds that it may take."""
        end = time.monotonic() + self.patience
        notice = WaitNotice.of(self.client, self.patience)
        while True:
            try:
                return call(min(_ONE_TRY, max(_LEAST, end - time.monotonic())))
            except KafkaException as error:
                reason = error.args[0]
            except TimeoutError:  # of the future
                reason = None
            self._client().poll(0)
            if rejected := self._client_errors.login_failure():
                raise failures.login_failed(self.client, rejected)
            if reason is not None and not failures.is_transient(reason):
                raise failures.meaning(self.client, self.name, reason)
            if time.monotonic() >= end:
                raise failures.unavailable(self.client, self.patience, self._client_errors)
            notice.show()
            time.sleep(max(0.0, min(_PAUSE, end - time.monotonic())))
