"""What goes wrong between a job and its brokers is told clearly, and waited for if it may pass."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from pyspark.sql.streaming.datasource import ReadMaxRows
from tests.connectors.kafka.jobs import numbered
from tests.services.kafka import Kafka
from tests.services.ports import free_port

from millstream.cli.dev.kafka_node import KafkaNode
from millstream.connectors.kafka.client import Client
from millstream.connectors.kafka.offsets import OffsetRange
from millstream.connectors.kafka.range_stream import RangeStream, StreamSettings
from millstream.connectors.kafka.records import messages_of
from millstream.connectors.kafka.topics import Topic
from millstream.errors import RunError

pytestmark = pytest.mark.service
SECRET = "correct-horse"


def client(address: str, *more: tuple[str, str], password: str = "", file: str = "") -> Client:
    return Client("source a", (("bootstrap.servers", address), *more), password, file, 2.0, 200.0)


def stream(kafka: Kafka, topic: str) -> RangeStream:
    settings = StreamSettings(topic, 2, 1000, 0.0, "earliest")
    return RangeStream(settings, client(kafka.address))


def offsets(given: Client, wanted: OffsetRange, *, skip: bool = False) -> list[int]:
    """The offsets of the records of a range."""
    return [
        message.offset() for found in messages_of(given, wanted, skip=skip) for message in found
    ]


def test_brokers_that_do_not_answer_are_an_error_at_the_start() -> None:
    address = f"127.0.0.1:{free_port()}"
    with pytest.raises(RunError) as error:
        Topic(client(address), "t", 1.0).describe()
    assert error.value.code == "MS-RUN-KAFKA-CONNECT"
    assert f"the brokers at {address} did not answer within 1s" in error.value.cause
    assert "Check 'bootstrap.servers'" in error.value.fix


def test_brokers_that_are_silent_are_waited_for_as_long_as_the_job_says() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts, and never answers
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        begin = time.monotonic()
        with pytest.raises(RunError, match="did not answer within 1s"):
            Topic(client(address), "t", 1.0).describe()
    assert time.monotonic() - begin < 5.0


def test_offsets_to_start_at_must_be_those_of_the_topic(kafka: Kafka) -> None:
    topic = kafka.create("start-offsets", 2)
    kafka.write(topic, numbered(0, 5), partition=1)

    def first(**start: int) -> dict[str, str | int]:
        given = {name.removeprefix("p"): offset for name, offset in start.items()}
        settings = StreamSettings(topic, 2, 1000, 0.0, given)
        return RangeStream(settings, client(kafka.address)).initialOffset()

    assert {key: first(p1=5)[key] for key in "01"} == {"0": 0, "1": 5}
    assert {key: first(p0=0, p1=2)[key] for key in "01"} == {"0": 0, "1": 2}
    with pytest.raises(RunError) as error:
        first(p1=6)
    assert error.value.code == "MS-RUN-KAFKA-OFFSET"
    assert error.value.cause == (
        f"source a: 'start.offsets' names offset 6 of partition 1, and {topic} has 0 to 5."
    )
    with pytest.raises(RunError, match=r"names partition 9, and start-offsets has partitions 0 to"):
        first(p9=42)


def test_a_topic_that_does_not_exist_is_an_error(kafka: Kafka) -> None:
    with pytest.raises(RunError) as error:
        Topic(client(kafka.address), "nothing", 5.0).describe()
    assert str(error.value) == (
        f"MS-RUN-KAFKA-TOPIC: source a: there is no topic nothing at {kafka.address}. Correct "
        "'topic', or create the topic on the brokers."
    )


def test_a_topic_that_was_created_again_is_an_error(kafka: Kafka) -> None:
    topic = kafka.create("recreated", 1)
    kafka.write(topic, numbered(0, 5))
    start = stream(kafka, topic).initialOffset()
    end = stream(kafka, topic).latestOffset(start, ReadMaxRows(1000))
    assert end["0"] == 5
    kafka.delete(topic)
    for _ in range(50):  # the name is free a moment later
        try:
            kafka.create(topic, 1)
            break
        except Exception:  # noqa: BLE001 -- of librdkafka
            time.sleep(0.2)
    for _ in range(100):  # so is the topic
        with suppress(RunError):
            Topic(client(kafka.address), topic, 5.0).describe()
            break
        time.sleep(0.2)
    with pytest.raises(RunError, match=r"MS-RUN-KAFKA-TOPIC.*was deleted and created again"):
        stream(kafka, topic).latestOffset(end, ReadMaxRows(1000))


def test_records_that_were_deleted_are_an_error_or_skipped(kafka: Kafka) -> None:
    from confluent_kafka import TopicPartition

    from millstream.cli.dev import kafka_topics

    topic = kafka.create("lost", 1)
    kafka.write(topic, numbered(0, 10))
    admin = kafka_topics.admin(kafka.address)
    for result in admin.delete_records([TopicPartition(topic, 0, 6)]).values():
        result.result(30)
    wanted = OffsetRange(topic, 0, 2, 10)
    with pytest.raises(RunError) as error:
        list(messages_of(client(kafka.address), wanted, skip=False))
    assert error.value.code == "MS-RUN-KAFKA-LOST"
    assert "offset 2 is gone. The earliest available offset is 6." in error.value.cause
    found = [
        m.offset() for each in messages_of(client(kafka.address), wanted, skip=True) for m in each
    ]
    assert found == [6, 7, 8, 9]


@pytest.fixture(scope="module")
def secured() -> Iterator[KafkaNode]:
    import shutil
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="millstream-kafka-"))
    node = KafkaNode(folder / "node", free_port(), free_port(), password=SECRET)
    try:
        node.start()
        yield node
    finally:
        node.kill()
        shutil.rmtree(folder, ignore_errors=True)


LOGIN = (
    ("security.protocol", "sasl_plaintext"),
    ("sasl.mechanism", "PLAIN"),
    ("sasl.username", "millstream"),
)


def test_a_password_comes_from_the_environment_or_a_file_and_is_never_told(
    secured: KafkaNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Logged in, so that the topic is what is missing.
    monkeypatch.setenv("KAFKA_PW", SECRET)
    with pytest.raises(RunError, match="there is no topic t"):
        Topic(client(secured.address, *LOGIN, password="KAFKA_PW"), "t", 20.0).describe()
    file = tmp_path / "login"
    file.write_text(f"# a comment\nsasl.password={SECRET}\n")
    given = client(secured.address, *LOGIN, file=str(file))
    with pytest.raises(RunError, match="there is no topic t"):
        Topic(given, "t", 20.0).describe()
    assert SECRET not in repr(given)

    monkeypatch.setenv("KAFKA_PW", "wrong-secret")
    with pytest.raises(RunError) as error:
        Topic(client(secured.address, *LOGIN, password="KAFKA_PW"), "t", 20.0).describe()
    assert error.value.code == "MS-RUN-KAFKA-LOGIN"
    assert f"the brokers at {secured.address} rejected the connection" in error.value.cause
    assert "wrong-secret" not in str(error.value)


def test_a_password_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KAFKA_PW", raising=False)
    with pytest.raises(RunError, match=r"MS-RUN-KAFKA-LOGIN.*KAFKA_PW.*is not set"):
        client("h:1", password="KAFKA_PW").config({})
    with pytest.raises(RunError, match=r"MS-RUN-KAFKA-LOGIN.*/nowhere/x.*cannot be read"):
        client("h:1", file="/nowhere/x").config({})


def test_a_file_of_settings_cannot_set_what_delivery_depends_on(tmp_path: Path) -> None:
    file = tmp_path / "settings"
    file.write_text("fetch.message.max.bytes = 1000\n# isolation.level=read_uncommitted\n")
    assert client("h:1", file=str(file)).config({})["fetch.message.max.bytes"] == "1000"
    file.write_text("isolation.level = read_uncommitted\n")
    with pytest.raises(
        RunError, match=r"MS-RUN-KAFKA-SETTING.*sets isolation.level, which is set by"
    ):
        client("h:1", file=str(file)).config({})


def test_a_job_waits_for_brokers_that_are_started_again(
    kafka: Kafka, capfd: pytest.CaptureFixture[str]
) -> None:
    topic = kafka.create("outage", 1)
    kafka.write(topic, numbered(0, 10))
    reading, given = stream(kafka, topic), client(kafka.address)
    start = reading.initialOffset()
    end = reading.latestOffset(start, ReadMaxRows(1000))
    assert offsets(given, OffsetRange(topic, 0, 0, 5)) == list(range(5))
    kafka.node.kill()
    restart = threading.Timer(2.0, kafka.node.start)
    restart.start()
    try:
        assert offsets(given, OffsetRange(topic, 0, 5, 10)) == list(range(5, 10))
        assert reading.latestOffset(end, ReadMaxRows(1000)) == end
    finally:
        restart.join()
    printed = capfd.readouterr().err
    assert f"source a: {kafka.address} does not answer; waiting up to 200s ('retry.ti" in printed


def test_a_compacted_topic_has_gaps(kafka: Kafka) -> None:
    settings = {
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": "0.01",
        "segment.ms": "50",
    }
    topic = kafka.create("compacted", 1, **settings)
    kafka.write(topic, numbered(0, 100), keys=["a", "b"] * 50)
    given = client(kafka.address)
    found, end = list(range(100)), 100
    for _ in range(300):  # brokers compact a segment after it is closed by a later record
        kafka.write(topic, ["{}"], keys=["c"])
        end += 1
        found = offsets(given, OffsetRange(topic, 0, 0, 100))
        if len(found) == 2:
            break
        time.sleep(0.1)
    assert found == [98, 99]
    assert offsets(given, OffsetRange(topic, 0, 0, 98)) == []
    assert offsets(given, OffsetRange(topic, 0, 10, 99)) == [98]
    reading = stream(kafka, topic)
    assert reading.latestOffset(reading.initialOffset(), ReadMaxRows(1000))["0"] == end


@pytest.fixture(scope="module")
def encrypted() -> Iterator[tuple[KafkaNode, Path]]:
    """A node with TLS, and the file of its certificate."""
    import shutil
    import subprocess
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="millstream-kafka-"))
    store, certificate = folder / "keys.p12", folder / "ca.pem"
    of_store = ("-keystore", str(store), "-storepass", SECRET, "-alias", "node")
    make = ("-genkeypair", "-keyalg", "RSA", "-dname", "CN=node", "-ext", "san=ip:127.0.0.1")
    subprocess.run(["keytool", *make, *of_store, "-storetype", "PKCS12"], check=True)
    export = ("-exportcert", "-rfc", "-file", str(certificate))
    subprocess.run(["keytool", *export, *of_store], check=True)
    settings = {
        "listener.security.protocol.map": "CLIENT:SSL,CONTROLLER:PLAINTEXT",
        "ssl.keystore.location": str(store),
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.password": SECRET,
        "ssl.truststore.location": str(certificate),  # the node is a client of itself
        "ssl.truststore.type": "PEM",
    }
    node = KafkaNode(folder / "node", free_port(), free_port(), settings=settings)
    try:
        node.start()
        yield node, certificate
    finally:
        node.kill()
        shutil.rmtree(folder, ignore_errors=True)


def test_connections_are_encrypted_and_certificates_checked(
    encrypted: tuple[KafkaNode, Path],
) -> None:
    node, certificate = encrypted
    ssl = ("security.protocol", "ssl")
    trusting = client(node.address, ssl, ("ssl.ca.location", str(certificate)))
    with pytest.raises(RunError, match="there is no topic t"):
        Topic(trusting, "t", 20.0).describe()
    with pytest.raises(RunError) as error:
        Topic(client(node.address, ssl), "t", 20.0).describe()
    assert error.value.code == "MS-RUN-KAFKA-LOGIN"
    assert f"the brokers at {node.address} rejected the connection" in error.value.cause
    assert "certificate verify failed" in error.value.cause
