"""Built-in resolvers, and their protocol: where the rows of a version are for a period.

| name      | location                                                              |
|-----------|-----------------------------------------------------------------------|
| `catalog` | the one recorded with the version; the system default                 |
| `path`    | a template, such as `data/{name}/v{version}/{period}.parquet`         |
| `jdbc`    | a table of a database, such as `fx_v{version}`; it is never copied    |
| `table`   | a table or view of Spark's catalog, such as `finance.fx_v{version}`   |

`resolvers.py` finds resolvers by name, also those of other packages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from millstream.catalog.execution.templates import placeholders
from millstream.catalog.model import (
    DataFormat,
    Dataset,
    DatasetVersion,
    Period,
)
from millstream.catalog.publishing.formats import complete_options, format_of_name
from millstream.connectors.jdbc.url import connector_of
from millstream.connectors.paths import resolve as absolute
from millstream.errors import CatalogError, MillstreamError, ProjectError
from millstream.suggestions import nearest

_OPTIONS = ("header", "delimiter", "quote", "escape", "encoding", "multiline")
_PLACEHOLDERS = ("name", "id", "table", "version", "period", "start", "end")


@dataclass(frozen=True, slots=True)
class DataLocation:
    """Where rows are: an absolute path, the URL of a database with the option `table`, or the name
    of a table of Spark's catalog."""

    format: DataFormat
    location: str
    options: Mapping[str, str] = field(default_factory=dict, hash=False)


class Resolver(Protocol):
    """Returns where the rows of a version are for a period. The same arguments must always give the
    same location: a run records it, and a replay reads it again."""

    def resolve(
        self, dataset: Dataset, version: DatasetVersion, period: Period
    ) -> DataLocation: ...


ResolverFactory = Callable[[Mapping[str, str], Path], Resolver]
"""Creates a resolver from its `config`; relative paths start at the folder. It raises ProjectError
with the code MS-PROJECT-RESOLVER if the configuration is wrong."""


@dataclass(frozen=True, slots=True)
class CatalogResolver:
    """The resolver `catalog`: the location that was recorded when the version was published."""

    def resolve(self, dataset: Dataset, version: DatasetVersion, period: Period) -> DataLocation:  # noqa: ARG002
        return DataLocation(version.format, version.location, version.options)


@dataclass(frozen=True, slots=True)
class PathResolver:
    """The resolver `path`: a path with placeholders for the dataset, version and period. Its format
    is the configured one, or that of the suffix, or that of the version."""

    template: str
    base: Path
    format: DataFormat | None = None
    options: Mapping[str, str] = field(default_factory=dict, hash=False)

    def resolve(self, dataset: Dataset, version: DatasetVersion, period: Period) -> DataLocation:
        path = fill(self.template, dataset, version, period)
        found = self.format or format_of_name(path) or version.format
        options = {**(version.options if found is version.format else {}), **self.options}
        return DataLocation(found, absolute(path, self.base), complete_options(found, options))


@dataclass(frozen=True, slots=True)
class JdbcResolver:
    """The resolver `jdbc`: a table of a database."""

    url: str
    table: str

    def resolve(self, dataset: Dataset, version: DatasetVersion, period: Period) -> DataLocation:
        table = fill(self.table, dataset, version, period)
        return DataLocation(DataFormat.JDBC, self.url, {"table": table})


@dataclass(frozen=True, slots=True)
class TableResolver:
    """The resolver `table`: a table or view of Spark's catalog. Its rows can change, so a run is
    not reproducible."""

    table: str

    def resolve(self, dataset: Dataset, version: DatasetVersion, period: Period) -> DataLocation:
        return DataLocation(DataFormat.TABLE, fill(self.table, dataset, version, period))


def fill(template: str, dataset: Dataset, version: DatasetVersion, period: Period) -> str:
    """Returns a template with its placeholders filled in."""
    values = {
        "name": dataset.name,
        "id": str(dataset.id),
        "table": dataset.table.name,
        "version": str(version.number),
        "period": period.identifier,
        "start": period.start.isoformat(),
        "end": period.end.isoformat(),
    }
    for name in placeholders(template, _PLACEHOLDERS):
        # A name such as ../other would leave the folder of the template.
        if any(mark in values[name] for mark in ("/", "\\", "..", "\0")):
            raise ProjectError(
                "MS-PROJECT-RESOLVER",
                f"{{{name}}} of the template {template} is {values[name]!r}, which is not a safe "
                "part of a path.",
                fix="Use names and periods without '/', '\\' and '..', or {id}.",
            )
    return template.format_map(values)


def _check_template(template: str) -> str:
    try:
        placeholders(template, _PLACEHOLDERS)
    except ValueError as error:
        known = ", ".join(f"{{{each}}}" for each in _PLACEHOLDERS)
        raise _wrong(f"the template {template} {error}.", f"Known: {known}.") from None
    return template


def _config(kind: str, config: Mapping[str, str], needed: str, *allowed: str) -> str:
    for name in config:
        if name not in (needed, *allowed):
            raise _wrong(
                f"the resolver {kind} has no setting {name}.", nearest(name, (needed, *allowed))
            )
    if not config.get(needed):
        raise _wrong(f"the resolver {kind} needs the setting {needed}.")
    return config[needed]


def _wrong(cause: str, fix: str = "") -> ProjectError:
    return ProjectError("MS-PROJECT-RESOLVER", cause, fix=fix)


def _catalog(config: Mapping[str, str], base: Path) -> Resolver:  # noqa: ARG001
    if config:
        raise _wrong("the resolver catalog has no settings.", "Remove its config.")
    return CatalogResolver()


def _path(config: Mapping[str, str], base: Path) -> Resolver:
    template = _config("path", config, "template", "format", *_OPTIONS)
    options = {name: config[name] for name in _OPTIONS if name in config}
    known = [each.value for each in DataFormat if each.is_files]
    written = config.get("format")
    if written is not None and written not in known:
        raise _wrong(f"the resolver path has the format {written}.", nearest(written, known))
    found = DataFormat(written) if written else format_of_name(template)
    if found is not None:
        try:
            complete_options(found, options)
        except CatalogError as error:
            raise _wrong(f"the resolver path: {error.cause}", error.fix) from None
    return PathResolver(_check_template(template), base, found, options)


def _jdbc(config: Mapping[str, str], base: Path) -> Resolver:  # noqa: ARG001
    url = _config("jdbc", config, "url", "table")
    table = _config("jdbc", config, "table", "url")
    try:
        connector_of(url)
    except MillstreamError as error:
        raise _wrong(f"the resolver jdbc: {error.cause}", error.fix) from None
    return JdbcResolver(url, _check_template(table))


def _table(config: Mapping[str, str], base: Path) -> Resolver:  # noqa: ARG001
    return TableResolver(_check_template(_config("table", config, "table")))


BUILT_IN: Mapping[str, ResolverFactory] = {
    "catalog": _catalog,
    "path": _path,
    "jdbc": _jdbc,
    "table": _table,
}
