"""Schemas of a registry: Apicurio, and a small server for what it cannot be made to do."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType
from tests.connectors.kafka.formats.records import avro, avro_schema, decoded, protobuf
from tests.services.ports import free_port
from tests.services.registry import RegistryNode

from millstream.connectors.file.values import Column
from millstream.connectors.kafka.formats.protobuf_schema import compile_text
from millstream.connectors.kafka.formats.record_values import RecordValues
from millstream.connectors.kafka.formats.registry import (
    RegisteredSchema,
    Registry,
    RegistryConflictError,
)
from millstream.connectors.kafka.formats.wire_format import prefix_of
from millstream.connectors.kafka.schemas import record_values
from millstream.connectors.kafka.sink_schema import SinkSchema
from millstream.errors import RunError
from millstream.plan.nodes import SinkDef, Source

OLD = avro_schema(("id", "string"), ("n", "int"))
NEW = avro_schema(("n", "long"), ("id", "string"), ("note", ["null", "string"]))
COLUMNS = (
    Column("id", pa.string(), "STRING"),
    Column("n", pa.int64(), "BIGINT"),
    Column("note", pa.string(), "STRING"),
)
SECRET = "correct-horse"


def client(url: str, **more: str) -> Registry:
    return Registry("source a", url, connect=2.0, retry=2.0, **more)


@pytest.mark.service
@pytest.mark.timeout(300)
def test_records_of_several_schemas_are_read_in_one_block(registry: RegistryNode) -> None:
    known = client(registry.url)
    old = known.register("several-value", RegisteredSchema(OLD))
    wider = json.dumps({**json.loads(NEW), "fields": _with_defaults(NEW)})
    new = known.register("several-value", RegisteredSchema(wider))
    assert known.register("several-value", RegisteredSchema(OLD)) == old != new
    values = RecordValues(COLUMNS, False, None, known, True)
    given = [
        prefix_of(old) + avro(OLD, {"id": "a", "n": 1}),
        prefix_of(new) + avro(wider, {"n": 2**40, "id": "b", "note": "x"}),
        avro(OLD, {"id": "c", "n": 1}),
        prefix_of(2**30) + avro(OLD, {"id": "d", "n": 1}),
        prefix_of(new) + b"\xff",
        None,
        prefix_of(old) + avro(OLD, {"id": "e", "n": 3}),
    ]
    rows, flaws = decoded(values, given)
    assert rows == [("a", 1, None), ("b", 2**40, "x"), *[(None,) * 3] * 4, ("e", 3, None)]
    assert flaws == [
        "2: the value does not begin with the id of a schema (0 and 4 bytes).",
        f"3: the schema registry has no schema {2**30}.",
        "4: the value is not a record of its Avro schema.",
        "5: the record has no value; it is a tombstone.",
    ]


def _with_defaults(schema: str) -> list[dict[str, object]]:
    fields = json.loads(schema)["fields"]
    return [{**each, **({"default": None} if each["name"] == "note" else {})} for each in fields]


@pytest.mark.service
@pytest.mark.timeout(300)
def test_messages_of_protobuf_are_found_by_their_indexes(registry: RegistryNode) -> None:
    text = 'syntax = "proto3"; message A { string x = 1; } message Order { string id = 1; }'
    known = client(registry.url)
    number = known.register("messages-value", RegisteredSchema(text, "PROTOBUF"))
    schema = compile_text(text).named("Order")
    values = RecordValues(COLUMNS[:1], True, None, known, True)
    given = [
        prefix_of(number, (1,)) + protobuf(schema, id="a"),
        prefix_of(number, (9,)) + protobuf(schema, id="b"),
    ]
    rows, flaws = decoded(values, given)
    assert rows == [("a",), (None,)]
    assert flaws == [f"1: schema {number}: it has no message 9."]
    other = RecordValues(COLUMNS[:1], False, None, known, True)
    _, flaws = decoded(other, [prefix_of(number)])
    assert flaws == [f"0: schema {number}: its type is PROTOBUF, not AVRO."]


@pytest.mark.service
@pytest.mark.timeout(300)
def test_a_sink_registers_its_schema_once_and_a_source_checks_it(registry: RegistryNode) -> None:
    options = (("topic", "made"), ("format", "avro"), ("schema.registry.url", registry.url))
    schema = SinkSchema.of(SinkDef("out", "kafka", options), Path())
    schema.check(StructType([StructField("id", StringType()), StructField("n", LongType())]))
    kind = pa.struct([("id", pa.string()), ("n", pa.int64())])
    encoders = schema.encoders()
    found = encoders.encode(pa.array([{"id": "a", "n": 1}, None], kind), is_main=True)
    source = Source("made", (), options=options)
    assert decoded(record_values(source, COLUMNS[:2], Path()), found) == (
        [("a", 1), (None, None)],
        ["1: the record has no value; it is a tombstone."],
    )
    with pytest.raises(RunError) as error:
        record_values(source, COLUMNS, Path())
    assert str(error.value) == (
        "MS-RUN-KAFKA-SCHEMA: source made: the schema cannot be used: it has no field note; its "
        "fields are id, n. Correct the schema, or the declared columns."
    )
    wrong = (Column("n", pa.string(), "STRING"),)
    with pytest.raises(RunError, match="its field n is INT64, which is not a STRING"):
        record_values(source, wrong, Path())


@dataclass(slots=True)
class FakeRegistry:
    """Answers requests in turn with `answers`: status and body. Keeps what it was asked."""

    answers: list[tuple[int, object]]
    asked: list[tuple[str, str | None]] = field(default_factory=list)

    @contextmanager
    def served(self) -> Iterator[str]:
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                registry.asked.append((self.path, self.headers.get("Authorization")))
                status, body = registry.answers.pop(0)
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                self.do_GET()

            def log_message(self, *arguments: object) -> None: ...

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


def test_a_schema_is_asked_for_once_and_waited_for() -> None:
    fake = FakeRegistry([(503, b"starting"), (200, {"schema": OLD}), (404, {})])
    with fake.served() as url:
        known = client(url)
        for _ in range(3):
            assert known.schema(7) == RegisteredSchema(OLD)
            assert known.schema(8) is None
    assert [path for path, _ in fake.asked] == [
        "/schemas/ids/7",
        "/schemas/ids/7",
        "/schemas/ids/8",
    ]


def test_references_are_part_of_a_schema() -> None:
    answers = [
        (200, {"schema": "main", "schemaType": "PROTOBUF", "references": [_reference("a.proto")]}),
        (200, {"schema": "a", "references": [_reference("b.proto")]}),
        (200, {"schema": "b"}),
    ]
    fake = FakeRegistry([*answers])
    with fake.served() as url:
        expected = (("b.proto", "b"), ("a.proto", "a"))
        assert client(url).schema(1) == RegisteredSchema("main", "PROTOBUF", expected)
    assert fake.asked[1][0] == "/subjects/of%20a.proto/versions/3"


def _reference(name: str) -> dict[str, object]:
    return {"name": name, "subject": f"of {name}", "version": 3}


def test_a_login_comes_from_the_environment_and_is_never_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REGISTRY_PW", SECRET)
    fake = FakeRegistry([(200, {"schema": OLD}), (200, {"schema": OLD}), (401, {"message": "no"})])
    with fake.served() as url:
        basic = client(url, username="me", password="REGISTRY_PW")
        basic.schema(1)
        client(url, token="REGISTRY_PW").schema(2)
        with pytest.raises(RunError) as error:
            basic.schema(3)
    pair = base64.b64encode(f"me:{SECRET}".encode()).decode()
    assert [login for _, login in fake.asked[:2]] == [f"Basic {pair}", f"Bearer {SECRET}"]
    assert str(error.value) == (
        f"MS-RUN-KAFKA-REGISTRY: source a: the schema registry at {url} rejected a request (401): "
        "no. Check 'schema.registry.username' and the password, or 'schema.registry.token.env'."
    )
    assert SECRET not in repr(basic)
    monkeypatch.delenv("REGISTRY_PW")
    with pytest.raises(RunError, match=r"MS-RUN-KAFKA-REGISTRY.*REGISTRY_PW.*is not set"):
        basic.schema(4)


def test_a_registry_that_does_not_answer_is_an_error() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(RunError, match=r"MS-RUN-KAFKA-REGISTRY.*cannot be used.*for 1s"):
        Registry("source a", url, retry=1.0).schema(1)
    fake = FakeRegistry([(200, b"<html>")] * 9)
    with fake.served() as url, pytest.raises(RunError, match="MS-RUN-KAFKA-REGISTRY"):
        Registry("source a", url, connect=1.0).latest("a")


def test_a_schema_that_the_registry_rejects_is_an_error() -> None:
    fake = FakeRegistry([(409, {"message": "incompatible: n"})] * 2)
    with fake.served() as url:
        with pytest.raises(RegistryConflictError, match="incompatible: n"):
            client(url).register("a-value", RegisteredSchema(OLD))
        options = (("topic", "a"), ("format", "avro"), ("schema.registry.url", url))
        schema = SinkSchema.of(SinkDef("out", "kafka", options), Path())
        schema.check(StructType([StructField("n", LongType())]))
        with pytest.raises(RunError, match=r"MS-RUN-KAFKA-SCHEMA.*incompatible: n"):
            schema.encoders()
