"""Files of an object store, read by Arrow's S3 file system: publishing and verification."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from tests.catalog.publishing.object_store import BUCKET, ObjectStore, serve
from tests.catalog.publishing.samples import CSV, FX, rejected, write_csv

from millstream.catalog.execution.inputs import verify_files
from millstream.catalog.model import VersionFile
from millstream.catalog.publishing.prepare import prepare
from millstream.errors import ProjectRunError

LOCATION = f"s3://{BUCKET}/fx"
PUBLISHED = datetime(2026, 1, 31, 10, 0, 0, 123_000, UTC)
OTHER = CSV.replace("1.08", "1.09")  # of the same size


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    """A bucket with the files `fx/a.csv` and `fx/b.csv`."""
    found = ObjectStore()
    found.put("fx/a.csv", CSV, PUBLISHED)
    found.put("fx/b.csv", CSV, PUBLISHED)
    with serve(found) as url:
        for name, value in {
            "AWS_ENDPOINT_URL": url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }.items():
            monkeypatch.setenv(name, value)
        yield found


@pytest.fixture
def published(store: ObjectStore) -> tuple[VersionFile, ...]:
    """The files of the bucket as a version records them."""
    _, files = prepare(FX, LOCATION)
    store.reads.clear()
    return files


def require_changed(files: tuple[VersionFile, ...], *, content: bool = False) -> str:
    """Asserts that the files have changed, and returns how."""
    with pytest.raises(ProjectRunError) as caught:
        verify_files("fx v1", LOCATION, files, content=content)
    assert caught.value.code == "MS-PROJECT-FILE-CHANGED"
    return caught.value.cause


def test_a_folder_of_an_object_store_is_published(store: ObjectStore, tmp_path) -> None:
    content, files = prepare(FX, LOCATION)
    assert (content.location, content.row_count) == (LOCATION, 4)
    assert [(each.path, each.size) for each in files] == [("a.csv", len(CSV)), ("b.csv", len(CSV))]
    assert {each.modified_ns for each in files} == {int(PUBLISHED.timestamp() * 1000) * 1_000_000}
    for name in ("a.csv", "b.csv"):
        write_csv(tmp_path / "fx", name=name)
    assert content.content_hash == prepare(FX, str(tmp_path / "fx"))[0].content_hash


@pytest.mark.parametrize("scheme", ["s3", "s3a"])
def test_a_single_object_is_published_and_verified(store: ObjectStore, scheme: str) -> None:
    place = f"{scheme}://{BUCKET}/fx/a.csv"
    content, files = prepare(FX, place)
    assert (content.location, [each.path for each in files]) == (place, [""])
    verify_files("fx v1", place, files)
    store.put("fx/a.csv", OTHER, PUBLISHED + timedelta(seconds=1))
    with pytest.raises(ProjectRunError, match=r"://lake/fx/a\.csv of fx v1 has changed"):
        verify_files("fx v1", place, files)


def test_sizes_and_times_are_compared_without_reading_objects(
    store: ObjectStore, published: tuple[VersionFile, ...]
) -> None:
    verify_files("fx v1", LOCATION, published)
    store.put("fx/b.csv", OTHER, PUBLISHED + timedelta(milliseconds=1))
    assert "its modification time differs" in require_changed(published)
    store.put("fx/b.csv", CSV + "JPY,1\n", PUBLISHED)
    assert "instead of" in require_changed(published)
    assert store.reads == []


def test_an_object_of_the_same_size_and_time_is_found_by_its_content(
    store: ObjectStore, published: tuple[VersionFile, ...]
) -> None:
    store.put("fx/b.csv", OTHER, PUBLISHED)
    verify_files("fx v1", LOCATION, published)
    assert "its content has another hash" in require_changed(published, content=True)
    # An object that was copied has another time and the same content.
    store.put("fx/b.csv", CSV, PUBLISHED + timedelta(days=1))
    verify_files("fx v1", LOCATION, published, content=True)


def test_objects_that_were_added_or_deleted_are_found(
    store: ObjectStore, published: tuple[VersionFile, ...]
) -> None:
    store.put("fx/c.csv", CSV, PUBLISHED)
    assert "its file c.csv is not recorded" in require_changed(published)
    del store.objects["fx/c.csv"]
    del store.objects["fx/b.csv"]
    with pytest.raises(ProjectRunError, match=r"s3://lake/fx/b\.csv of fx v1 does not exist") as e:
        verify_files("fx v1", LOCATION, published)
    assert e.value.code == "MS-PROJECT-FILE-MISSING"


def test_a_place_without_objects_is_rejected(store: ObjectStore) -> None:
    error = rejected(f"s3://{BUCKET}/nothing")
    assert (error.code, error.fix) == ("MS-CATALOG-LOCATION", "Check the path.")
    assert error.cause == "s3://lake/nothing cannot be read: it does not exist."


@pytest.mark.parametrize("name", ["a b.csv", "a%20b.csv", "a?b.csv", "é.csv"])
def test_a_name_that_cannot_be_part_of_a_url_is_rejected(store: ObjectStore, name: str) -> None:
    store.put(f"fx/{name}", CSV, PUBLISHED)
    error = rejected(LOCATION)
    assert error.code == "MS-CATALOG-LOCATION"
    assert f"the name of its file {name!r} has characters" in error.cause


@pytest.mark.parametrize("change", ["modified", "added"])
def test_objects_that_change_while_they_are_read_are_rejected(
    store: ObjectStore, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    def changing(*_: object) -> object:
        later = PUBLISHED + timedelta(minutes=1)
        store.put("fx/a.csv" if change == "modified" else "fx/c.csv", CSV, later)
        return original()

    original = hashlib.sha256
    monkeypatch.setattr("millstream.catalog.publishing.files.hashlib.sha256", changing)
    error = rejected(LOCATION)
    assert error.code == "MS-CATALOG-LOCATION"
    assert "changed while it was read" in error.cause
