"""The catalog of the Python API and the command line: definitions, versions, publishing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from millstream.catalog.lookup import require_dataset, require_status, require_version
from millstream.catalog.model import (
    CatalogReader,
    CatalogWriter,
    DataFormat,
    Dataset,
    DatasetKey,
    DatasetSummary,
    DatasetVersion,
    Period,
    Project,
    Status,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.catalog.definitions.plan import Plan
    from millstream.catalog.execution.built_in_resolvers import ResolverFactory
    from millstream.catalog.project import CatalogProject
    from millstream.catalog.store.catalog_url import CatalogUrl
    from millstream.catalog.store.open import OpenCatalog
    from millstream.catalog.version_difference import VersionDifference


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Catalog:
    """Datasets with immutable versions, periods and projects, in SQLite or PostgreSQL.

    Datasets are addressed by name, in any letter case, or by ID. Errors have codes MS-CATALOG-….

    Example:
        >>> with ms.Catalog.open(folder / "shop.db") as catalog:
        ...     catalog.datasets()
        []
    """

    _opened: OpenCatalog

    @classmethod
    def open(cls, url: str | os.PathLike[str] | None = None, *, create: bool = True) -> Self:
        """Opens a catalog.

        Args:
            url: The path of a SQLite file, or `postgresql://host:port/database`. By default the
                value of `MILLSTREAM_CATALOG`, or `millstream-catalog.db` in the working directory.
                User and password may be left to PGUSER and PGPASSWORD.
            create: Whether to create a SQLite file that does not exist. The tables of a PostgreSQL
                database are created by `migrate`.

        Returns:
            The catalog. Close it, or use it as a context manager.

        Example:
            >>> catalog = ms.Catalog.open(folder / "catalog.db")
            >>> catalog.close()
        """
        from millstream.catalog.store.open import open_catalog

        return cls(open_catalog(url, create=create))

    @staticmethod
    def migrate(url: str | os.PathLike[str] | None = None) -> None:
        """Creates the tables of a catalog, or upgrades those of an earlier version of Millstream.

        Args:
            url: The location of the catalog, as in `open`.

        Example:
            >>> ms.Catalog.migrate(folder / "catalog.db")
        """
        from millstream.catalog.store.migrate import migrate_at

        migrate_at(url)

    def close(self) -> None:
        """Closes the connections to the database.

        Example:
            >>> ms.Catalog.open(folder / "catalog.db").close()
        """
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Catalog({self._opened.shown})"

    @property
    def _url(self) -> CatalogUrl:
        return self._opened.database.location

    @property
    def reader(self) -> CatalogReader:
        """The read-only part of the catalog.

        Example:
            >>> catalog.reader.dataset_names()
            ['fx']
        """
        return self._opened.reader

    @property
    def writer(self) -> CatalogWriter:
        """The part of the catalog that changes it.

        Example:
            >>> catalog.writer.expire_runs()
            []
        """
        return self._opened.writer

    def datasets(
        self, *, status: str | None = None, after: str | None = None, limit: int | None = None
    ) -> list[DatasetSummary]:
        """Lists datasets by name.

        Args:
            status: Only those that are `active` or `disabled`.
            after: Begin after this name: the last one of the page before.
            limit: At most so many.

        Returns:
            Summaries with the number of the latest active version.

        Example:
            >>> [(each.name, each.latest_version) for each in catalog.datasets()]
            [('fx', 1)]
        """
        wanted = None if status is None else require_status(status)
        return self.reader.datasets(status=wanted, after=after, limit=limit)

    def dataset(self, key: DatasetKey) -> Dataset:
        """Returns the definition of a dataset.

        Args:
            key: Its name or ID.

        Example:
            >>> [column.name for column in catalog.dataset("fx").table.columns]
            ['currency', 'rate']
        """
        return require_dataset(self.reader, key)

    def versions(self, key: DatasetKey) -> list[DatasetVersion]:
        """Lists the versions of a dataset, the newest first.

        Args:
            key: The name or ID of the dataset.

        Returns:
            All versions, disabled ones, too.

        Example:
            >>> [version.number for version in catalog.versions("fx")]
            [1]
        """
        return self.reader.versions(self.dataset(key).id)

    def version(self, key: DatasetKey, number: int | None = None) -> DatasetVersion:
        """Returns a version of a dataset.

        Args:
            key: The name or ID of the dataset.
            number: The number of the version; by default the latest active one.

        Returns:
            The version with its format, location, schema and content hash.

        Example:
            >>> catalog.version("fx").row_count
            2
        """
        return require_version(self.reader, self.dataset(key), number)

    def periods(self, *, level: str | None = None) -> list[Period]:
        """Lists periods by their first day.

        Args:
            level: Only those of this level, such as `month`.

        Returns:
            The periods; where two begin together, the longer one first.

        Example:
            >>> [period.identifier for period in catalog.periods(level="month")]
            ['2026-01']
        """
        return self.reader.periods(level=level)

    def projects(self) -> list[Project]:
        """Lists projects by name.

        Example:
            >>> catalog.projects()
            []
        """
        return self.reader.projects()

    def project(
        self,
        name: str,
        *,
        spark: SparkSession | None = None,
        base: str | os.PathLike[str] | None = None,
        resolvers: Mapping[str, ResolverFactory] | None = None,
    ) -> CatalogProject:
        """Returns a project, to activate, run and replay it.

        Args:
            name: The name of the project.
            spark: The session of its runs; by default the active one, or a new local one.
            base: Where relative paths of outputs and resolvers begin; by default the working
                directory.
            resolvers: Further resolvers by name. Each is a function of `config` and `base` that
                returns a `millstream.catalog.Resolver`.

        Returns:
            The project. A name that is not known is an error when the project is used.

        Example:
            >>> catalog.project("month-end").runs()
            []
        """
        from millstream.catalog.project import CatalogProject

        folder = Path.cwd() if base is None else Path(base)
        return CatalogProject(name, self.reader, self.writer, spark, folder, resolvers)

    def plan(self, path: str | os.PathLike[str]) -> Plan:
        """Compares the definitions of a folder with the catalog, and changes nothing.

        Args:
            path: A folder of YAML files, or one file.

        Returns:
            The changes.

        Example:
            >>> catalog.plan(folder / "definitions").changes
            ()
        """
        from millstream.catalog.definitions.load import load_definitions
        from millstream.catalog.definitions.plan import plan_changes

        written = load_definitions(Path(path))
        return plan_changes(self.reader.definitions(), written)

    def apply(self, source: str | os.PathLike[str] | Plan) -> Plan:
        """Stores the definitions of a folder, all of them or none.

        Definitions that are not in the folder stay in the catalog. A project that changes is a
        draft again.

        Args:
            source: A folder of YAML files, one file, or the result of `plan`.

        Returns:
            The changes that were made.

        Example:
            >>> catalog.apply(folder / "definitions").unchanged
            2
        """
        plan = self.plan(source) if isinstance(source, str | os.PathLike) else source
        if plan.stores:
            self.writer.apply(plan.definitions)
        return plan

    def export(self, path: str | os.PathLike[str]) -> list[Path]:
        """Writes all definitions as YAML files. Applying them changes nothing.

        Args:
            path: A folder that does not exist or is empty.

        Returns:
            The files.

        Example:
            >>> [file.name for file in catalog.export(folder / "export")]
            ['fx.yaml', 'month.yaml']
        """
        from millstream.catalog.definitions.export import export_definitions

        return export_definitions(self.reader.definitions(), Path(path))

    def publish(
        self,
        key: DatasetKey,
        location: str | os.PathLike[str],
        *,
        format: str | None = None,  # noqa: A002 -- as pandas and Spark call it
        options: Mapping[str, str] | None = None,
        note: str = "",
    ) -> DatasetVersion:
        """Publishes files as a new version of a dataset.

        The files stay where they are. Their columns, hashes and number of rows are recorded; every
        record of a CSV or JSON file is validated. They must not change afterwards.

        Args:
            key: The name or ID of the dataset.
            location: A file or folder, or a database as `jdbc:postgresql://…` with the option
                `table`. A version in a database is not reproducible.
            format: `parquet`, `csv`, `json` or `jdbc`; by default as the names of the files say.
            options: Options of the format, such as `delimiter` and `header` of CSV.
            note: A text for people.

        Returns:
            The version. Content that is published already is an error that names its version.

        Example:
            >>> _ = (folder / "fx-2.csv").write_text("currency,rate\\nEUR,1.09\\n")
            >>> catalog.publish("fx", folder / "fx-2.csv", note="correction").number
            2
        """
        from millstream.catalog.publishing.formats import data_format
        from millstream.catalog.publishing.prepare import prepare

        dataset = self.dataset(key)
        form: DataFormat | None = data_format(format) if format is not None else None
        content, files = prepare(
            dataset, os.fspath(location), form=form, options=options, note=note
        )
        return self.writer.publish(dataset.id, content, files, table=dataset.table)

    def diff(self, key: DatasetKey, old: int, new: int | None = None) -> VersionDifference:
        """Compares two versions of a dataset: columns, rows, files.

        Args:
            key: The name or ID of the dataset.
            old: The number of a version.
            new: The number of another version; by default the latest active one.

        Returns:
            The differences, as data and as `lines()`.

        Example:
            >>> list(catalog.diff("fx", 1, 1).lines())[0]
            'rows: 2 -> 2 (+0)'
        """
        from millstream.catalog.version_difference import compare_versions

        dataset = self.dataset(key)
        first = require_version(self.reader, dataset, old)
        second = require_version(self.reader, dataset, new)
        files = (self.reader.files(dataset.id, each.number) for each in (first, second))
        return compare_versions(dataset.name, first, second, *files)

    def disable(self, key: DatasetKey, *, version: int | None = None) -> None:
        """Disables a dataset, which can then not be used; or one version of it.

        A disabled version is not the latest one; what names its number still uses it.

        Args:
            key: The name or ID of the dataset.
            version: Disable only this version.

        Example:
            >>> catalog.disable("fx")
            >>> catalog.dataset("fx").status.value
            'disabled'
        """
        self._set_status(key, version, Status.DISABLED)

    def enable(self, key: DatasetKey, *, version: int | None = None) -> None:
        """Makes a disabled dataset, or one version of it, active again.

        Args:
            key: The name or ID of the dataset.
            version: Enable only this version.

        Example:
            >>> catalog.enable("fx", version=1)
        """
        self._set_status(key, version, Status.ACTIVE)

    def _set_status(self, key: DatasetKey, version: int | None, status: Status) -> None:
        dataset = self.dataset(key)
        if version is None:
            self.writer.set_dataset_status(dataset.id, status)
        else:
            found = require_version(self.reader, dataset, version)
            self.writer.set_version_status(dataset.id, found.number, status)
