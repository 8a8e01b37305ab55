"""Event-time joins on Apache Spark: streaming SQL and a Python API.

>>> import millstream as ms
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from millstream.api import Stream, account, end_of_input, sql, stream
    from millstream.errors import MillstreamError

    __version__: str

__all__ = ["MillstreamError", "Stream", "account", "end_of_input", "sql", "stream"]


def __getattr__(name: str) -> Any:
    """Names come in when they are used: `millstream --help` need not wait for Spark."""
    from importlib import import_module, metadata

    if name == "__version__":
        return metadata.version("millstream")
    if name not in __all__:
        raise AttributeError(f"module 'millstream' has no attribute {name!r}")
    home = "millstream.errors" if name == "MillstreamError" else "millstream.api"
    return getattr(import_module(home), name)
