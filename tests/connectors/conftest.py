from __future__ import annotations

from tests.services.postgres import postgres

__all__ = ["postgres"]
