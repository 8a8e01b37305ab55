"""Results and rows of outputs that pass other operators as packets."""

from __future__ import annotations

import pyarrow as pa

from millstream.engine.compile.relay import relay_function
from millstream.engine.shuffle.column_names import (
    INPUTS,
    LATE,
    MAIN,
    ORIGIN,
    OUTPUT,
    OUTPUT_ROWS,
    PAYLOAD,
    RELAYED,
    ROW_KIND,
    STATS,
    output_column,
)
from millstream.engine.shuffle.format import decode, encode

RESULTS = pa.schema(
    [("n", pa.int64()), (ROW_KIND, pa.int8()), (ORIGIN, pa.int32()), (PAYLOAD, pa.binary())]
)


def batch(
    rows: list[tuple[int | None, int | None, int, int | None, bytes | None]],
) -> pa.RecordBatch:
    labels, values, ports, origins, blobs = zip(*rows, strict=True)
    structs = [None if value is None else {"x": value} for value in values]
    return pa.RecordBatch.from_arrays(
        [
            pa.array(labels, pa.int32()),
            pa.array(structs, pa.struct([("x", pa.int64())])),
            pa.array([None] * len(rows), pa.struct([("y", pa.string())])),
            pa.array(ports, pa.int8()),
            pa.array(origins, pa.int32()),
            pa.array(blobs, pa.binary()),
        ],
        names=[OUTPUT, output_column(0), output_column(1), ROW_KIND, ORIGIN, PAYLOAD],
    )


def opened(given: pa.RecordBatch, later: frozenset[int] = frozenset()) -> list[dict[str, object]]:
    found = pa.Table.from_batches(list(relay_function(2, RESULTS, later)([given])), RESULTS)
    return list(found.to_pylist())


def test_results_are_opened_and_rows_of_outputs_become_packets() -> None:
    results = encode(pa.table({"n": [7, 8]}))
    found = opened(
        batch(
            [
                (0, 1, MAIN, None, None),
                (-1, None, RELAYED, 2 * INPUTS, results),
                (0, 2, MAIN, None, None),
                (-1, None, STATS, 0, b"{}"),
                (None, None, LATE, 1, b"late"),
            ]
        )
    )
    assert [row["n"] for row in found if row[ROW_KIND] == MAIN] == [7, 8]
    [written] = [row for row in found if row[ROW_KIND] == OUTPUT_ROWS]
    assert written[ORIGIN] == 0
    assert decode(written[PAYLOAD]).to_pydict() == {"x": [1, 2]}  # type: ignore[arg-type]
    assert {(row[ROW_KIND], row[PAYLOAD]) for row in found} >= {(STATS, b"{}"), (LATE, b"late")}
    assert len(found) == 5


def test_results_of_other_operators_pass_only_if_they_are_read_later() -> None:
    given = batch(
        [
            (-1, None, RELAYED, number * INPUTS, encode(pa.table({"n": [number]})))
            for number in (1, 2, 3)
        ]
    )
    assert [row["n"] for row in opened(given)] == [2]
    relayed = [row for row in opened(given, frozenset({2, 3})) if row[ROW_KIND] == RELAYED]
    assert [row[ORIGIN] for row in relayed] == [2 * INPUTS, 3 * INPUTS]


def test_a_batch_without_rows_gives_none() -> None:
    assert opened(batch([(0, 1, MAIN, None, None)]).slice(0, 0)) == []
