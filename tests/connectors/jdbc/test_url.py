"""The URL of a database: its connector, and what is rejected."""

from __future__ import annotations

import pytest

from millstream.connectors.jdbc.url import connector_of
from millstream.errors import PropertyError


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("jdbc:postgresql://h/db", ("postgresql", {"url": "postgresql://h/db"})),
        ("jdbc:sqlite:shop.db", ("sqlite", {"path": "shop.db"})),
        ("sqlite:////data/shop.db", ("sqlite", {"path": "/data/shop.db"})),
    ],
)
def test_a_url_says_its_connector(url: str, expected: tuple[str, dict[str, str]]) -> None:
    assert connector_of(url) == expected


@pytest.mark.parametrize(
    ("url", "cause"),
    [
        ("jdbc:postgresql://me:hunter2@h/db", "contains a password"),
        ("jdbc:postgresql://h/db?PASSWORD=hunter2", "contains a password"),
        ("jdbc:postgresql://h/db?a=1&pwd=hunter2", "contains a password"),
        ("jdbc:postgresql://[hunter2", "cannot be read"),
        ("jdbc:mysql://hunter2", "not the URL of a supported database"),
    ],
)
def test_a_url_is_rejected_without_showing_it(url: str, cause: str) -> None:
    with pytest.raises(PropertyError, match=cause) as caught:
        connector_of(url)
    assert "hunter2" not in str(caught.value)
