"""Persons, auctions and bids, made from the numbers of their events."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from bench.nexmark.draws import Bits, Draws, Noise, Whole, below, letters
from bench.nexmark.options import (
    AUCTIONS,
    CATEGORIES,
    EPOCH,
    FIRST_CATEGORY,
    FIRST_ID,
    HOT,
    LEAD,
    PERSONS,
    Options,
)

KINDS = ("person", "auction", "bid")
_NOISE = 1 << 20
_CHANNELS = 10_000
_HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
_WITH_ID = 10  # of so many channels, all but one have their id in the URL
_STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
_CITIES = (
    "Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland",
    "Bend", "Redmond", "Seattle", "Kent", "Cheyenne",
)  # fmt: skip
_FIRST_NAMES = (
    "Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter",
)  # fmt: skip
_LAST_NAMES = (
    "Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris",
)  # fmt: skip
_PRICE_STEPS = 1 << 16


@dataclass(slots=True)
class Generator:
    """Generates the events with the given numbers, in that order."""

    options: Options
    _draws: Draws = field(init=False)
    _noise: Noise = field(init=False)
    _words: Noise = field(init=False)
    _channels: pl.Series = field(init=False)
    _urls: pl.Series = field(init=False)

    def __post_init__(self) -> None:
        self._draws = Draws(self.options.seed)
        self._noise = letters(self._draws, "noise", _NOISE)
        self._words = letters(self._draws, "words", _NOISE, " ")
        self._channels, self._urls = _channels(self._draws)

    def arrivals(self, start: int, stop: int) -> Whole:
        """The numbers of the events that arrive in the places from `start` to before `stop`."""
        group = self.options.group
        if group == 1:
            return np.arange(start, stop)
        first, last = start // group * group, min(-(-stop // group) * group, self.options.events)
        numbers = np.arange(first, last)
        chance = self._draws.bits("arrival", numbers)
        numbers = numbers[np.lexsort((chance, numbers // group))]
        return numbers[start - first : stop - first]

    def slice(self, start: int, stop: int) -> dict[str, pl.DataFrame]:
        """What arrives in these places, by kind."""
        numbers = self.arrivals(start, stop)
        place = numbers % EPOCH
        is_person, is_bid = place < PERSONS, place >= PERSONS + AUCTIONS
        return {
            "person": self.persons(numbers[is_person]),
            "auction": self.auctions(numbers[~is_person & ~is_bid]),
            "bid": self.bids(numbers[is_bid]),
        }

    def persons(self, numbers: Whole) -> pl.DataFrame:
        draws = self._draws
        first, last = draws.two("name", numbers)
        user, host = draws.two("email", numbers)
        city, state = draws.two("home", numbers)
        cards = [half for part in ("card", "card 2") for half in draws.two(part, numbers)]
        size, cut = draws.two("person extra", numbers)
        user_size, host_size = draws.two("email size", numbers)
        made = pl.DataFrame(
            {
                "id": numbers // EPOCH + FIRST_ID,
                "first": _of(_FIRST_NAMES, first),
                "last": _of(_LAST_NAMES, last),
                "user": self._noise.cut(user, 3 + below(4, user_size)),
                "host": self._noise.cut(host, 3 + below(2, host_size)),
                **{f"card{n}": below(10_000, bits) for n, bits in enumerate(cards)},
                "city": _of(_CITIES, city),
                "state": _of(_STATES, state),
                "dateTime": self._times(numbers),
            }
        )
        card = pl.concat_str(
            (pl.col(f"card{n}").cast(pl.String).str.zfill(4) for n in range(4)), separator=" "
        )
        made = made.select(
            "id",
            pl.concat_str("first", "last", separator=" ").alias("name"),
            pl.format("{}@{}.com", "user", "host").alias("emailAddress"),
            card.alias("creditCard"),
            "city",
            "state",
            "dateTime",
        )
        extra = self._extra(self.options.person_bytes - _used(made, 8), size, cut)
        return made.with_columns(extra.alias("extra"))

    def auctions(self, numbers: Whole) -> pl.DataFrame:
        options, draws, words = self.options, self._draws, self._words
        persons = numbers // EPOCH
        hot, seller = draws.two("seller", numbers)
        price, reserve = draws.two("auction price", numbers)
        name, about = draws.two("item", numbers)
        name_size, about_size = draws.two("item size", numbers)
        size, cut = draws.two("auction extra", numbers)
        category, length = draws.two("auction", numbers)
        sellers = np.where(
            below(options.hot_sellers, hot) > 0, persons // HOT * HOT, self._person(persons, seller)
        )
        times = self._micros(numbers)
        initial = _price(price)
        made = pl.DataFrame(
            {
                "id": persons * AUCTIONS + numbers % EPOCH - PERSONS + FIRST_ID,
                "itemName": words.cut(name, 3 + below(17, name_size)).str.strip_chars(),
                "description": words.cut(about, 3 + below(97, about_size)).str.strip_chars(),
                "initialBid": initial,
                "reserve": initial + _price(reserve),
                "dateTime": times.view("datetime64[us]"),
                "expires": (times + 1 + below(options.longest_auction, length)).view(
                    "datetime64[us]"
                ),
                "seller": sellers + FIRST_ID,
                "category": FIRST_CATEGORY + below(CATEGORIES, category),
            }
        )
        extra = self._extra(options.auction_bytes - _used(made, 48), size, cut)
        return made.with_columns(extra.alias("extra"))

    def bids(self, numbers: Whole) -> pl.DataFrame:
        options, draws = self.options, self._draws
        persons = numbers // EPOCH
        newest = persons * AUCTIONS + AUCTIONS - 1
        oldest = np.maximum(newest - options.in_flight, 0)
        hot, auction = draws.two("bid auction", numbers)
        hot_bidder, bidder = draws.two("bidder", numbers)
        price, channel = draws.two("bid price", numbers)
        size, cut = draws.two("bid extra", numbers)
        auctions = np.where(
            below(options.hot_auctions, hot) > 0,
            newest // HOT * HOT,
            oldest + below(newest - oldest + 1 + LEAD, auction),
        )
        # The second of a hundred, so that hot bidders are not the hot sellers.
        bidders = np.where(
            below(options.hot_bidders, hot_bidder) > 0,
            persons // HOT * HOT + 1,
            self._person(persons, bidder),
        )
        # Half of the bids come by one of the four hot channels, which stand first.
        half = below(2 * _CHANNELS, channel)
        channels = np.where(half < _CHANNELS, half % len(_HOT_CHANNELS), half - _CHANNELS + 4)
        lengths = np.full(len(numbers), options.bid_bytes - 32)
        return pl.DataFrame(
            {
                "auction": auctions + FIRST_ID,
                "bidder": bidders + FIRST_ID,
                "price": _price(price),
                "channel": self._channels.gather(channels),
                "url": self._urls.gather(channels),
                "dateTime": self._times(numbers),
                "extra": self._extra(lengths, size, cut),
            }
        )

    def _person(self, newest: Whole, bits: Bits) -> Whole:
        """One of the active persons, or one of those about to come."""
        active = np.minimum(newest + 1, self.options.active)
        return newest + 1 - active + below(active + LEAD, bits)

    def _micros(self, numbers: Whole) -> Whole:
        return self.options.begin + numbers * 1_000_000 // self.options.rate

    def _times(self, numbers: Whole) -> np.ndarray:
        return self._micros(numbers).view("datetime64[us]")

    def _extra(self, average: Whole, size: Bits, cut: Bits) -> pl.Series:
        """Texts that make events as large as they should be on average, give or take a fifth."""
        average = np.maximum(average, 0)
        spread = (average + 2) // 5
        return self._noise.cut(cut, average - spread + below(2 * spread, size))


def _used(made: pl.DataFrame, numbers: int) -> Whole:
    """Bytes of each row: those of its texts, and so many of its numbers."""
    lengths = (pl.col(pl.String).str.len_bytes().cast(pl.Int64),)
    return made.select(pl.sum_horizontal(*lengths) + numbers).to_series().to_numpy()


def _of(values: tuple[str, ...], bits: Bits) -> pl.Series:
    return pl.Series(values).gather(below(len(values), bits))


def _price(bits: Bits) -> Whole:
    """Cents from a dollar to a million, by a straight line between steps of the logarithm: whole
    numbers only, so that no machine's powers or roundings show."""
    step = (bits >> np.uint64(16)).astype(np.int64)
    rest = (bits & np.uint64(0xFFFF)).astype(np.int64)
    low = _PRICES[step]
    price: Whole = low + ((_PRICES[step + 1] - low) * rest >> 16)
    return price


_PRICES = np.array(
    [round(100 * 10 ** (6 * step / _PRICE_STEPS)) for step in range(_PRICE_STEPS + 1)], np.int64
)


def _channels(draws: Draws) -> tuple[pl.Series, pl.Series]:
    """Names and URLs of all channels, hot ones first."""
    count = _CHANNELS + len(_HOT_CHANNELS)
    numbers = np.arange(count)
    words = letters(draws, "paths", _NOISE, "_")
    parts = {}
    for part in ("a", "b", "c"):
        size, cut = draws.two(f"path {part}", numbers)
        parts[part] = words.cut(cut, 3 + below(2, size))
    with_id = (below(_WITH_ID, draws.bits("has id", numbers) >> np.uint64(32)) > 0) & (
        numbers >= len(_HOT_CHANNELS)
    )
    made = pl.DataFrame(
        {
            **parts,
            "name": [*_HOT_CHANNELS, *(f"channel-{n}" for n in range(_CHANNELS))],
            "channel": draws.below(1 << 31, "channel id", numbers),
            "has": with_id,
        }
    )
    url = pl.format("https://www.nexmark.com/{}/{}/{}/item.htm?query=1", "a", "b", "c")
    text = pl.when("has").then(pl.format("&channel_id={}", "channel")).otherwise(pl.lit(""))
    return made["name"], made.select(pl.concat_str(url, text)).to_series()
