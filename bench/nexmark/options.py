"""What is generated, and what can be known of it before: how far apart related events can be.

An event has a number, and everything about it follows from its number and the seed. Of 50 events
in a row the first is a person, the next three are auctions and the other 46 are bids.
"""

from __future__ import annotations

from dataclasses import dataclass

PERSONS, AUCTIONS, BIDS = 1, 3, 46
EPOCH = PERSONS + AUCTIONS + BIDS  # events until the kinds come round again
FIRST_ID = 1_000  # of persons and of auctions
FIRST_CATEGORY = 10
CATEGORIES = 5
LEAD = 10  # ids may be named before they exist: so many persons or auctions ahead
HOT = 100  # one in so many persons or auctions is hot
_SECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class Options:
    """`rate` is events a second of event time; `disorder` how late an event may come, in
    microseconds. Ratios are as NEXMark has them: of n bids, n - 1 go to a hot auction."""

    events: int
    seed: int = 1
    rate: int = 10_000
    disorder: int = 0
    hot_auctions: int = 2
    hot_bidders: int = 4
    hot_sellers: int = 4
    in_flight: int = 100  # auctions that bids are made for
    active: int = 1_000  # persons who bid and sell
    bid_bytes: int = 100
    auction_bytes: int = 500
    person_bytes: int = 200
    begin: int = 1_767_225_600 * _SECOND  # 2026-01-01, in microseconds

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, not {getattr(self, name)}.")
        if self.rate > _SECOND:
            raise ValueError(
                f"rate must be at most {_SECOND:,}: times are whole microseconds and no two are "
                "the same."
            )

    @property
    def group(self) -> int:
        """Events that come in any order among themselves, and in order with all others."""
        return max(1, self.disorder * self.rate // _SECOND)

    def span(self, events: int) -> int:
        """An upper limit for the microseconds between events that are so many apart."""
        return -(-events * _SECOND // self.rate) + 1

    @property
    def longest_auction(self) -> int:
        """How long an auction may run: twice the time in which as many others begin as are in
        flight."""
        return 2 * self.span(self.in_flight * EPOCH // AUCTIONS)

    @property
    def bids_after(self) -> int:
        """How long after its beginning an auction may be bid for, expired or not."""
        return self.span((max(self.in_flight, HOT) // AUCTIONS + 2) * EPOCH)

    @property
    def bids_before(self) -> int:
        """How long before its beginning an auction may be bid for."""
        return self.span((LEAD // AUCTIONS + 2) * EPOCH)

    @property
    def acts_after(self) -> int:
        """How long after joining a person may bid or sell."""
        return self.span((max(self.active, HOT) // PERSONS + 1) * EPOCH)

    @property
    def acts_before(self) -> int:
        """How long before joining a person may bid or sell."""
        return self.span((LEAD // PERSONS + 1) * EPOCH)

    @property
    def bids_last(self) -> int:
        """How far apart two bids for one auction may be."""
        return self.bids_before + self.bids_after

    @property
    def sells_last(self) -> int:
        """How far apart two winning bids for auctions of one seller may be."""
        return self.acts_before + self.acts_after + self.longest_auction


_LEAST = {
    "events": 1,
    "seed": 0,
    "rate": 1,
    "disorder": 0,
    "hot_auctions": 1,
    "hot_bidders": 1,
    "hot_sellers": 1,
    "in_flight": 1,
    "active": 1,
    "bid_bytes": 0,
    "auction_bytes": 0,
    "person_bytes": 0,
}
