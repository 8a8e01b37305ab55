from __future__ import annotations

from pathlib import Path

import pytest
from tests.catalog.execution.month_end import MonthEnd

from millstream.catalog.store.open import OpenCatalog, open_catalog


@pytest.fixture
def month_end(tmp_path: Path) -> MonthEnd:
    """The example in a SQLite catalog."""
    opened: OpenCatalog = open_catalog(tmp_path / "catalog.db", create=True)
    return MonthEnd.create(opened, tmp_path)
