"""The prefix of a value names its schema."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.connectors.kafka.formats.wire_format import prefix_of, read_prefix

IDS = st.integers(0, 2**31 - 1)


@given(IDS, st.binary(max_size=4))
def test_a_prefix_of_avro_is_read_back(number: int, record: bytes) -> None:
    found = read_prefix(prefix_of(number) + record, has_message=False)
    assert found == (number, (), 5)


@given(IDS, st.lists(st.integers(0, 300), min_size=1, max_size=4).map(tuple), st.binary(max_size=4))
def test_a_prefix_of_protobuf_is_read_back(
    number: int, message: tuple[int, ...], record: bytes
) -> None:
    prefix = prefix_of(number, message)
    assert read_prefix(prefix + record, has_message=True) == (number, message, len(prefix))


def test_the_first_message_of_a_file_is_one_byte() -> None:
    assert prefix_of(1, (0,)) == b"\0\0\0\0\1\0"
    assert prefix_of(1, (1, 0)) == b"\0\0\0\0\1\x04\x02\0"  # zigzag: 2 indexes, 1 and 0


@pytest.mark.parametrize(
    "value", [b"", b"\0\0\0\0", b"\1\0\0\0\1abc", b"\0\0\0\0\1\x04", b"\0\0\0\0\1\x03", b'{"a":1}']
)
def test_other_values_have_no_prefix(value: bytes) -> None:
    assert read_prefix(value, has_message=True) is None
