"""Event-time joins on Apache Spark: streaming SQL and a Python API.

>>> import millstream as ms
"""

from importlib.metadata import version as _version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from millstream.api import Stream, account, end_of_input, sql, stream
    from millstream.errors import MillstreamError

__version__ = _version("millstream")
__all__ = ["MillstreamError", "Stream", "account", "end_of_input", "sql", "stream"]


def __getattr__(name: str) -> Any:
    """Names come in when they are used: `millstream --help` need not wait for Spark."""
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module 'millstream' has no attribute {name!r}")
    return getattr(
        import_module("millstream.errors" if name == "MillstreamError" else "millstream.api"), name
    )
