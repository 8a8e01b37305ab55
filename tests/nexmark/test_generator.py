"""The generator: the same options give the same events, as NEXMark describes them."""

from __future__ import annotations

import hashlib
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from bench.nexmark.columns import COLUMNS
from bench.nexmark.events import KINDS, Generator
from bench.nexmark.options import FIRST_ID, HOT, LEAD, Options
from bench.nexmark.write import FORMATS, SIDE_INPUT, read, write
from polars.testing import assert_frame_equal

EVENTS = 20_000
SECOND = 1_000_000


def made(options: Options, cuts: int = 1) -> dict[str, pl.DataFrame]:
    """All events by kind, made in so many slices."""
    generator = Generator(options)
    edges = [options.events * n // cuts for n in range(cuts + 1)]
    slices = [generator.slice(*edge) for edge in pairwise(edges)]
    return {kind: pl.concat([each[kind] for each in slices]) for kind in KINDS}


@pytest.fixture(scope="module")
def events() -> dict[str, pl.DataFrame]:
    return made(Options(EVENTS, rate=1_000))


def test_of_fifty_events_one_is_a_person_three_are_auctions_and_the_rest_bids(events):
    assert {kind: frame.height for kind, frame in events.items()} == {
        "person": EVENTS // 50,
        "auction": EVENTS // 50 * 3,
        "bid": EVENTS // 50 * 46,
    }


def test_columns_are_those_that_queries_declare(events):
    kinds = {pl.Int64(): "BIGINT", pl.String(): "STRING", pl.Datetime("us"): "TIMESTAMP"}
    for kind, frame in events.items():
        assert {name: kinds[of] for name, of in frame.schema.items()} == COLUMNS[kind]
        assert frame.null_count().sum_horizontal().item() == 0


@pytest.mark.parametrize("disorder", [0, 700_000, 2 * SECOND])
def test_events_do_not_depend_on_how_they_are_cut(disorder):
    options = Options(5_000, rate=1_000, disorder=disorder)
    whole = made(options)
    for cuts in (2, 7, 50):
        for kind, frame in made(options, cuts).items():
            assert_frame_equal(frame, whole[kind])


@pytest.mark.parametrize("form", FORMATS)
def test_the_same_options_give_the_same_bytes(tmp_path: Path, form):
    digests = []
    for name in ("one", "two"):
        write(Options(3_000, disorder=SECOND), tmp_path / name, files=3, form=form)
        files = sorted(path for path in (tmp_path / name).rglob("*") if path.is_file())
        assert len(files) == 3 * 3 + 2
        digests.append([hashlib.sha256(path.read_bytes()).hexdigest() for path in files])
    assert digests[0] == digests[1]


def test_another_seed_gives_other_events():
    one, two = (made(Options(500, seed=seed))["bid"] for seed in (1, 2))
    assert one["dateTime"].equals(two["dateTime"])
    for name in ("auction", "bidder", "price", "channel", "extra"):
        assert not one[name].equals(two[name])


def test_file_i_of_each_kind_holds_the_same_slice(tmp_path: Path):
    data = write(Options(1_000, rate=1_000), tmp_path / "data", files=4)
    for kind in KINDS:
        for number in range(4):
            frame = pl.read_parquet(data.folder / kind / f"{number:05d}.parquet")
            millis = (frame["dateTime"].dt.epoch("us") - data.options.begin) // 1_000
            assert millis.is_between(number * 250, number * 250 + 249).all()


def test_files_are_taken_in_the_order_of_their_numbers(tmp_path: Path):
    data = write(Options(1_000), tmp_path / "data", files=6)
    for kind in KINDS:
        files = sorted((data.folder / kind).iterdir(), key=lambda path: path.stat().st_mtime_ns)
        assert [path.name for path in files] == [f"{number:05d}.parquet" for number in range(6)]


def test_files_of_all_formats_hold_the_same_rows(tmp_path: Path):
    readers = {
        "parquet": pl.read_parquet,
        "csv": lambda path: pl.read_csv(
            path,
            has_header=False,
            new_columns=list(COLUMNS[path.parent.name]),
            try_parse_dates=True,
        ),
        "json": pl.read_ndjson,
    }
    for kind in (*KINDS, SIDE_INPUT):
        frames = {}
        for form in FORMATS:
            folder = tmp_path / form
            if not folder.exists():
                write(Options(2_000), folder, files=1, form=form)
            frame = readers[form](next((folder / kind).iterdir()))
            times = [name for name, type_ in COLUMNS[kind].items() if type_ == "TIMESTAMP"]
            frames[form] = frame.with_columns(
                pl.col(name).str.to_datetime(time_unit="us")
                if frame[name].dtype == pl.String
                else pl.col(name).dt.cast_time_unit("us")
                for name in times
            ).cast({name: pl.String for name, type_ in COLUMNS[kind].items() if type_ == "STRING"})
        assert_frame_equal(frames["csv"], frames["parquet"])
        assert_frame_equal(frames["json"], frames["parquet"])


def test_how_files_were_made_is_written_beside_them(tmp_path: Path):
    data = write(Options(100, seed=7, rate=50), tmp_path / "data", files=2, form="csv")
    assert read(tmp_path / "data") == data


def test_events_by_kind_are_known_without_reading_them(tmp_path: Path):
    for count in (1, 3, 50, 51, 53, 54, 99, 1_234):
        data = write(Options(count), tmp_path / str(count), files=1)
        assert data.counts() == {kind: frame.height for kind, frame in made(Options(count)).items()}


def test_no_two_events_have_the_same_time(events):
    times = pl.concat([frame["dateTime"] for frame in events.values()])
    assert times.n_unique() == EVENTS
    assert (times.max() - times.min()).total_seconds() == pytest.approx(EVENTS / 1_000, abs=0.01)


def test_events_come_in_order_by_default(events):
    assert all(frame["dateTime"].is_sorted() for frame in events.values())


@pytest.mark.parametrize("disorder", [SECOND // 2, 4 * SECOND])
def test_no_event_comes_later_than_the_disorder_allows(disorder):
    numbers = Generator(options := Options(EVENTS, rate=1_000, disorder=disorder)).arrivals(
        0, EVENTS
    )
    assert sorted(numbers) == list(range(EVENTS))
    times = numbers * SECOND // options.rate
    late = np.maximum.accumulate(times) - times
    assert 0.9 * disorder < late.max() < disorder


def test_bids_and_auctions_name_what_is_there_or_about_to_come(events):
    """As near as the bounds say that queries rely on."""
    options = Options(EVENTS, rate=1_000)
    persons, auctions, bids = (events[kind] for kind in KINDS)
    begun = auctions.select(auction="id", begun="dateTime")
    after = bids.join(begun, on="auction").select(
        (pl.col("dateTime") - pl.col("begun")).dt.total_microseconds()
    )
    assert after.height > 0.99 * bids.height
    assert after.to_series().is_between(-options.bids_before, options.bids_after).all()
    joined = persons.select(person="id", joined="dateTime")
    for frame, column in ((auctions, "seller"), (bids, "bidder")):
        after = frame.join(joined, left_on=column, right_on="person").select(
            (pl.col("dateTime") - pl.col("joined")).dt.total_microseconds()
        )
        assert after.height > 0.95 * frame.height
        assert after.to_series().is_between(-options.acts_before, options.acts_after).all()
    last = persons["id"].max()
    assert last < bids["bidder"].max() <= last + LEAD


def test_no_auction_runs_longer_than_the_longest(events):
    lengths = (events["auction"]["expires"] - events["auction"]["dateTime"]).dt.total_microseconds()
    longest = Options(EVENTS, rate=1_000).longest_auction
    assert lengths.min() > 0
    assert 0.99 * longest < lengths.max() <= longest


def test_hot_ones_get_their_share(events):
    """Half of the bids for a hot auction, three of four by a hot bidder, and so with sellers."""
    bids, auctions = events["bid"], events["auction"]
    hot = ((bids["auction"] - FIRST_ID) % HOT == 0).mean()
    assert hot == pytest.approx(1 / 2, abs=0.03)
    assert ((bids["bidder"] - FIRST_ID) % HOT == 1).mean() == pytest.approx(3 / 4, abs=0.03)
    assert ((auctions["seller"] - FIRST_ID) % HOT == 0).mean() == pytest.approx(3 / 4, abs=0.03)
    cold = made(Options(EVENTS, hot_auctions=1, hot_bidders=1, hot_sellers=1))
    assert ((cold["bid"]["bidder"] - FIRST_ID) % HOT == 1).mean() == pytest.approx(0.01, abs=0.01)


def test_events_are_as_large_as_they_should_be(events):
    for kind, size, numbers in (("bid", 100, 32), ("auction", 500, 48), ("person", 200, 8)):
        texts = [name for name in events[kind].columns if name not in ("channel", "url")]
        frame = events[kind].select(pl.col(texts).exclude(pl.Int64, pl.Datetime))
        mean = (
            frame.select(pl.sum_horizontal(pl.all().str.len_bytes())).to_series().mean() + numbers
        )
        assert mean == pytest.approx(size, rel=0.02)


def test_prices_spread_evenly_over_six_powers_of_ten(events):
    prices = events["bid"]["price"]
    assert prices.min() >= 100
    assert prices.max() < 100_000_000
    for power in range(2, 8):
        share = prices.is_between(10**power, 10 ** (power + 1), closed="left").mean()
        assert share == pytest.approx(1 / 6, abs=0.02)


def test_half_of_the_bids_come_by_a_hot_channel_and_most_others_tell_its_id(events):
    bids = events["bid"]
    hot = bids["channel"].is_in(["Google", "Facebook", "Baidu", "Apple"])
    assert hot.mean() == pytest.approx(1 / 2, abs=0.02)
    text = bids["url"].str.contains("&channel_id=")
    assert not (hot & text).any()
    assert text.filter(~hot).mean() == pytest.approx(0.9, abs=0.02)
    assert (
        bids["url"].str.contains(r"^https://www\.nexmark\.com/\w+/\w+/\w+/item\.htm\?query=1").all()
    )


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"events": 0}, "events must be at least 1, not 0"),
        ({"events": 1, "rate": 2_000_000}, "rate must be at most 1,000,000"),
        ({"events": 1, "hot_auctions": 0}, "hot_auctions must be at least 1"),
    ],
)
def test_options_that_make_no_sense_are_rejected(wrong, text):
    with pytest.raises(ValueError, match=text):
        Options(**wrong)
