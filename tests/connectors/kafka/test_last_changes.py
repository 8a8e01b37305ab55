"""Of the changes of a key in a batch, the last is written."""

from __future__ import annotations

from unittest.mock import patch

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millstream.connectors.kafka import last_changes
from millstream.connectors.kafka.last_changes import LastChanges
from millstream.connectors.kafka.writers import KEY, VALUE

CHANGES = st.lists(st.lists(st.tuples(st.sampled_from("abc"), st.none() | st.integers(0, 3))))


@given(batches=CHANGES, few=st.integers(0, 9))
def test_the_last_change_of_each_key_is_left_in_its_order(
    batches: list[list[tuple[str, int | None]]], few: int
) -> None:
    changes = LastChanges(_limit=few)
    with patch.object(last_changes, "_FEW", few):
        for rows in batches:
            keys, values = [key for key, _ in rows], [value for _, value in rows]
            arrays = [pa.array(keys, pa.string()), pa.array(values, pa.int64())]
            changes.add(pa.RecordBatch.from_arrays(arrays, [KEY, VALUE]))
    found = [(row[KEY], row[VALUE]) for batch in changes.take() for row in batch.to_pylist()]
    expected: dict[str, int | None] = {}
    for key, value in (each for rows in batches for each in rows):
        expected.pop(key, None)
        expected[key] = value
    assert found == list(expected.items())
    assert list(changes.take()) == []
