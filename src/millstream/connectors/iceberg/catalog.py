"""Opens the table of a catalog. Settings that the job does not have, such as secrets, come from
pyiceberg's environment variables or its file `.pyiceberg.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.table import Table

from millstream.connectors.iceberg.failures import described
from millstream.errors import RunError


@dataclass(frozen=True, slots=True)
class CatalogTable:
    """A table of a catalog, by its name."""

    owner: str
    catalog: str
    settings: Mapping[str, str]
    table: str

    def open_catalog(self) -> Catalog:
        with described(self.owner, self.table):
            try:
                return load_catalog(self.catalog, **self.settings)
            except (ValueError, ImportError) as error:
                raise RunError(
                    "MS-RUN-ICEBERG-FAILED",
                    f"{self.owner}: the catalog {self.catalog} cannot be opened: {error}.",
                    fix="Set 'catalog.type' and 'catalog.uri', or configure the catalog for "
                    "pyiceberg.",
                ) from None

    def load(self) -> Table:
        catalog = self.open_catalog()
        with described(self.owner, self.table):
            return catalog.load_table(self.table)
