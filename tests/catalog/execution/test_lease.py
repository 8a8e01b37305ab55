"""The lease of a run is renewed while it executes."""

from __future__ import annotations

import threading
from typing import Any, cast
from uuid import uuid4

import pytest

from millstream.catalog.execution.lease import LeaseKeeper, new_owner
from millstream.catalog.model import CatalogWriter
from millstream.errors import CatalogError


class Writer:
    """Counts renewals; the first one may fail."""

    def __init__(self, first: CatalogError | None = None) -> None:
        self.renewals = 0
        self.first = first
        self.twice = threading.Event()

    def renew_lease(self, *_: Any) -> None:
        self.renewals += 1
        if self.renewals == 2:
            self.twice.set()
        if self.renewals == 1 and self.first is not None:
            raise self.first


def keeper(writer: Writer, seconds: float = 0.03) -> LeaseKeeper:
    return LeaseKeeper(cast("CatalogWriter", writer), uuid4(), new_owner(), seconds)


def test_a_lease_is_renewed_until_the_run_has_ended() -> None:
    writer = Writer()
    with keeper(writer) as lease:
        assert writer.twice.wait(10)
        lease.require()
    after = writer.renewals
    assert not threading.Event().wait(0.1)
    assert writer.renewals == after


def test_a_database_that_is_busy_for_a_moment_does_not_end_the_lease() -> None:
    writer = Writer(CatalogError("MS-CATALOG-BUSY", "locked"))
    with keeper(writer) as lease:
        assert writer.twice.wait(10)
        lease.require()


def test_a_lost_lease_is_an_error_before_the_output_is_replaced() -> None:
    writer = Writer(CatalogError("MS-CATALOG-LEASE", "it has failed already"))
    with keeper(writer) as lease:
        lease._thread.join(10)
        with pytest.raises(CatalogError, match="it has failed already"):
            lease.require()
    assert writer.renewals == 1


def test_owners_of_leases_differ() -> None:
    assert new_owner() != new_owner()
