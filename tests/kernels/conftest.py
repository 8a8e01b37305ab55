from __future__ import annotations

from collections.abc import Iterator

import pytest

from millstream.kernels.state import segment_cache as cache


@pytest.fixture(autouse=True)
def empty_cache() -> Iterator[None]:
    """Clears the cache, so that no test depends on state decoded by another one."""
    cache.clear_cache()
    yield
    cache.clear_cache()
