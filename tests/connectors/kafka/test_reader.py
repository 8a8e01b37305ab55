"""Records become rows with dead letters, or an error that names the record."""

from __future__ import annotations

import pytest
from tests.connectors.kafka.change_rows import COLUMNS, Message, text

from millstream.connectors.dead_letters import BAD
from millstream.connectors.kafka.client import Client
from millstream.connectors.kafka.envelopes import Envelopes, envelope_columns
from millstream.connectors.kafka.reader import KafkaRecords
from millstream.connectors.kafka.values import JsonValues
from millstream.errors import RunError

CLIENT = Client("source a", (("bootstrap.servers", "h:1"),))
WANTED = {column.name: column.type for column in COLUMNS}


def records(*, ignores_truncate: bool = False) -> KafkaRecords:
    decoder = JsonValues(envelope_columns(COLUMNS, is_json=True))
    envelopes = Envelopes(COLUMNS, decoder, True, ignores_truncate)
    return KafkaRecords(CLIENT, COLUMNS, envelopes, skip=False)


def test_a_truncated_table_is_an_error_that_names_its_record() -> None:
    messages = [text({"op": "t"}), text({"after": {"id": "a", "n": 1}, "op": "c"})]
    with pytest.raises(RunError) as error:
        records()._rows(messages, WANTED)
    assert error.value.code == "MS-RUN-KAFKA-TRUNCATE"
    assert error.value.cause == (
        "source a: the table was truncated at changes, partition 2, offset 40. The deleted rows "
        "are not in the record, so they cannot be retracted."
    )
    assert "'on.truncate' = 'ignore'" in error.value.fix
    found = records(ignores_truncate=True)._rows(messages, WANTED)
    assert found.to_pylist() == [{"id": "a", "n": 1, BAD: None}]


def test_a_dead_letter_names_the_column_of_an_envelope() -> None:
    envelope = Message(b'{"payload":{"after":{"id":"a","n":"x"},"op":"c"}}')
    (found,) = records()._rows([envelope], WANTED)[BAD].to_pylist()
    assert "column n: 'x' is not a BIGINT." in found
    assert "changes, partition 2, offset 40" in found
