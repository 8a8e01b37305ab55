"""Finds resolvers by name: the built-in ones, those of other packages, and those given in Python.

Another package declares its resolvers as entry points of the group `millstream.resolvers`. Each is
a `ResolverFactory`:

    [project.entry-points."millstream.resolvers"]
    lake = "lake_tools.resolver:create"

A project's override precedes the dataset's own resolver, which precedes the system default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Self

from millstream.catalog.execution.built_in_resolvers import (
    BUILT_IN,
    DataLocation,
    Resolver,
    ResolverFactory,
)
from millstream.catalog.model import (
    Dataset,
    DatasetKey,
    DatasetVersion,
    Period,
    Project,
    ResolverRef,
    ResolverSource,
)
from millstream.catalog.publishing.formats import complete_options
from millstream.errors import ProjectError
from millstream.suggestions import nearest, same

GROUP = "millstream.resolvers"
SYSTEM_DEFAULT = ResolverRef("catalog")


@cache
def installed_resolvers() -> Mapping[str, ResolverFactory]:
    """Returns the built-in resolvers and those of installed packages, by name.

    A resolver that cannot be imported is an error where it is used: others still work.
    """
    found = dict(BUILT_IN)
    for point in sorted(entry_points(group=GROUP), key=lambda each: (each.name, each.value)):
        if point.name in found:
            found[point.name] = found[point.name] if point.name in BUILT_IN else _ambiguous(point)
        else:
            found[point.name] = _loaded_when_used(point)
    return found


def _loaded_when_used(point: EntryPoint) -> ResolverFactory:
    def create(config: Mapping[str, str], base: Path) -> Resolver:
        try:
            factory: ResolverFactory = point.load()
        except Exception as error:  # noqa: BLE001 -- a foreign package may raise anything
            raise _wrong(
                f"the resolver {point.name} ({point.value}) cannot be imported: {error}.",
                "Correct the package that declares it.",
            ) from None
        return factory(config, base)

    return create


def _ambiguous(point: EntryPoint) -> ResolverFactory:
    def create(config: Mapping[str, str], base: Path) -> Resolver:  # noqa: ARG001
        raise _wrong(
            f"several packages declare the resolver {point.name}, one of them as {point.value}.",
            "Uninstall all but one.",
        )

    return create


def is_key_of(key: DatasetKey, dataset: Dataset) -> bool:
    """Whether a key, an ID or a name, means a dataset."""
    return key == dataset.id or (isinstance(key, str) and same(key, dataset.name))


@dataclass(frozen=True, slots=True)
class ResolverRegistry:
    """The resolvers that projects can name, and the system default. Relative paths of resolvers
    start at `base`."""

    base: Path
    default: ResolverRef = SYSTEM_DEFAULT
    factories: Mapping[str, ResolverFactory] = field(default_factory=installed_resolvers)

    def with_factories(self, added: Mapping[str, ResolverFactory]) -> Self:
        """Returns the same resolvers and further ones. Built-in names cannot be given."""
        for name in added:
            if name in BUILT_IN:
                raise _wrong(f"the resolver {name} is built in.", "Choose another name.")
        return replace(self, factories={**self.factories, **added})

    def open(self, reference: ResolverRef) -> Resolver:
        """Returns a resolver by name. Raises MS-PROJECT-RESOLVER."""
        factory = self.factories.get(reference.name)
        if factory is None:
            raise _wrong(
                f"there is no resolver {reference.name}.", nearest(reference.name, self.factories)
            )
        return factory(reference.config, self.base)

    def resolve(
        self, reference: ResolverRef, dataset: Dataset, version: DatasetVersion, period: Period
    ) -> DataLocation:
        """Returns the location that a resolver gives, with all options of its format."""
        found = self.open(reference).resolve(dataset, version, period)
        if not isinstance(found, DataLocation):
            raise _wrong(
                f"the resolver {reference.name} returned {type(found).__name__} for "
                f"{dataset.name}, not a DataLocation.",
                "Return millstream.catalog.DataLocation(format, location, options).",
            )
        return replace(found, options=complete_options(found.format, found.options))

    def choose(self, project: Project, dataset: Dataset) -> tuple[ResolverRef, ResolverSource]:
        """Returns the resolver of a dataset in a project, by precedence."""
        for override in project.resolver_overrides:
            if is_key_of(override.dataset, dataset):
                return override.resolver, ResolverSource.PROJECT_OVERRIDE
        if dataset.resolver is not None:
            return dataset.resolver, ResolverSource.DATASET_RESOLVER
        return self.default, ResolverSource.SYSTEM_DEFAULT


def _wrong(cause: str, fix: str) -> ProjectError:
    return ProjectError("MS-PROJECT-RESOLVER", cause, fix=fix)
