"""What errors of librdkafka mean, as errors with a code. None shows a password."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaError

from millstream.connectors.kafka.client import Client
from millstream.connectors.kafka.offsets import Offsets
from millstream.errors import RunError

_LOGIN = (
    KafkaError._AUTHENTICATION,
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    KafkaError._SSL,
)
_UNAVAILABLE = (
    KafkaError._TRANSPORT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._TIMED_OUT,
    KafkaError._TIMED_OUT_QUEUE,
    KafkaError._RESOLVE,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.BROKER_NOT_AVAILABLE,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.NOT_COORDINATOR,
    KafkaError.NETWORK_EXCEPTION,
)
_NO_TOPIC = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC)


@dataclass(slots=True)
class ClientErrors:
    """Errors that a client reported by its callback, newest last."""

    errors: list[Any] = field(default_factory=list)

    def __call__(self, error: Any) -> None:
        self.errors = [*self.errors[-9:], error]

    def login_failure(self) -> Any | None:
        return next((each for each in self.errors if each.code() in _LOGIN), None)


def is_transient(error: Any) -> bool:
    """May the same call succeed once brokers answer again?"""
    return error.code() in _UNAVAILABLE or error.retriable()


def is_queue_full(error: Any) -> bool:
    return bool(error.code() == KafkaError._QUEUE_FULL)


def timed_out() -> Any:
    return KafkaError(KafkaError._TIMED_OUT)


def is_unknown_topic(error: Any) -> bool:
    return error.code() in _NO_TOPIC


def is_login(error: Any) -> bool:
    return error.code() in _LOGIN


def unavailable(client: Client, seconds: float, client_errors: ClientErrors) -> RunError:
    last = client_errors.errors[-1].str() if client_errors.errors else "no answer"
    return RunError(
        "MS-RUN-KAFKA-CONNECT",
        f"{client.owner}: the brokers at {client.address} did not answer within {seconds:g}s: "
        f"{_shown(last)}.",
        fix="Check 'bootstrap.servers' and that the brokers run. 'connect.timeout' and "
        "'retry.timeout' let the job wait longer.",
    )


def login_failed(client: Client, error: Any) -> RunError:
    return RunError(
        "MS-RUN-KAFKA-LOGIN",
        f"{client.owner}: the brokers at {client.address} rejected the connection: "
        f"{_shown(error.str())}.",
        fix="Check 'security.protocol', 'sasl.mechanism', 'sasl.username' and the password.",
    )


def no_topic(client: Client, topic: str) -> RunError:
    return RunError(
        "MS-RUN-KAFKA-TOPIC",
        f"{client.owner}: there is no topic {topic} at {client.address}.",
        fix="Correct 'topic', or create the topic on the brokers.",
    )


def recreated(client: Client, topic: str) -> RunError:
    return RunError(
        "MS-RUN-KAFKA-TOPIC",
        f"{client.owner}: the topic {topic} was deleted and created again since the last batch, so "
        "the offsets of the checkpoint are those of another topic.",
        fix="Start with a new checkpoint to read the new topic.",
    )


def no_offset(
    client: Client, topic: str, partition: int, offset: int, known: tuple[Offsets, Offsets]
) -> RunError:
    """`known`: the first offsets of partitions, and their ends."""
    begins, ends = known
    if partition not in ends:
        what = f"partition {partition}, and {topic} has {_listed(sorted(ends))}"
    else:
        what = (
            f"offset {offset} of partition {partition}, and {topic} has {begins[partition]} to "
            f"{ends[partition]}"
        )
    return RunError(
        "MS-RUN-KAFKA-OFFSET",
        f"{client.owner}: 'start.offsets' names {what}.",
        fix="Correct 'start.offsets'. Partitions that it does not name start at the earliest.",
    )


def _listed(partitions: list[int]) -> str:
    first, last = partitions[0], partitions[-1]
    return f"only partition {first}" if first == last else f"partitions {first} to {last}"


def lost(client: Client, topic: str, partition: int, start: int, first: int | None) -> RunError:
    now = "" if first is None else f" The earliest available offset is {first}."
    return RunError(
        "MS-RUN-KAFKA-LOST",
        f"{client.owner}: records of {topic}, partition {partition}, were deleted before they were "
        f"read: offset {start} is gone.{now}",
        fix="Make the retention of the topic longer. 'on.data.loss' = 'skip' continues with the "
        "records that are available.",
    )


def other(client: Client, what: str, error: Any) -> RunError:
    return RunError(
        "MS-RUN-KAFKA-CONNECT",
        f"{client.owner}: {what}: {_shown(error.str())}.",
        fix="If the message does not explain it, see the log of the brokers.",
    )


def _shown(text: str) -> str:
    """The message in one line, without names of librdkafka's threads."""
    line = " ".join(text.split()).rstrip(".")
    return line.rsplit("]: ", 1)[-1]


def meaning(client: Client, topic: str, error: Any) -> RunError:
    """The error of a call that cannot succeed by trying again."""
    if is_login(error):
        return login_failed(client, error)
    if is_unknown_topic(error):
        return no_topic(client, topic)
    return other(client, f"topic {topic}", error)
