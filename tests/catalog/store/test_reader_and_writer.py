"""What is written to a catalog is read again, in SQLite and in PostgreSQL."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from uuid import uuid4

import pytest
import sqlalchemy as sa
from tests.catalog.samples import FILES, add_dataset, content, dataset

from millstream.catalog.catalog import Catalog
from millstream.catalog.model import (
    Column,
    DataFormat,
    Definitions,
    Period,
    Positions,
    Project,
    ProjectInput,
    ProjectOutput,
    ProjectStatus,
    Status,
    Table,
    TemporalMode,
    VersionFile,
)
from millstream.catalog.store.open import OpenCatalog, open_catalog
from millstream.errors import CatalogError, Place


def test_a_dataset_is_found_by_id_and_by_name_in_any_case(catalog: OpenCatalog):
    fx = add_dataset(catalog, "FX")
    assert catalog.reader.find_dataset(fx.id) == fx
    assert catalog.reader.find_dataset("fx") == fx
    assert catalog.reader.find_dataset("other") is None
    assert catalog.reader.find_dataset(uuid4()) is None


def test_positions_are_stored_with_a_definition(catalog: OpenCatalog):
    at = Positions(Place(3, 5, file="fx.yaml"), {"name": Place(3, 11, file="fx.yaml")})
    catalog.writer.apply(Definitions(0, (replace(dataset("fx"), positions=at),)))
    found = catalog.reader.find_dataset("fx")
    assert found is not None
    assert found.positions == at


def test_the_key_is_stored_and_missing_in_catalogs_of_earlier_versions(catalog: OpenCatalog):
    fx = replace(dataset("fx"), table=Table("fx", (Column("id", "bigint"),), key=("id",)))
    catalog.writer.apply(Definitions(0, (fx,)))
    catalog.writer.publish(fx.id, replace(content("sha256:1"), key=("id",)), FILES)
    assert catalog.reader.find_dataset("fx") == fx
    version = catalog.reader.find_version(fx.id, 1)
    assert version is not None
    assert version.key == ("id",)
    with catalog.database.write_transaction() as connection:
        for table, column in (("datasets", "definition"), ("versions", "content")):
            name = f"millstream_{table}"
            written = f"UPDATE {name} SET {column} = replace({column}, ',\"key\"', ',\"unknown\"')"
            connection.execute(sa.text(written))
    found, version = catalog.reader.find_dataset("fx"), catalog.reader.find_version(fx.id, 1)
    assert found is not None
    assert version is not None
    assert (found.table.key, version.key) == ((), ())


def test_versions_are_numbered_from_one(catalog: OpenCatalog):
    fx, other = add_dataset(catalog, "fx"), add_dataset(catalog, "other")
    first = catalog.writer.publish(fx.id, content("sha256:1"), FILES)
    second = catalog.writer.publish(fx.id, content("sha256:2"), FILES)
    assert (first.number, second.number) == (1, 2)
    assert catalog.writer.publish(other.id, content("sha256:1"), FILES).number == 1
    assert catalog.reader.find_version(fx.id, 1) == first
    assert catalog.reader.find_version(fx.id, 3) is None
    assert catalog.reader.find_version(fx.id, 2**40) is None
    assert catalog.reader.versions(fx.id) == [second, first]
    assert catalog.reader.files(fx.id, 1) == FILES


def test_a_version_has_the_content_that_was_published(catalog: OpenCatalog):
    clock = datetime(2026, 2, 1, 8, 30, 0, 123456, tzinfo=UTC)
    writer = replace(catalog.writer, clock=lambda _: clock)
    fx = add_dataset(catalog, "fx")
    given = replace(content("sha256:1"), options={"delimiter": ";"}, note="January")
    files = (VersionFile("b/2.csv", 7, 5, "ff"), VersionFile("a.csv", 2**40, 2**62, "ee"))
    writer.publish(fx.id, given, files)
    found = catalog.reader.find_latest_version(fx.id)
    assert found is not None
    assert (found.published_at, found.file_count, found.total_bytes) == (clock, 2, 2**40 + 7)
    assert (found.format, found.location, found.schema) == (
        DataFormat.CSV,
        given.location,
        given.schema,
    )
    assert (found.options, found.note, found.row_count) == ({"delimiter": ";"}, "January", 2)
    assert [file.path for file in catalog.reader.files(fx.id, 1)] == ["a.csv", "b/2.csv"]


def test_content_that_is_published_already_is_rejected_with_its_version(catalog: OpenCatalog):
    fx = add_dataset(catalog, "fx")
    catalog.writer.publish(fx.id, content("sha256:1"), FILES)
    catalog.writer.publish(fx.id, content("sha256:2"), FILES)
    with pytest.raises(CatalogError, match="already published as version 1 of fx") as error:
        catalog.writer.publish(fx.id, content("sha256:1"), FILES)
    assert error.value.code == "MS-CATALOG-PUBLISHED"
    assert [version.number for version in catalog.reader.versions(fx.id)] == [2, 1]


def test_versions_without_content_hash_are_all_published(catalog: OpenCatalog):
    fx = add_dataset(catalog, "fx")
    numbers = [catalog.writer.publish(fx.id, content(None), ()).number for _ in range(2)]
    assert numbers == [1, 2]
    assert not catalog.reader.versions(fx.id)[0].reproducible


def test_the_latest_version_is_the_newest_active_one(catalog: OpenCatalog):
    fx = add_dataset(catalog, "fx")
    assert catalog.reader.find_latest_version(fx.id) is None
    for number in (1, 2, 3):
        catalog.writer.publish(fx.id, content(f"sha256:{number}"), FILES)
    catalog.writer.set_version_status(fx.id, 3, Status.DISABLED)
    latest = catalog.reader.find_latest_version(fx.id)
    assert latest is not None
    assert latest.number == 2
    (summary,) = catalog.reader.datasets()
    assert (summary.versions, summary.latest_version) == (3, 2)
    assert summary.published_at == latest.published_at
    catalog.writer.set_version_status(fx.id, 3, Status.ACTIVE)
    assert catalog.reader.find_latest_version(fx.id) == catalog.reader.find_version(fx.id, 3)


def test_an_unknown_version_cannot_be_disabled(catalog: OpenCatalog):
    fx = add_dataset(catalog, "fx")
    with pytest.raises(CatalogError, match="the dataset fx has no version 4") as error:
        catalog.writer.set_version_status(fx.id, 4, Status.DISABLED)
    assert error.value.code == "MS-CATALOG-UNKNOWN"


def test_a_dataset_is_disabled_and_enabled(catalog: OpenCatalog):
    fx = add_dataset(catalog, "fx")
    add_dataset(catalog, "other")
    catalog.writer.set_dataset_status(fx.id, Status.DISABLED)
    assert catalog.reader.find_dataset("fx") == replace(fx, status=Status.DISABLED)
    active = catalog.reader.datasets(status=Status.ACTIVE)
    assert [each.name for each in active] == ["other"]
    catalog.writer.set_dataset_status(fx.id, Status.ACTIVE)
    assert catalog.reader.find_dataset("fx") == fx


def test_datasets_are_listed_in_pages_by_name(catalog: OpenCatalog):
    names = ["b", "A", "d", "C"]
    catalog.writer.apply(Definitions(0, tuple(map(dataset, names))))
    first = catalog.reader.datasets(limit=3)
    assert [each.name for each in first] == ["A", "b", "C"]
    assert [each.name for each in catalog.reader.datasets(after="C", limit=3)] == ["d"]
    assert catalog.reader.dataset_names() == ["A", "b", "C", "d"]


def test_two_datasets_can_exchange_their_names(catalog: OpenCatalog):
    one, two = add_dataset(catalog, "one"), add_dataset(catalog, "two")
    swapped = (replace(one, name="two"), replace(two, name="one"))
    catalog.writer.apply(Definitions(2, swapped))
    assert catalog.reader.find_dataset("one") == swapped[1]
    assert catalog.reader.find_dataset("two") == swapped[0]


def test_changes_planned_for_another_revision_are_rejected(catalog: OpenCatalog):
    revision = catalog.reader.definitions().revision
    fx = add_dataset(catalog, "fx")
    with pytest.raises(CatalogError, match="another process changed the catalog") as error:
        catalog.writer.apply(Definitions(revision, (dataset("late"),)))
    assert error.value.code == "MS-CATALOG-CONFLICT"
    assert catalog.reader.definitions() == Definitions(revision + 1, (fx,))


def test_the_temporal_mode_of_a_dataset_with_versions_does_not_change(catalog: OpenCatalog):
    fx = add_dataset(catalog, "fx")
    table = replace(fx.table, temporal_mode=TemporalMode.PERIOD)
    changed = replace(fx, table=table, positions=Positions(Place(3, 5, file="fx.yaml")))
    catalog.writer.publish(fx.id, content("sha256:1"), FILES)
    with pytest.raises(CatalogError, match="has versions with the temporal mode none") as error:
        catalog.writer.apply(Definitions(1, (dataset("other"), changed)))
    assert (error.value.code, error.value.place) == ("MS-CATALOG-CHANGE", changed.positions.start)
    assert catalog.reader.definitions() == Definitions(1, (fx,))
    catalog.writer.apply(Definitions(1, (replace(fx, description="rates"),)))


def test_the_temporal_mode_of_a_dataset_without_versions_can_change(catalog: OpenCatalog):
    fx = add_dataset(catalog, "fx")
    changed = replace(fx, table=replace(fx.table, temporal_mode=TemporalMode.PERIOD))
    catalog.writer.apply(Definitions(1, (changed,)))
    assert catalog.reader.find_dataset("fx") == changed


def test_files_validated_against_another_table_are_not_published(catalog: OpenCatalog):
    fx = add_dataset(catalog, "fx")
    changed = replace(fx, table=Table("fx", (Column("id", "string"),)))
    catalog.writer.apply(Definitions(1, (changed,)))
    with pytest.raises(CatalogError, match="changed the dataset fx while its files") as error:
        catalog.writer.publish(fx.id, content("sha256:1"), FILES, table=fx.table)
    assert error.value.code == "MS-CATALOG-CONFLICT"
    assert catalog.reader.versions(fx.id) == []
    assert catalog.writer.publish(fx.id, content(), FILES, table=changed.table).number == 1


def test_a_location_with_a_password_is_not_stored(catalog: OpenCatalog):
    fx = add_dataset(catalog, "fx")
    with pytest.raises(CatalogError, match="contains a password") as error:
        catalog.writer.publish(fx.id, content(location="jdbc:postgresql://u:pw@h/d"), ())
    assert error.value.code == "MS-CATALOG-SECRET"


def test_periods_are_read_by_start_the_longer_first(catalog: OpenCatalog):
    year = Period("2026", date(2026, 1, 1), date(2026, 12, 31), "year")
    january = Period("2026-01", date(2026, 1, 1), date(2026, 1, 31), "month", "2026")
    february = Period("2026-02", date(2026, 2, 1), date(2026, 2, 28), "month", "2026")
    catalog.writer.apply(Definitions(0, periods=(february, january, year)))
    assert catalog.reader.periods() == [year, january, february]
    assert catalog.reader.periods(level="month") == [january, february]
    assert catalog.reader.find_period("2026-02") == february
    assert catalog.reader.find_period("2026-03") is None


def _project(name: str = "Month_End") -> Project:
    return Project(name, ProjectInput("gl"), ProjectOutput("/out"))


def test_a_project_is_activated_at_the_revision_that_was_validated(catalog: OpenCatalog):
    catalog.writer.apply(Definitions(0, projects=(_project(),)))
    assert catalog.reader.find_project("month_end") == _project()
    active = catalog.writer.activate_project("Month_end", 1)
    assert active == replace(_project(), status=ProjectStatus.ACTIVE)
    assert catalog.reader.projects() == [active]


def test_a_plan_made_before_an_activation_does_not_undo_it(catalog: OpenCatalog):
    catalog.writer.apply(Definitions(0, projects=(_project(),)))
    planned = catalog.reader.definitions()
    catalog.writer.activate_project("month_end", 1)
    with pytest.raises(CatalogError, match="MS-CATALOG-CONFLICT"):
        catalog.writer.apply(planned)
    (project,) = catalog.reader.projects()
    assert project.status is ProjectStatus.ACTIVE


def test_a_project_that_changed_during_validation_stays_a_draft(catalog: OpenCatalog):
    changed = replace(_project(), revision=2)
    catalog.writer.apply(Definitions(0, projects=(changed,)))
    with pytest.raises(CatalogError, match="changed the project Month_End") as error:
        catalog.writer.activate_project("Month_End", 1)
    assert error.value.code == "MS-CATALOG-CONFLICT"
    assert catalog.reader.find_project("month_end") == changed


def test_a_catalog_is_the_same_when_it_is_opened_again(catalog: OpenCatalog, catalog_url: str):
    fx = add_dataset(catalog, "fx")
    version = catalog.writer.publish(fx.id, content("sha256:1"), FILES)
    again = open_catalog(catalog_url)
    assert again.reader.definitions() == catalog.reader.definitions()
    assert again.reader.versions(fx.id) == [version]
    again.close()


def test_a_status_that_does_not_exist_is_rejected(tmp_path):
    with Catalog.open(tmp_path / "c.db") as opened, pytest.raises(CatalogError) as error:
        opened.datasets(status="actve")
    assert (error.value.code, error.value.fix) == ("MS-CATALOG-VALUE", "Did you mean active?")
