"""A generated value depends on seed, column and row number only, and has the given distribution."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from millstream.connectors.datagen.fields import fields_of
from millstream.connectors.datagen.values import FieldValues, Generator
from millstream.connectors.dead_letters import BAD

TYPES = {
    "id": ("BIGINT", pa.int64()),
    "small": ("TINYINT", pa.int8()),
    "price": ("DECIMAL(6, 2)", pa.decimal128(6, 2)),
    "x": ("DOUBLE", pa.float64()),
    "name": ("STRING", pa.string()),
    "raw": ("BINARY", pa.binary()),
    "ok": ("BOOLEAN", pa.bool_()),
    "t": ("TIMESTAMP", pa.timestamp("us", "UTC")),
    "local": ("TIMESTAMP_NTZ", pa.timestamp("us")),
    "day": ("DATE", pa.date32()),
}


def generator(seed: str = "0", **options: str) -> Generator:
    """Options are written as `price__null_rate`."""
    given = {
        f"fields.{name.replace('__', '.').replace('_', '.')}": value
        for name, value in options.items()
    }
    fields = fields_of([(name, sql) for name, (sql, _) in TYPES.items()], given)
    columns = tuple(FieldValues(each, TYPES[each.name][1], int(seed)) for each in fields)
    return Generator(columns, step=1000.0)


def column(name: str, **options: str) -> list[Any]:
    rows = int(options.pop("rows", "20000"))
    found = generator(**options).rows([name], 0, rows, 0)
    assert found.schema.field(name).type == TYPES[name][1]
    return found.column(name).to_pylist()  # type: ignore[no-any-return]


def test_rows_are_the_same_whatever_range_they_are_generated_in() -> None:
    names = list(TYPES)
    whole = generator("3").rows(names, 0, 1000, 7)
    parts = [generator("3").rows(names, first, first + 250, 7) for first in range(0, 1000, 250)]
    assert pa.Table.from_batches(parts).equals(pa.Table.from_batches([whole]))
    assert whole.column(BAD).null_count == 1000


def test_another_seed_gives_other_rows_and_columns_are_independent() -> None:
    names = ["id", "name", "x"]
    assert not generator("1").rows(names, 0, 100, 0).equals(generator("2").rows(names, 0, 100, 0))
    ids, xs = column("id", id__max="9"), column("x")
    bits = Counter((number < 5, x < 0.5) for number, x in zip(ids, xs, strict=True))
    assert all(abs(count - 5_000) < 300 for count in bits.values())


def test_numbers_are_within_their_limits_and_uniform() -> None:
    found = Counter(column("id", id__min="-2", id__max="2"))
    assert sorted(found) == [-2, -1, 0, 1, 2]
    assert all(abs(count - 4_000) < 300 for count in found.values())
    assert {*column("small")} == {*range(128)}
    assert str(min(column("price", price__min="0.50", price__max="0.52"))) == "0.50"
    everything = column("id", id__min=str(-(2**63)), id__max=str(2**63 - 1))
    assert sum(number < 0 for number in everything) == pytest.approx(10_000, abs=400)


def test_distributions_have_the_given_parameters() -> None:
    options = {"x__min": "-100", "x__max": "200", "x__mean": "10"}
    normal = column("x", x__distribution="normal", x__stddev="3", **options)
    mean = sum(normal) / len(normal)
    assert mean == pytest.approx(10, abs=0.1)
    assert math.sqrt(sum((x - mean) ** 2 for x in normal) / len(normal)) == pytest.approx(
        3, abs=0.1
    )
    options |= {"x__min": "0"}
    exponential = column("x", x__distribution="exponential", **options)
    assert sum(exponential) / len(exponential) == pytest.approx(10, abs=0.3)
    assert sum(x < 10 * math.log(2) for x in exponential) == pytest.approx(10_000, abs=400)


def test_zipf_makes_the_first_value_the_most_frequent() -> None:
    found = Counter(column("id", id__min="1", id__max="4", id__distribution="zipf"))
    total = 1 + 1 / 2 + 1 / 3 + 1 / 4
    for value in range(1, 5):
        assert found[value] == pytest.approx(20_000 / value / total, rel=0.1)
    words = Counter(column("name", name__values="a, b", name__distribution="zipf", name__skew="2"))
    assert words["a"] == pytest.approx(16_000, abs=400)


def test_strings_have_a_length_or_are_numbers_or_given_values() -> None:
    assert {len(text) for text in column("name", name__length="11")} == {11}
    assert len(set(column("name", name__length="11"))) == 20_000
    assert {*column("name", name__min="3", name__max="5")} == {"3", "4", "5"}
    assert {*column("name", name__values="red, green")} == {"red", "green"}
    assert column("name", rows="3", name__kind="sequence", name__start="7") == ["7", "8", "9"]
    assert {len(raw) for raw in column("raw", raw__length="3")} == {3}


def test_a_sequence_counts_and_nulls_have_their_rate() -> None:
    assert column("id", rows="3", id__kind="sequence", id__start="-1") == [-1, 0, 1]
    assert column("price", rows="2", price__kind="sequence", price__start="1.5") == [
        Decimal("1.50"),
        Decimal("1.51"),
    ]
    missing = sum(value is None for value in column("ok", ok__null_rate="0.25"))
    assert missing == pytest.approx(5_000, abs=300)


def test_times_advance_with_rows_or_are_up_to_a_duration_behind() -> None:
    rows = generator().rows(["t", "local", "day"], 1000, 1003, 86_400_000_000)
    assert rows.column("t").cast(pa.int64()).to_pylist() == [
        86_401_000_000 + n * 1000 for n in range(3)
    ]
    assert str(rows.column("local")[0].as_py()) == "1970-01-02 00:00:01"
    assert [str(each) for each in rows.column("day").to_pylist()] == ["1970-01-02"] * 3
    rows = generator(t__max_past="5s").rows(["t"], 0, 20_000, 0)
    behind = pc.subtract(pa.array(range(0, 20_000_000, 1000)), rows.column("t").cast(pa.int64()))
    assert (pc.min(behind).as_py() >= 0, pc.max(behind).as_py() <= 5_000_000) == (True, True)
    assert pc.mean(behind).as_py() == pytest.approx(2_500_000, rel=0.02)
