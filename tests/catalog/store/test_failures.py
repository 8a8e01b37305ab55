"""Errors of the database show neither SQL nor parameters."""

from __future__ import annotations

import pytest
from sqlalchemy import exc

from millstream.catalog.store.failures import catalog_errors
from millstream.errors import CatalogError


def test_the_statement_of_an_error_is_not_shown() -> None:
    error = exc.StatementError("wrong", "SELECT secret", {"a": "b"}, ValueError("not a UUID"))
    with pytest.raises(CatalogError) as caught, catalog_errors("catalog.db"):
        raise error
    assert caught.value.code == "MS-CATALOG-DATABASE"
    assert caught.value.cause == "the database of the catalog catalog.db reports: not a UUID."
