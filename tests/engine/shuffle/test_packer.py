"""PackerSpec: every group gets a packet from every chunk, and every row is counted."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from millstream.connectors.dead_letters import Rejection
from millstream.engine.shuffle.column_names import INPUTS, MAIN, ORIGIN, PAYLOAD, ROW_KIND, STATS
from millstream.engine.shuffle.format import NO_TIME, REJECTED_ROWS, ROWS, TABLES, decode
from millstream.engine.shuffle.max_ahead import MaxAhead
from millstream.engine.shuffle.packer import PackerSpec, pack_chunk, packer
from millstream.errors import RunError
from millstream.temporal import MalformedAction, MissingTime

LABELS = (11, 22)
NOW = 1_000


def chunk(times: list[int | None], groups: list[int], **columns: list[object]) -> pa.Table:
    compiled = {
        "_g": pa.array(groups, pa.int32()),
        "_t": pa.array(times, pa.int64()),
        "_h": pa.array(groups, pa.int64()),
        "l0": pa.array([f"row {i}" for i in range(len(times))]),
        "_ms_now": pa.repeat(pa.scalar(NOW, pa.int64()), len(times)),
    }
    return pa.table({**compiled, **columns})


def packets(packer_spec: PackerSpec, table: pa.Table) -> list[dict[str, Any]]:
    return list(pack_chunk(packer_spec, table).to_pylist())


def test_each_group_gets_its_rows_and_the_greatest_time_of_all() -> None:
    one, two = packets(PackerSpec(0, "orders", LABELS), chunk([5, 9, 7], [0, 1, 0]))
    assert (one["label"], one["kind"], one["max_time"], one["rows"]) == (11, ROWS, 9, 3)
    assert decode(one["payload"])["l0"].to_pylist() == ["row 0", "row 2"]
    assert (two["label"], two["max_time"], two["rows"]) == (22, 9, 3)
    assert json.loads(one["input_counts"]) == {"in": 3}
    assert two["input_counts"] is None


def test_a_group_without_rows_still_learns_the_time() -> None:
    _, empty = packets(PackerSpec(0, "orders", LABELS), chunk([5], [0]))
    assert (empty["max_time"], empty["rows"], empty["payload"]) == (5, 1, None)


def test_every_packet_has_the_processing_time_of_its_batch() -> None:
    assert [each["now"] for each in packets(PackerSpec(0, "orders", LABELS), chunk([5], [0]))] == [
        NOW,
        NOW,
    ]


def test_a_packet_has_the_greatest_time_of_each_partition() -> None:
    names = pa.array(["a", "b", "a", "c"])
    keep = pa.array([True, False, True, True])
    table = chunk([5, 9, 7, None], [0, 0, 1, 0], _ms_partition=names, _ms_keep=keep)
    packer_spec = PackerSpec(0, "orders", LABELS, has_keep_column=True, has_partition_column=True)
    one, two = packets(replace(packer_spec, missing_time=MissingTime.SKIP), table)
    assert json.loads(one["partitions"]) == {"a": 7, "b": 9, "c": None}
    assert two["partitions"] == one["partitions"]
    assert decode(one["payload"]).column_names == ["_t", "_h", "l0"]
    assert packets(PackerSpec(0, "orders", LABELS), chunk([5], [0]))[0]["partitions"] is None


def test_a_filtered_row_moves_time_and_is_counted() -> None:
    table = chunk([5, 9], [0, 0], _ms_keep=pa.array([True, False]))
    one, _ = packets(PackerSpec(0, "orders", LABELS, has_keep_column=True), table)
    assert (one["max_time"], decode(one["payload"]).num_rows) == (9, 1)
    assert json.loads(one["input_counts"]) == {"in": 2, "filtered": 1}


def test_a_row_whose_lookup_failed_is_not_counted_as_filtered() -> None:
    def report(number: int, failed: int) -> tuple[int, int, bytes]:
        text = json.dumps({"table": "names", "counts": {"failed_rows": failed}})
        return STATS, TABLES + number, text.encode()

    said = [(MAIN, None, None)] * 3 + [report(0, 5), report(1, 1)]
    beside = {
        name: pa.array(values, kind)
        for name, values, kind in zip(
            (ROW_KIND, ORIGIN, PAYLOAD),
            zip(*said, strict=True),
            (pa.int8(), pa.int32(), pa.binary()),
            strict=True,
        )
    }
    keep = pa.array([True, False, False, None, None])
    table = chunk([5, 9, 9, None, None], [0] * 5, _ms_keep=keep, **beside)
    packer_spec = PackerSpec(
        0, "orders", LABELS, has_keep_column=True, has_side_rows=True, table_joins=(1,)
    )
    one = packets(packer_spec, table)[0]
    assert json.loads(one["input_counts"]) == {"in": 3, "filtered": 1, "lookup_failed": 1}


def test_a_row_for_which_an_expression_fails_is_counted_apart_and_does_not_stop_a_source() -> None:
    failed = Rejection("failed_expression", "1 / n failed: division by zero.", "{}", "1 / n")
    table = chunk([5, None], [0, 0], _ms_bad=pa.array([None, failed.encode()]))
    spec = PackerSpec(0, "orders", LABELS, has_bad_records=True, malformed=MalformedAction.FAIL)
    one, _, rejected = packets(spec, table)
    assert json.loads(one["input_counts"]) == {"in": 2, "malformed": 0, "failed_expression": 1}
    [letter] = decode(rejected["payload"]).to_pylist()
    assert (letter["_source"], letter["_column"]) == ("orders", "1 / n")


def test_a_malformed_record_becomes_a_dead_letter_with_its_place_and_the_processing_time() -> None:
    bad = Rejection("malformed", "column id: 'x' is not an INT.", "x,", "id", "x", "/in/a.csv", 7)
    table = chunk([5, None], [0, 0], _ms_bad=pa.array([None, bad.encode()]))
    one, _, rejected = packets(PackerSpec(0, "orders", LABELS, has_bad_records=True), table)
    assert json.loads(one["input_counts"]) == {"in": 2, "malformed": 1}
    assert rejected["kind"] == REJECTED_ROWS
    assert decode(rejected["payload"]).to_pylist() == [
        {
            "_source": "orders",
            "_reason": "malformed",
            "_message": "column id: 'x' is not an INT.",
            "_raw": "x,",
            "_column": "id",
            "_value": "x",
            "_file": "/in/a.csv",
            "_line": 7,
            "_time": datetime.fromtimestamp(NOW / 1e6, UTC),
        }
    ]


def test_with_fail_the_error_names_file_line_column_and_value() -> None:
    bad = Rejection("malformed", "column id: 'x' is not an INT.", "x,", "id", "x", "/in/a.csv", 7)
    table = chunk([None], [0], _ms_bad=pa.array([bad.encode()]))
    with pytest.raises(RunError) as stopped:
        packets(
            PackerSpec(0, "orders", LABELS, has_bad_records=True, malformed=MalformedAction.FAIL),
            table,
        )
    assert str(stopped.value) == (
        "MS-RUN-MALFORMED: source orders: /in/a.csv, line 7: column id: 'x' is not an INT. "
        "Correct the input, or set 'malformed' = 'dead_letter' to continue without such records."
    )


def test_a_row_without_time_stops_the_job_or_is_skipped_and_counted() -> None:
    table = chunk([5, None], [0, 0])
    with pytest.raises(RunError, match="MS-RUN-MISSING-TIME: source orders has 1 row"):
        packets(PackerSpec(0, "orders", LABELS), table)
    one, _ = packets(PackerSpec(0, "orders", LABELS, missing_time=MissingTime.SKIP), table)
    assert json.loads(one["input_counts"]) == {"in": 2, "missing_event_time": 1}
    assert decode(one["payload"]).num_rows == 1


def test_batches_without_rows_give_no_packet() -> None:
    empty = chunk([], []).to_batches() or [pa.RecordBatch.from_pylist([], chunk([], []).schema)]
    assert list(packer(PackerSpec(0, "orders", LABELS))(empty)) == []


def limited(limit: int, **is_changelog: Any) -> PackerSpec:
    ahead = MaxAhead("orders", "at", limit, (("_t", "at", True), ("l0", "name", False)))
    return replace(PackerSpec(0, "orders", LABELS, max_ahead=ahead), **is_changelog)


def test_a_row_ahead_of_time_is_rejected_and_does_not_move_the_watermark() -> None:
    poison = 4_102_444_800_000_000  # 2100-01-01
    table = chunk([5, poison, NOW + 10], [0, 0, 1])
    one, _, rejected = packets(limited(10), table)
    assert (one["max_time"], json.loads(one["input_counts"])) == (
        NOW + 10,
        {"in": 3, "ahead_of_time": 1},
    )
    [letter] = decode(rejected["payload"]).to_pylist()
    assert letter.pop("_time") == datetime(1970, 1, 1, 0, 0, 0, NOW, UTC)
    assert {name: value for name, value in letter.items() if value is not None} == {
        "_source": "orders",
        "_reason": "ahead_of_time",
        "_message": "at = 2100-01-01T00:00:00Z is more than 10us ahead of processing time, "
        "1970-01-01T00:00:00.001Z.",
        "_raw": '{"at":"2100-01-01T00:00:00Z","name":"row 1"}',
        "_column": "at",
        "_value": "2100-01-01T00:00:00Z",
    }


def test_a_row_far_in_the_past_is_not_ahead_of_time() -> None:
    one, _ = packets(limited(1), chunk([-(10**15), 0], [0, 0]))
    assert json.loads(one["input_counts"]) == {"in": 2}


def test_a_chunk_of_nothing_but_rows_ahead_of_time_says_nothing_of_the_watermark() -> None:
    one, two, rejected = packets(limited(1), chunk([NOW + 2, NOW + 3], [0, 1]))
    assert (one["max_time"], one["payload"], two["payload"]) == (NO_TIME, None, None)
    assert decode(rejected["payload"]).num_rows == 2


def test_a_filtered_row_ahead_of_time_is_rejected_since_it_would_move_the_watermark() -> None:
    table = chunk([5, NOW + 99], [0, 0], _ms_keep=pa.array([True, False]))
    one, _, _ = packets(limited(1, has_keep_column=True), table)
    assert (one["max_time"], json.loads(one["input_counts"])) == (
        5,
        {"in": 2, "ahead_of_time": 1, "filtered": 0},
    )


@pytest.mark.parametrize("time", [2**62, 2**63 - 1, 253_402_300_800_000_000])
def test_times_that_have_no_date_are_named_by_their_microseconds_or_date(time: int) -> None:
    [*_, rejected] = packets(limited(1), chunk([5, time], [0, 0]))
    [letter] = decode(rejected["payload"]).to_pylist()
    assert letter["_value"] in (str(time), "+10000-01-01T00:00:00Z")


def test_a_result_of_an_operator_that_is_filtered_out_needs_no_time() -> None:
    table = chunk(
        [None, 9, None],
        [0, 0, 0],
        _ms_keep=pa.array([False, True, False]),
        _ms_row_kind=pa.array([0, 0, 3], pa.int8()),
        _ms_origin=pa.array([None, None, INPUTS], pa.int32()),
        _ms_payload=pa.array(
            [None, None, b'{"watermark_after": 8, "is_idle": false}'], pa.binary()
        ),
    )
    packer_spec = PackerSpec(0, "s", LABELS, has_keep_column=True, upstream=1, has_side_rows=True)
    one, *_ = packets(packer_spec, table)
    assert (one["max_time"], decode(one["payload"])["_t"].to_pylist()) == (8, [9])
    assert json.loads(one["input_counts"]) == {"in": 2, "filtered": 1}
