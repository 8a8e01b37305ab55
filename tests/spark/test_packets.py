"""Packing: every group gets a packet from every chunk, and every row is counted."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from millstream.errors import RunError
from millstream.spark.packets import REJECTED, ROWS, Packing, decode, pack_chunk, packer
from millstream.temporal import Malformed, MissingTime

LABELS = (11, 22)


def chunk(times: list[int | None], groups: list[int], **columns: list[object]) -> pa.Table:
    made = {
        "_g": pa.array(groups, pa.int32()),
        "_t": pa.array(times, pa.int64()),
        "_h": pa.array(groups, pa.int64()),
        "l0": pa.array([f"row {i}" for i in range(len(times))]),
    }
    return pa.table({**made, **columns})


def packets(packing: Packing, table: pa.Table) -> list[dict[str, Any]]:
    return list(pack_chunk(packing, table).to_pylist())


def test_each_group_gets_its_rows_and_the_greatest_time_of_all() -> None:
    one, two = packets(Packing(0, "orders", LABELS), chunk([5, 9, 7], [0, 1, 0]))
    assert (one["label"], one["kind"], one["top"], one["rows"]) == (11, ROWS, 9, 3)
    assert decode(one["blob"])["l0"].to_pylist() == ["row 0", "row 2"]
    assert (two["label"], two["top"], two["rows"]) == (22, 9, 3)
    assert json.loads(one["tally"]) == {"in": 3}
    assert two["tally"] is None


def test_a_group_without_rows_still_learns_the_time() -> None:
    _, empty = packets(Packing(0, "orders", LABELS), chunk([5], [0]))
    assert (empty["top"], empty["rows"], empty["blob"]) == (5, 1, None)


def test_a_filtered_row_moves_time_and_is_counted() -> None:
    table = chunk([5, 9], [0, 0], _ms_keep=pa.array([True, False]))
    one, _ = packets(Packing(0, "orders", LABELS, filtered=True), table)
    assert (one["top"], decode(one["blob"]).num_rows) == (9, 1)
    assert json.loads(one["tally"]) == {"in": 2, "filtered": 1}


def test_a_malformed_record_is_set_aside_with_its_text() -> None:
    table = chunk([5, None], [0, 0], _ms_bad=pa.array([None, "garbage,"]))
    one, _, rejected = packets(Packing(0, "orders", LABELS, checked=True), table)
    assert json.loads(one["tally"]) == {"in": 2, "malformed": 1}
    assert rejected["kind"] == REJECTED
    assert decode(rejected["blob"]).to_pylist() == [
        {"_source": "orders", "_reason": "malformed", "_raw": "garbage,"}
    ]


def test_a_malformed_record_stops_the_job_if_told_to() -> None:
    table = chunk([5, None], [0, 0], _ms_bad=pa.array([None, "garbage,"]))
    packing = Packing(0, "orders", LABELS, checked=True, malformed=Malformed.FAIL)
    with pytest.raises(RunError) as caught:
        packets(packing, table)
    assert str(caught.value) == (
        "MS-RUN-MALFORMED: source orders holds a record that does not fit its schema: 'garbage,'. "
        "Mend the input, or set 'malformed' = 'dead_letter' to set such records aside."
    )


def test_a_row_without_time_stops_the_job_or_is_skipped_and_counted() -> None:
    table = chunk([5, None], [0, 0])
    with pytest.raises(RunError, match="MS-RUN-MISSING-TIME: source orders holds 1 row"):
        packets(Packing(0, "orders", LABELS), table)
    one, _ = packets(Packing(0, "orders", LABELS, missing_time=MissingTime.SKIP), table)
    assert json.loads(one["tally"]) == {"in": 2, "missing_time": 1}
    assert decode(one["blob"]).num_rows == 1


def test_batches_without_rows_give_no_packet() -> None:
    empty = chunk([], []).to_batches() or [pa.RecordBatch.from_pylist([], chunk([], []).schema)]
    assert list(packer(Packing(0, "orders", LABELS))(empty)) == []
