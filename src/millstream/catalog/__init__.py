"""Versioned datasets, periods, projects and runs. The streaming engine does not import it.

Public names for resolvers of your own:

| name                                | meaning                                                   |
|-------------------------------------|-----------------------------------------------------------|
| `Resolver`                          | the protocol: `resolve(dataset, version, period)`         |
| `DataLocation`, `DataFormat`        | what it returns                                           |
| `Dataset`, `DatasetVersion`, `Period` | what it is given                                        |
| `ResolverFactory`                   | a function of `config` and `base` that creates a resolver |
| `CatalogResolver`, `PathResolver`, `JdbcResolver`, `TableResolver` | the built-in resolvers     |
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from millstream.catalog.execution.built_in_resolvers import (
        CatalogResolver,
        DataLocation,
        JdbcResolver,
        PathResolver,
        Resolver,
        ResolverFactory,
        TableResolver,
    )
    from millstream.catalog.model import DataFormat, Dataset, DatasetVersion, Period

__all__ = [
    "CatalogResolver",
    "DataFormat",
    "DataLocation",
    "Dataset",
    "DatasetVersion",
    "JdbcResolver",
    "PathResolver",
    "Period",
    "Resolver",
    "ResolverFactory",
    "TableResolver",
]
_MODEL = ("DataFormat", "Dataset", "DatasetVersion", "Period")


def __getattr__(name: str) -> Any:
    """Imports a public name when it is used."""
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module 'millstream.catalog' has no attribute {name!r}")
    module = "model" if name in _MODEL else "execution.built_in_resolvers"
    return getattr(import_module(f"millstream.catalog.{module}"), name)
