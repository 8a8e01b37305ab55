"""Kinds of changes after a filter: what leaves the result is `-D`, what enters it `+I`."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from millstream.engine.compile.filtered_changes import adjust_changes, kinds
from millstream.kernels.core.kernel import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE

NO_ROW = -1


def adjusted(ops: list[int], passes: list[bool]) -> list[int]:
    return list(kinds(np.array(ops, np.int8), np.array(passes, np.bool_)).tolist())


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (True, True, [UPDATE_BEFORE, UPDATE_AFTER]),
        (True, False, [DELETE, INSERT]),
        (False, True, [DELETE, INSERT]),
    ],
    ids=["stays", "leaves", "enters"],
)
def test_a_change_by_what_the_filter_keeps(old: bool, new: bool, expected: list[int]) -> None:
    assert adjusted([UPDATE_BEFORE, UPDATE_AFTER], [old, new]) == expected


def test_old_values_come_before_the_new_ones_of_several_groups() -> None:
    ops = [
        INSERT,
        UPDATE_BEFORE,
        UPDATE_BEFORE,
        UPDATE_AFTER,
        UPDATE_AFTER,
        UPDATE_BEFORE,
        UPDATE_AFTER,
        DELETE,
    ]
    passes = [True, True, True, True, False, False, True, True]
    assert adjusted(ops, passes) == [
        INSERT,
        UPDATE_BEFORE,
        DELETE,
        UPDATE_AFTER,
        INSERT,
        DELETE,
        INSERT,
        DELETE,
    ]


def test_values_without_a_partner_are_deletes_and_inserts() -> None:
    assert adjusted([UPDATE_BEFORE, UPDATE_BEFORE, UPDATE_AFTER], [True] * 3) == [
        DELETE,
        DELETE,
        INSERT,
    ]
    assert adjusted([UPDATE_AFTER, NO_ROW, UPDATE_BEFORE], [True] * 3) == [INSERT, NO_ROW, DELETE]
    assert adjusted([], []) == []


def test_pairs_may_be_cut_by_batches_anywhere() -> None:
    rng = random.Random(7)
    for _ in range(50):
        ops: list[int | None] = []
        for _ in range(rng.randint(1, 5)):
            many = rng.randint(1, 3)
            ops += rng.choice(
                [
                    [UPDATE_BEFORE] * many + [UPDATE_AFTER] * many,
                    [INSERT] * many,
                    [DELETE] * many,
                    [None],
                ]
            )
        passes = [rng.random() < 0.5 for _ in ops]
        table = pa.table(
            {
                "id": pa.array(range(len(ops))),
                "_ms_change": pa.array(ops, pa.int8()),
                "_ms_keep": pa.array(passes),
            }
        )
        whole = pa.Table.from_batches(adjust_changes(table.to_batches()))
        cut = pa.Table.from_batches(
            adjust_changes(table.to_batches(max_chunksize=rng.randint(1, 4)))
        )
        assert cut.to_pydict() == whole.to_pydict()
        assert whole["id"].to_pylist() == list(range(len(ops)))


def test_only_the_copies_of_one_output_are_changed() -> None:
    """Of several outputs, the copies of a row follow each other."""
    ops = [UPDATE_BEFORE, UPDATE_BEFORE, UPDATE_AFTER, UPDATE_AFTER, None]
    table = pa.table(
        {
            "_ms_change": pa.array(ops, pa.int8()),
            "_ms_keep": pa.array([True, True, False, True, False]),
            "_ms_output": pa.array([0, 1, 0, 1, None], pa.int32()),
        }
    )
    found = [
        pa.Table.from_batches(list(adjust_changes(table.to_batches(), output=output)))["_ms_change"]
        for output in (0, 1)
    ]
    assert found[0].to_pylist() == [DELETE, UPDATE_BEFORE, INSERT, UPDATE_AFTER, None]
    assert found[1].to_pylist() == ops
