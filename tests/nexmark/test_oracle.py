"""The oracle on a few events that can be followed by hand."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from bench.nexmark.columns import COLUMNS
from bench.nexmark.expected import Oracle
from bench.nexmark.options import Options
from bench.nexmark.suite import QUERIES
from bench.nexmark.write import Data, write

BEGIN = datetime(2026, 1, 1)  # noqa: DTZ001 -- as it stands in the files


def at(seconds: float) -> datetime:
    return BEGIN + timedelta(seconds=seconds)


def person(number: int, seconds: float, state: str = "OR") -> dict[str, object]:
    return {"id": number, "name": f"P{number}", "state": state, "dateTime": at(seconds)}


def auction(number: int, seconds: float, until: float, seller: int = 1) -> dict[str, object]:
    times = {"dateTime": at(seconds), "expires": at(until)}
    return {"id": number, "seller": seller, "category": 10, **times}


def bid(on: int, seconds: float, price: int, bidder: int = 1) -> dict[str, object]:
    times = {
        "dateTime": at(seconds),
        "extra": "ccc",
        "channel": "Apple",
        "url": "https://h/a/b/c/d",
    }
    return {"auction": on, "bidder": bidder, "price": price, **times}


def answers(folder: Path, name: str, **rows: list[dict[str, object]]) -> list[tuple[Any, ...]]:
    """The oracle's rows over these events, sorted."""
    types: dict[str, pl.DataType] = {
        "BIGINT": pl.Int64(),
        "STRING": pl.String(),
        "TIMESTAMP": pl.Datetime("us"),
    }
    for kind, columns in COLUMNS.items():
        (folder / kind).mkdir()
        schema = {column: types[type_] for column, type_ in columns.items()}
        pl.DataFrame(rows.get(kind, []), schema).write_parquet(folder / kind / "0.parquet")
    oracle = Oracle(Data(folder, Options(1), 1, "parquet"))
    result = oracle.result(QUERIES[name]).rows()
    oracle.close()
    return sorted(result, key=repr)


def test_q3_takes_any_time_between_person_and_auction(tmp_path):
    rows = answers(
        tmp_path,
        "q3",
        person=[person(1, 0), person(2, 0, "WA")],
        auction=[auction(7, 9_999, 10_000, seller=1), auction(8, 0, 1, seller=2)],
    )
    assert rows == [("P1", None, "OR", 7)]


def test_q4_takes_bids_from_the_beginning_of_an_auction_to_its_end_inclusive(tmp_path):
    bids = [bid(1, 10, 100), bid(1, 20, 301), bid(1, 9.9, 900), bid(1, 20.1, 900), bid(2, 15, 200)]
    rows = answers(
        tmp_path, "q4", auction=[auction(1, 10, 20), auction(2, 10, 20), auction(3, 0, 9)], bid=bids
    )
    assert rows == [(10, 250)]


def test_q5_tells_all_that_have_as_many_bids_as_the_first(tmp_path):
    rows = answers(tmp_path, "q5", bid=[bid(1, 0.5, 1), bid(2, 1, 1), bid(1, 3, 1), bid(3, 3, 1)])
    # Windows that begin at -8, -6, -4, -2 and 0 hold the first two; all but the first the others.
    assert rows == [(1, 1), (1, 1), (1, 2), (1, 2), (1, 2), (1, 2), (2, 1), (3, 1)]


def test_q6_averages_the_last_ten_closing_prices_of_a_seller(tmp_path):
    closing = [auction(number, number, number + 0.5) for number in range(12)]
    bids = [bid(number, number, 100 * number) for number in range(12)]
    rows = answers(tmp_path, "q6", auction=closing, bid=[*bids, bid(3, 3.1, 1)])
    prices = [100 * number for number in range(12)]
    lasts = [prices[max(0, number - 9) : number + 1] for number in range(12)]
    assert sorted(row[1] for row in rows) == sorted(sum(last) // len(last) for last in lasts)


def test_q7_gives_a_bid_at_the_end_of_a_window_to_both(tmp_path):
    rows = answers(tmp_path, "q7", bid=[bid(1, 1, 5), bid(2, 2, 5), bid(3, 10, 5), bid(4, 3, 4)])
    assert [row[0] for row in rows] == [1, 2, 3, 3]


def test_q8_joins_within_the_same_ten_seconds(tmp_path):
    rows = answers(
        tmp_path,
        "q8",
        person=[person(1, 1), person(2, 9)],
        auction=[auction(1, 2, 3), auction(2, 3, 4), auction(3, 10, 11, seller=2)],
    )
    assert rows == [(1, "P1", at(0))]


def test_q9_lets_the_first_of_equal_bids_win(tmp_path):
    bids = [bid(1, 12, 7, bidder=2), bid(1, 11, 7, bidder=1), bid(1, 13, 6), bid(1, 30, 9)]
    rows = answers(tmp_path, "q9", auction=[auction(1, 10, 20), auction(2, 10, 20)], bid=bids)
    assert [row[10:13] for row in rows] == [(1, 1, 7)]


def test_q11_ends_a_session_after_more_than_ten_seconds(tmp_path):
    rows = answers(tmp_path, "q11", bid=[bid(1, 0, 1), bid(1, 10, 1), bid(1, 20.1, 1)])
    assert rows == [(1, 1, at(20.1), at(30.1)), (1, 2, at(0), at(20))]


def test_q19_numbers_the_ten_highest(tmp_path):
    rows = answers(tmp_path, "q19", bid=[bid(1, n, 100 + n // 2) for n in range(12)])
    assert sorted((row[-1], row[2], row[5]) for row in rows)[:3] == [
        (1, 105, at(10)),
        (2, 105, at(11)),
        (3, 104, at(8)),
    ]
    assert len(rows) == 10


def test_q21_leaves_out_channels_without_an_id(tmp_path):
    urls = ("https://h/a?q=1&channel_id=77", "https://h/a?q=1", "https://h/a?q=1&channel_id=5&x=y")
    bids = [bid(1, n, 1) | {"channel": f"channel-{n}", "url": url} for n, url in enumerate(urls)]
    rows = answers(tmp_path, "q21", bid=[*bids, bid(1, 9, 1)])
    assert [row[3:] for row in rows] == [("Apple", "0"), ("channel-0", "77"), ("channel-2", "5")]


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Oracle:
    return Oracle(write(Options(5_000, rate=500), tmp_path_factory.mktemp("nexmark") / "data"))


@pytest.mark.parametrize("query", QUERIES.values(), ids=lambda query: query.name)
def test_every_query_has_an_answer(query, oracle):
    assert oracle.result(query).height > 0


def test_answers_do_not_depend_on_the_format(tmp_path, oracle):
    for form in ("csv", "json"):
        other = Oracle(write(Options(5_000, rate=500), tmp_path / form, form=form))
        for name in ("q9", "q13", "q16", "q21"):
            one, two = (each.result(QUERIES[name]) for each in (oracle, other))
            assert one.sort(one.columns).equals(two.sort(two.columns))
