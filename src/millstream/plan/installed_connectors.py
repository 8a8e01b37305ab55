"""Finds the installed connectors of Millstream and of other packages.

Another package declares its connectors as entry points of the group `millstream.connectors`:

    [project.entry-points."millstream.connectors"]
    mqtt = "millstream_mqtt.spec:SPEC"

A declaration is a value, so no implementation is imported here.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from millstream.plan.connectors import ConnectorRegistry, ConnectorSpec

GROUP = "millstream.connectors"
BUILT_IN = tuple(
    f"millstream.connectors.{name}.spec:SPEC"
    for name in (
        *("file", "kafka", "memory", "rate", "datagen", "console", "noop"),
        *("postgresql", "sqlite", "jdbc", "database", "delta", "iceberg", "dataframe"),
    )
)


@cache
def installed_connectors() -> ConnectorRegistry:
    """Returns all connectors. One that cannot be loaded is listed in `problems`: jobs that do not
    use it still run."""
    specs: list[ConnectorSpec] = [pkgutil.resolve_name(each) for each in BUILT_IN]
    problems: list[str] = []
    for point in sorted(entry_points(group=GROUP), key=lambda each: (each.name, each.value)):
        try:
            found = point.load()
        except Exception as error:  # noqa: BLE001 -- a foreign package may raise anything
            problems.append(f"{_entry_point_phrase(point)} cannot be imported: {error}")
            continue
        if not isinstance(found, ConnectorSpec):
            problems.append(f"{_entry_point_phrase(point)} is not a ConnectorSpec")
        elif found.name != found.name.lower():
            problems.append(
                f"{_entry_point_phrase(point)} has the name {found.name}, which is not lower case"
            )
        elif any(set(spec.names) & set(found.names) for spec in specs):
            problems.append(
                f"{_entry_point_phrase(point)} has the name of another connector, {found.name}"
            )
        else:
            specs.append(found)
    return ConnectorRegistry(tuple(specs), tuple(problems))


def _entry_point_phrase(point: EntryPoint) -> str:
    package = point.dist.name if point.dist else "a package"
    return f"the connector {point.name} of {package} ({point.value})"
