"""Streams and sinks in this process, for tests and demos. Imports Spark on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from millstream.connectors.memory.streams import MemorySink, MemoryStream

__all__ = ["MemorySink", "MemoryStream"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from millstream.connectors.memory import streams

        return getattr(streams, name)
    raise AttributeError(f"module {__name__} has no attribute {name}")
