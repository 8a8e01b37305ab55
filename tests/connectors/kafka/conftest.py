from __future__ import annotations

from tests.services.kafka import kafka

__all__ = ["kafka"]
