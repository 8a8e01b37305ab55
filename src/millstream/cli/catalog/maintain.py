"""`millstream catalog disable`, `enable` and `migrate`."""

from __future__ import annotations

from typing import Annotated

import typer

from millstream.cli.catalog.context import DatasetName, dataset_key, open_catalog
from millstream.cli.errors import print_json, reported
from millstream.cli.options import AsJson, CatalogUrl

Version = Annotated[
    int | None, typer.Option("--version", metavar="N", min=1, help="Only this version.")
]


def disable(
    dataset: DatasetName,
    version: Version = None,
    catalog: CatalogUrl = None,
    as_json: AsJson = False,
) -> None:
    """Disable a dataset, or a version: it is then not chosen as the latest one.

    A disabled dataset cannot be used by projects. Replays of runs use what they have recorded.
    """
    _set_status(dataset, version, catalog, as_json, enabled=False)


def enable(
    dataset: DatasetName,
    version: Version = None,
    catalog: CatalogUrl = None,
    as_json: AsJson = False,
) -> None:
    """Make a disabled dataset, or a version, active again."""
    _set_status(dataset, version, catalog, as_json, enabled=True)


def _set_status(
    dataset: str, version: int | None, catalog: str | None, as_json: bool, *, enabled: bool
) -> None:
    with open_catalog(catalog, as_json) as found:
        key = dataset_key(dataset)
        (found.enable if enabled else found.disable)(key, version=version)
        name, status = found.dataset(key).name, "active" if enabled else "disabled"
        if as_json:
            print_json({"dataset": name, "version": version, "status": status})
        else:
            print(f"{name}{f' version {version}' if version else ''} is {status}.")


def migrate(catalog: CatalogUrl = None, as_json: AsJson = False) -> None:
    """Create the tables of a catalog in a database, or upgrade them to this version."""
    with reported(as_json):
        from millstream.catalog.store.catalog_url import parse_catalog_url
        from millstream.catalog.store.migrate import migrate_at

        location = parse_catalog_url(catalog)
        before, after = migrate_at(location)
        where = location.shown
        if as_json:
            print_json({"catalog": where, "before": before, "after": after})
        elif before == after:
            print(f"The tables of {where} are up to date (version {after}).")
        else:
            done = f"upgraded from version {before}" if before else "created"
            print(f"The tables of {where} are {done} (version {after}).")
