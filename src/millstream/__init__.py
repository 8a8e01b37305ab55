"""Event-time joins on Apache Spark: streaming SQL and a Python API.

>>> import millstream as ms
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from millstream.api import (
        Outputs,
        Sink,
        Stream,
        StreamRun,
        Table,
        database,
        drop,
        end_of_input,
        ledger,
        reassign,
        session,
        side_output,
        sink,
        sliding,
        sql,
        stream,
        table,
        tumbling,
    )
    from millstream.catalog.catalog import Catalog
    from millstream.catalog.execution.validation import InvalidProjectError
    from millstream.catalog.project import CatalogProject
    from millstream.errors import MillstreamError
    from millstream.temporal import OnLimit, StateLimit

    __version__: str

__all__ = [
    "Catalog",
    "CatalogProject",
    "InvalidProjectError",
    "MillstreamError",
    "OnLimit",
    "Outputs",
    "Sink",
    "StateLimit",
    "Stream",
    "StreamRun",
    "Table",
    "database",
    "drop",
    "end_of_input",
    "ledger",
    "reassign",
    "session",
    "side_output",
    "sink",
    "sliding",
    "sql",
    "stream",
    "table",
    "tumbling",
]
_ELSEWHERE = {
    "Catalog": "catalog.catalog",
    "CatalogProject": "catalog.project",
    "InvalidProjectError": "catalog.execution.validation",
    "MillstreamError": "errors",
    "OnLimit": "temporal",
    "StateLimit": "temporal",
}


def __getattr__(name: str) -> Any:
    """Imports public names on first use, so that `millstream --help` does not import Spark."""
    from importlib import import_module, metadata

    if name == "__version__":
        return metadata.version("millstream")
    if name not in __all__:
        raise AttributeError(f"module 'millstream' has no attribute {name!r}")
    return getattr(import_module(f"millstream.{_ELSEWHERE.get(name, 'api')}"), name)
