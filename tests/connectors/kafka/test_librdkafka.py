"""A setting that librdkafka rejects is an error that names it and never shows a secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.connectors.kafka.client import Client
from millstream.connectors.kafka.markers import Marker
from millstream.connectors.kafka.offsets import OffsetRange
from millstream.connectors.kafka.records import PartitionReader
from millstream.connectors.kafka.topics import Topic
from millstream.connectors.kafka.writers import KafkaOpener
from millstream.connectors.sink import BatchId, TaskId
from millstream.errors import RunError

SASL = ("security.protocol", "sasl_plaintext")


def client(*more: tuple[str, str], file: str = "") -> Client:
    return Client("source a", (("bootstrap.servers", "h:1"), *more), "", file, 1.0, 1.0)


def error_of(given: Client) -> str:
    """The error, which is the same for each kind of client."""
    with pytest.raises(RunError) as found:
        Topic(given, "t", 1.0).describe()
    for make in (
        lambda: list(PartitionReader(given, "t", 0).read(OffsetRange("t", 0, 0, 1), skip=False)),
        lambda: KafkaOpener(given, "t", exactly_once=False).open(
            TaskId(BatchId("c", "q", "main", 0), 0)
        ),
        lambda: Marker(given, "t", "w", 0).consumer(),
    ):
        with pytest.raises(RunError) as other:
            make()
        assert str(other.value) == str(found.value)
    assert found.value.code == "MS-RUN-KAFKA-SETTING"
    return found.value.cause


@pytest.mark.parametrize(
    ("settings", "cause"),
    [
        ((("bogus.setting", "1"),), "'kafka.bogus.setting': No such configuration property"),
        ((SASL, ("sasl.mechanism", "FOO")), "'sasl.mechanism': Unsupported SASL mechanism: FOO."),
        (
            (("fetch.message.max.bytes", "many"),),
            "'kafka.fetch.message.max.bytes': Invalid value for configuration property",
        ),
        (
            (("security.protocol", "ssl"), ("ssl.ca.location", "/nowhere/ca.pem")),
            "'ssl.ca.location': ssl.ca.location failed: ",
        ),
        ((("throttle_cb", "x"),), "'kafka.throttle_cb': expected throttle_cb property as a"),
    ],
)
def test_a_wrong_property_is_named(settings: tuple[tuple[str, str], ...], cause: str) -> None:
    assert error_of(client(*settings)).startswith(f"source a: librdkafka rejects {cause}")


def test_a_wrong_line_of_a_file_is_named_without_its_value(tmp_path: Path) -> None:
    file = tmp_path / "login"
    given = client(SASL, file=str(file))
    file.write_text("# a comment\n\nsasl.pasword=hunter2\n")
    assert error_of(given) == (
        f"source a: librdkafka rejects sasl.pasword in {file}: No such configuration property: "
        '"sasl.pasword".'
    )
    file.write_text("sasl.mechanism=hunter2\n")
    assert error_of(given) == (
        f"source a: librdkafka rejects sasl.mechanism in {file}: Unsupported SASL mechanism: ***."
    )
    for text in ("sasl.mechanism=PLAIN\nhunter2\n", "\n=hunter2"):
        file.write_text(text)
        assert error_of(given) == (
            f"source a: {file}, which 'config.file' names, has no name=value in line 2."
        )
    file.write_bytes(b"sasl.password=\xff")
    assert error_of(given) == f"source a: {file}, which 'config.file' names, is not UTF-8."
