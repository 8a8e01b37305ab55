"""Resolvers: locations, precedence, and what is wrong with a configuration."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import UTC, date, datetime
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from millstream import catalog
from millstream.catalog.execution.built_in_resolvers import DataLocation, PathResolver
from millstream.catalog.execution.resolver_registry import (
    GROUP,
    ResolverRegistry,
    installed_resolvers,
)
from millstream.catalog.model import (
    Column,
    DataFormat,
    Dataset,
    DatasetVersion,
    Period,
    Project,
    ProjectInput,
    ProjectOutput,
    ProjectOverride,
    ResolverRef,
    ResolverSource,
    Table,
)
from millstream.errors import ProjectError

FX = Dataset(UUID(int=1), "fx", Table("rates", (Column("rate", "double"),)))
VERSION = DatasetVersion(
    dataset_id=FX.id,
    number=3,
    published_at=datetime(2026, 1, 1, tzinfo=UTC),
    format=DataFormat.CSV,
    location="/data/fx.csv",
    schema=FX.table.columns,
    options={"delimiter": ";"},
)
JANUARY = Period("2026-01", date(2026, 1, 1), date(2026, 1, 31))
RESOLVERS = ResolverRegistry(Path("/base"))


def resolve(name: str, **config: str) -> DataLocation:
    return RESOLVERS.open(ResolverRef(name, config)).resolve(FX, VERSION, JANUARY)


def project(*overrides: ProjectOverride) -> Project:
    return Project("p", ProjectInput("fx"), ProjectOutput("out"), resolver_overrides=overrides)


def test_the_catalog_resolver_returns_the_published_location() -> None:
    assert resolve("catalog") == DataLocation(DataFormat.CSV, "/data/fx.csv", {"delimiter": ";"})


def test_the_table_resolver_returns_a_table_of_the_catalog_of_spark() -> None:
    found = resolve("table", table="finance.{name}_v{version}")
    assert found == DataLocation(DataFormat.TABLE, "finance.fx_v3")


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("data/{name}/v{version}/{period}.parquet", "/base/data/fx/v3/2026-01.parquet"),
        ("/abs/{table}-{start}-{end}.parquet", "/abs/rates-2026-01-01-2026-01-31.parquet"),
        ("s3://b/{id}.parquet", "s3://b/00000000-0000-0000-0000-000000000001.parquet"),
    ],
)
def test_a_path_template_is_filled_in(template: str, expected: str) -> None:
    assert resolve("path", template=template) == DataLocation(DataFormat.PARQUET, expected)


def test_the_format_of_a_path_is_that_of_its_suffix_or_the_version_or_as_configured() -> None:
    assert resolve("path", template="a.json").format is DataFormat.JSON
    folder = resolve("path", template="a")
    assert (folder.format, folder.options["delimiter"]) == (DataFormat.CSV, ";")
    assert resolve("path", template="a", format="parquet").format is DataFormat.PARQUET
    assert resolve("path", template="a.csv", delimiter="|").options["delimiter"] == "|"


def test_a_jdbc_resolver_names_a_table() -> None:
    found = resolve("jdbc", url="jdbc:sqlite:/data/fx.db", table="fx_v{version}")
    assert found == DataLocation(DataFormat.JDBC, "jdbc:sqlite:/data/fx.db", {"table": "fx_v3"})


@pytest.mark.parametrize(
    ("name", "config", "message"),
    [
        ("pth", {}, r"there is no resolver pth\. Did you mean path\?"),
        ("path", {}, "the resolver path needs the setting template"),
        ("path", {"template": "{perod}"}, r"placeholder {perod}, which is not known\. Known:"),
        ("path", {"template": "{period"}, "cannot be read"),
        ("path", {"template": "{period!r}"}, "placeholder {period} with a format or conversion"),
        ("path", {"template": "a", "formt": "csv"}, r"no setting formt\. Did you mean format\?"),
        ("path", {"template": "a", "format": "jdbc"}, "has the format jdbc"),
        ("path", {"template": "a.csv", "header": "no"}, "the option header is 'no'"),
        ("path", {"template": "a.json", "header": "true"}, "the format json has no option header"),
        ("catalog", {"template": "a"}, "the resolver catalog has no settings"),
        ("jdbc", {"url": "jdbc:sqlite:a.db"}, "needs the setting table"),
        ("table", {}, "the resolver table needs the setting table"),
        ("path", {"template": "a", "format": "table"}, "has the format table"),
        ("jdbc", {"url": "mysql://a", "table": "t"}, r"begins with jdbc:postgresql://"),
        ("jdbc", {"url": "postgresql://u:pw@h/d", "table": "t"}, "contains a password"),
    ],
)
def test_a_wrong_resolver_is_an_error(name: str, config: dict[str, str], message: str) -> None:
    with pytest.raises(ProjectError, match=message) as caught:
        RESOLVERS.open(ResolverRef(name, config))
    assert caught.value.code == "MS-PROJECT-RESOLVER"


def test_a_name_cannot_leave_the_folder_of_a_template() -> None:
    outside = Period("../../etc", JANUARY.start, JANUARY.end)
    resolver = RESOLVERS.open(ResolverRef("path", {"template": "data/{period}.csv"}))
    with pytest.raises(ProjectError, match="not a safe part of a path"):
        resolver.resolve(FX, VERSION, outside)


def test_a_project_override_precedes_the_resolver_of_the_dataset_and_the_default() -> None:
    own = ResolverRef("path", {"template": "own.csv"})
    override = ResolverRef("path", {"template": "override.csv"})
    with_own = Dataset(FX.id, FX.name, FX.table, resolver=own)
    by_name, by_id = ProjectOverride("FX", override), ProjectOverride(FX.id, override)
    other = ProjectOverride("customers", override)
    choose = RESOLVERS.choose
    assert choose(project(by_name), with_own) == (override, ResolverSource.PROJECT_OVERRIDE)
    assert choose(project(by_id), with_own) == (override, ResolverSource.PROJECT_OVERRIDE)
    assert choose(project(other), with_own) == (own, ResolverSource.DATASET_RESOLVER)
    assert choose(project(other), FX) == (ResolverRef("catalog"), ResolverSource.SYSTEM_DEFAULT)


def test_the_system_default_can_be_another_resolver_and_a_resolver_can_be_added() -> None:
    class LakeResolver:
        def resolve(
            self, dataset: Dataset, version: DatasetVersion, period: Period
        ) -> DataLocation:
            path = f"/lake/{dataset.name}/{version.number}/{period.identifier}"
            return DataLocation(DataFormat.PARQUET, path)

    lake = ResolverRegistry(
        Path("/"), ResolverRef("lake"), {"lake": lambda _config, _base: LakeResolver()}
    )
    reference, source = lake.choose(project(), FX)
    assert source is ResolverSource.SYSTEM_DEFAULT
    assert lake.open(reference).resolve(FX, VERSION, JANUARY).location == "/lake/fx/3/2026-01"


class ArchiveResolver:
    """A resolver of another package."""

    def __init__(self, config: Mapping[str, str], base: Path) -> None:
        self.folder = base / config["folder"]

    def resolve(self, dataset: Dataset, version: DatasetVersion, period: Period) -> DataLocation:
        path = f"{self.folder}/{dataset.name}-{version.number}-{period.identifier}.json"
        return DataLocation(DataFormat.JSON, path)


def test_a_resolver_is_added_by_name_and_its_options_are_completed() -> None:
    resolvers = RESOLVERS.with_factories({"archive": ArchiveResolver})
    reference = ResolverRef("archive", {"folder": "old"})
    found = resolvers.resolve(reference, FX, VERSION, JANUARY)
    path = "/base/old/fx-3-2026-01.json"
    assert found == DataLocation(DataFormat.JSON, path, {"encoding": "utf-8"})


def test_a_built_in_resolver_cannot_be_replaced() -> None:
    with pytest.raises(ProjectError, match="the resolver path is built in") as caught:
        RESOLVERS.with_factories({"path": ArchiveResolver})
    assert caught.value.code == "MS-PROJECT-RESOLVER"


def test_what_is_not_a_location_is_an_error() -> None:
    class Wrong:
        def resolve(self, *_: object) -> str:
            return "/data/fx.csv"

    wrong: Any = lambda _config, _base: Wrong()  # noqa: E731
    resolvers = RESOLVERS.with_factories({"wrong": wrong})
    with pytest.raises(ProjectError, match="wrong returned str for fx, not a DataLocation"):
        resolvers.resolve(ResolverRef("wrong"), FX, VERSION, JANUARY)


def test_resolvers_of_other_packages_are_found_and_loaded_when_used(monkeypatch) -> None:
    points = [
        EntryPoint("archive", f"{__name__}:ArchiveResolver", GROUP),
        EntryPoint("broken", "no_such_package:create", GROUP),
        EntryPoint("path", "no_such_package:create", GROUP),
        EntryPoint("twice", "one:create", GROUP),
        EntryPoint("twice", "two:create", GROUP),
    ]
    monkeypatch.setattr(
        "millstream.catalog.execution.resolver_registry.entry_points", lambda **_: points
    )
    monkeypatch.setitem(sys.modules, __name__, sys.modules[ArchiveResolver.__module__])
    resolvers = ResolverRegistry(Path("/base"), factories=installed_resolvers.__wrapped__())
    assert isinstance(resolvers.open(ResolverRef("archive", {"folder": "a"})), ArchiveResolver)
    assert isinstance(resolvers.open(ResolverRef("path", {"template": "a.csv"})), PathResolver)
    with pytest.raises(ProjectError, match=r"broken \(no_such_package:create\) cannot be imported"):
        resolvers.open(ResolverRef("broken"))
    with pytest.raises(ProjectError, match="several packages declare the resolver twice"):
        resolvers.open(ResolverRef("twice"))


def test_public_names_are_importable() -> None:
    assert {name: getattr(catalog, name) for name in catalog.__all__}.keys() == set(catalog.__all__)
    with pytest.raises(AttributeError):
        catalog.unknown  # noqa: B018
