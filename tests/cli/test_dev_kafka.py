"""`millstream dev kafka` runs a real node, and reads and writes its topics."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from tests.services.ports import free_port
from typer.testing import CliRunner

from millstream.cli.dev import kafka_topics
from millstream.cli.dev.kafka_node import KafkaNode
from millstream.cli.errors import CommandError
from millstream.cli.main import app

RUN = CliRunner()


def test_a_line_is_a_message_with_the_key_of_its_field() -> None:
    lines = b'{"id": "a"}\n\n{"id": 7}\n'
    assert list(kafka_topics.messages(lines, "id", "")) == [
        (b"a", b'{"id": "a"}'),
        (b"7", b'{"id": 7}'),
    ]


def test_a_line_is_split_into_key_and_value() -> None:
    assert list(kafka_topics.messages(b"a\tx\ny\n", "", "\t")) == [(b"a", b"x"), (None, b"y")]


def test_a_line_without_the_key_field_is_an_error() -> None:
    with pytest.raises(CommandError) as error:
        list(kafka_topics.messages(b'{"id": "a"}\n[]\n', "id", ""))
    assert str(error.value) == "MS-CLI-KAFKA: line 2 is not a JSON object with the field id."


def test_commands_say_that_no_node_runs(tmp_path: Path) -> None:
    done = RUN.invoke(app, ["dev", "kafka", "topics", "--folder", str(tmp_path)])
    assert done.exit_code == 2
    assert f"no Kafka node runs in {tmp_path}." in done.stderr
    assert "Start one with millstream dev kafka up" in done.stderr


def test_a_port_in_use_is_an_error(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(CommandError, match=f"port {port} is in use"):
            KafkaNode(tmp_path, port, free_port()).start()


@pytest.mark.service
def test_a_node_keeps_its_messages_between_starts(tmp_path: Path) -> None:
    folder = ["--folder", str(tmp_path / "node")]

    def kafka(*arguments: str, given: str | None = None) -> str:
        done = RUN.invoke(app, ["dev", "kafka", *arguments, *folder], input=given)
        assert done.exit_code == 0, done.output
        return done.stdout

    ports = ["--port", str(free_port()), "--controller-port", str(free_port())]
    try:
        assert "Kafka is ready at 127.0.0.1:" in kafka("up", *ports)
        assert "Kafka already runs" in kafka("up", *ports)
        kafka("topics", "--create", "orders", "--partitions", "3")
        wrote = kafka("produce", "orders", "--key-field", "id", given='{"id":"a"}\n{"id":"b"}\n')
        assert wrote == "2 messages written.\n"
        assert kafka("down") == "Stopped.\n"
        kafka("up", *ports)
        found = [json.loads(line) for line in kafka("consume", "orders", "--json").splitlines()]
        assert sorted((each["key"], each["value"]) for each in found) == [
            ("a", '{"id":"a"}'),
            ("b", '{"id":"b"}'),
        ]
        (topic,) = json.loads(kafka("topics", "--json"))["topics"]
        assert topic == {"name": "orders", "partitions": 3, "offsets": 2}
    finally:
        kafka("down", "--remove")
    assert not (tmp_path / "node").exists()
