"""`millstream dev kafka`: a real Kafka node on this machine, its topics and messages."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from millstream.cli.errors import CommandError, print_json, reported
from millstream.cli.options import AsJson

if TYPE_CHECKING:
    from millstream.cli.dev.kafka_node import KafkaNode

EPILOG = """
Examples:

  millstream dev kafka up

  millstream dev kafka topics --create orders --partitions 4

  millstream dev kafka produce orders --file orders.jsonl

  millstream dev kafka consume orders --limit 5

  millstream dev kafka down --remove

The first start downloads Kafka's JAR files from Maven Central, with mvn if installed, otherwise
with Spark's Ivy.
"""
app = typer.Typer(
    help="Run a Kafka node on this machine; look at its topics and messages.",
    no_args_is_help=True,
    epilog=EPILOG,
)
Folder = Annotated[
    Path, typer.Option("--folder", metavar="FOLDER", help="Where the node keeps its data.")
]
_FOLDER = Path(".millstream/kafka")
_PORT = 9092


@app.command()
def up(
    folder: Folder = _FOLDER,
    port: Annotated[int, typer.Option(help="The port of the broker, on loopback.")] = _PORT,
    controller_port: Annotated[
        int | None, typer.Option(help="The port of the controller; by default the next one.")
    ] = None,
) -> None:
    """Start a node. Reuses data of an earlier start in the same folder."""
    with reported():
        from millstream.cli.dev.kafka_node import KafkaNode

        node = KafkaNode.found(folder.absolute())
        if node is not None and node.process() is not None:
            print(f"Kafka already runs at {node.address}, data in {folder}.")
            return
        node = KafkaNode(folder.absolute(), port, controller_port or port + 1)
        seconds = node.start()
        print(f"Kafka is ready at {node.address} ({seconds:.1f} s), data in {folder}.")


@app.command()
def down(
    folder: Folder = _FOLDER,
    remove: Annotated[bool, typer.Option("--remove", help="Delete its data, too.")] = False,
) -> None:
    """Stop the node."""
    with reported():
        from millstream.cli.dev.kafka_node import KafkaNode

        node = KafkaNode.found(folder.absolute())
        ran = node is not None and node.process() is not None
        if node is not None:
            (node.remove if remove else node.stop)()
        print("Stopped." if ran else "No node runs here.")


@app.command()
def topics(
    create: Annotated[str | None, typer.Option(metavar="TOPIC", help="Create a topic.")] = None,
    partitions: Annotated[int, typer.Option(help="Partitions of a new topic.")] = 2,
    delete: Annotated[str | None, typer.Option(metavar="TOPIC", help="Delete a topic.")] = None,
    folder: Folder = _FOLDER,
    as_json: AsJson = False,
) -> None:
    """List topics with their offsets, or create or delete one."""
    with reported(as_json):
        from millstream.cli.dev import kafka_topics

        address = running(folder).address
        if create is not None:
            kafka_topics.create(address, create, partitions)
        if delete is not None:
            kafka_topics.delete(address, delete)
        found = kafka_topics.listed(address)
        if as_json:
            print_json({"topics": found})
            return
        for topic in found:
            print(f"{topic['name']}: {topic['partitions']} partitions, {topic['offsets']} offsets")


@app.command()
def produce(
    topic: str,
    file: Annotated[
        Path | None, typer.Option("--file", help="Read from this file; by default from stdin.")
    ] = None,
    key_field: Annotated[
        str, typer.Option(help="The field of JSON values that is the key of the message.")
    ] = "",
    separator: Annotated[
        str, typer.Option(help="What is between key and value in a line, such as a tab.")
    ] = "",
    folder: Folder = _FOLDER,
) -> None:
    """Write a message for each line."""
    with reported():
        from millstream.cli.dev import kafka_topics

        node = running(folder)
        try:
            lines = file.read_bytes() if file else sys.stdin.buffer.read()
        except OSError as error:
            raise CommandError("MS-CLI-KAFKA", f"{file} cannot be read: {error}.") from None
        messages = kafka_topics.messages(lines, key_field, separator)
        print(f"{kafka_topics.write(node.address, topic, messages)} messages written.")


@app.command()
def consume(
    topic: str,
    limit: Annotated[int | None, typer.Option(help="Messages at most.")] = None,
    as_json: AsJson = False,
    folder: Folder = _FOLDER,
) -> None:
    """Print the committed messages of a topic, from its beginning to its present end."""
    with reported():
        from millstream.cli.dev import kafka_topics

        for message in kafka_topics.read(running(folder).address, topic, limit):
            print(kafka_topics.line(message, as_json=as_json))


def running(folder: Path) -> KafkaNode:
    from millstream.cli.dev.kafka_node import KafkaNode

    node = KafkaNode.found(folder.absolute())
    if node is None or node.process() is None:
        raise CommandError(
            "MS-CLI-KAFKA",
            f"no Kafka node runs in {folder}.",
            fix="Start one with millstream dev kafka up, or name its --folder.",
        )
    return node
