"""The columns of the three kinds of events and of the side input, by types that Spark, DuckDB and
Flink all know."""

from __future__ import annotations

COLUMNS = {
    "person": {
        "id": "BIGINT",
        "name": "STRING",
        "emailAddress": "STRING",
        "creditCard": "STRING",
        "city": "STRING",
        "state": "STRING",
        "dateTime": "TIMESTAMP",
        "extra": "STRING",
    },
    "auction": {
        "id": "BIGINT",
        "itemName": "STRING",
        "description": "STRING",
        "initialBid": "BIGINT",
        "reserve": "BIGINT",
        "dateTime": "TIMESTAMP",
        "expires": "TIMESTAMP",
        "seller": "BIGINT",
        "category": "BIGINT",
        "extra": "STRING",
    },
    "bid": {
        "auction": "BIGINT",
        "bidder": "BIGINT",
        "price": "BIGINT",
        "channel": "STRING",
        "url": "STRING",
        "dateTime": "TIMESTAMP",
        "extra": "STRING",
    },
    "side_input": {"key": "BIGINT", "value": "STRING"},
}
