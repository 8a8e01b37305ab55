"""How many rows exist follows the rate; which rows a micro-batch has follows from its offsets."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from millstream.connectors.datagen.row_stream import RowRange, RowSettings, RowStream

LIMIT = ReadMaxRows(0)
SECOND = 1_000_000


@dataclass
class Clock:
    seconds: float = 1000.0

    def __call__(self) -> float:
        return self.seconds


def stream(
    clock: Clock, rows: int | None = None, start: int | None = None, limit: int = 1000
) -> RowStream:
    return RowStream(RowSettings(100, rows, start, limit), clock, clock)


def ranges(found: RowStream, start: dict[str, int], end: dict[str, int]) -> list[RowRange]:
    return [RowRange.decoded(each.item) for each in found.partitions(start, end)]


def test_rows_exist_at_their_rate_and_a_batch_is_limited() -> None:
    clock = Clock()
    source = stream(clock, limit=150)
    first = source.initialOffset()
    assert source.latestOffset(first, LIMIT) == {"rows": 0, "base": 1000 * SECOND}
    clock.seconds += 2
    second = source.latestOffset(first, LIMIT)
    assert second == {"rows": 150, "base": 1000 * SECOND}
    assert source.latestOffset(second, ReadAllAvailable()) == {"rows": 200, "base": 1000 * SECOND}
    assert ranges(source, first, second) == [RowRange(0, 150, 1000 * SECOND)]


def test_a_large_batch_has_several_work_items() -> None:
    offsets = {"rows": 10, "base": 0}, {"rows": 250_010, "base": 0}
    sizes = [each.end - each.first for each in ranges(stream(Clock()), *offsets)]
    assert sizes == [100_000, 100_000, 50_000]


def test_a_restarted_source_does_not_generate_the_rows_of_the_time_in_between() -> None:
    clock = Clock(5000)
    source = stream(clock)
    offset = source.latestOffset({"rows": 300, "base": 1000 * SECOND}, LIMIT)
    assert offset == {"rows": 300, "base": 4997 * SECOND}  # row 300 is of now
    clock.seconds += 1
    assert source.latestOffset(offset, LIMIT) == {"rows": 400, "base": 4997 * SECOND}


def test_a_run_that_ends_generates_all_rows_or_those_of_a_second() -> None:
    for rows, start, expected in ((500, None, 500), (None, None, 100), (None, 7, 100)):
        source = stream(Clock(), rows, start)
        source.prepareForTriggerAvailableNow()
        offset = source.latestOffset(source.initialOffset(), LIMIT)
        base = 1000 * SECOND - expected * SECOND // 100 if start is None else start
        assert offset == {"rows": expected, "base": base}
        assert source.latestOffset(offset, LIMIT) == offset


def test_a_source_with_an_end_ends() -> None:
    clock = Clock()
    source = stream(clock, rows=30)
    first = source.initialOffset()
    source.latestOffset(first, LIMIT)
    clock.seconds += 60
    offset = source.latestOffset(first, LIMIT)
    assert offset["rows"] == 30
    assert source.latestOffset(offset, LIMIT) == offset
