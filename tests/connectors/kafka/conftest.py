from __future__ import annotations

from tests.services.kafka import kafka
from tests.services.registry import registry

__all__ = ["kafka", "registry"]
