"""Which files a path names: folders, partition folders, patterns, all folders below."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.catalog.publishing.object_store import BUCKET, ObjectStore, serve

from millstream.connectors.file.folders import base_of
from millstream.connectors.file.listing import listing_of

FILES = (
    "a.csv",
    "b.json",
    "_hidden.csv",
    ".hidden.csv",
    "dt=2026-01-01/c.csv",
    "dt=2026-01-01/hour=7/d.csv",
    "dt=2026-01-02/e.csv",
    "_dt=1/f.csv",
    "sub/g.csv",
    "sub/deep/h.csv",
    "sub/dt=1/i.csv",
    ".sub/j.csv",
    "_writing-0/000000-0.csv",
    "dt=2026-01-01/_compaction/old/k.csv",
)
PARTITIONED = {
    "a.csv",
    "b.json",
    "dt=2026-01-01/c.csv",
    "dt=2026-01-01/hour=7/d.csv",
    "dt=2026-01-02/e.csv",
    "_dt=1/f.csv",
}
BELOW = {"sub/g.csv", "sub/deep/h.csv", "sub/dt=1/i.csv"}
CASES = [
    ("", False, PARTITIONED),
    ("", True, PARTITIONED | BELOW),
    ("a.csv", False, {"a.csv"}),
    ("*.csv", False, {"a.csv"}),
    ("[ab].{csv,json}", False, {"a.csv", "b.json"}),
    ("[!a].*", False, {"b.json"}),
    ("?.csv", False, {"a.csv"}),
    ("dt=2026-01-0[2-9]", False, {"dt=2026-01-02/e.csv"}),
    ("dt=*/*.csv", False, {"dt=2026-01-01/c.csv", "dt=2026-01-02/e.csv"}),
    ("sub*", False, {"sub/g.csv", "sub/dt=1/i.csv"}),
    ("sub*", True, BELOW),
    ("s?b/*/*.csv", False, {"sub/deep/h.csv", "sub/dt=1/i.csv"}),
    ("**/*.csv", False, {each for each in PARTITIONED | BELOW if each[0] != "_"} - {"b.json"}),
    ("**/h.csv", False, {"sub/deep/h.csv"}),
    ("sub/**/dt=1", False, {"sub/dt=1/i.csv"}),
    ("nothing/*.csv", False, set()),
]


@pytest.mark.parametrize(("pattern", "recursive", "expected"), CASES)
def test_local_files(tmp_path: Path, pattern: str, recursive: bool, expected: set[str]) -> None:
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    listing = listing_of(f"{tmp_path}/{pattern}".rstrip("/"), recursive=recursive)
    found = listing.paths()
    assert sorted(str(Path(path).relative_to(tmp_path)) for path in found) == sorted(expected)
    statuses = listing.statuses([*found, f"{tmp_path}/gone", str(tmp_path)])
    assert {path: each.size for path, each in statuses.items()} == {
        path: len(str(Path(path).relative_to(tmp_path))) for path in found
    }


def test_objects_of_a_store(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    store = ObjectStore()
    for name in FILES:
        store.put(f"in/{name}", name, datetime(2026, 1, 1, tzinfo=UTC))
    with serve(store) as url:
        folder = f"s3://{BUCKET}"
        query = f"?scheme=http&endpoint_override={url.removeprefix('http://')}"
        for pattern, recursive, expected in CASES:
            path = f"{folder}/in/{pattern}".rstrip("/") + query
            listing = listing_of(path, recursive=recursive)
            found = listing.paths()
            assert sorted(found) == sorted(f"{folder}/in/{name}{query}" for name in expected)
            sizes = {each.size for each in listing.statuses(found).values()}
            assert sizes == {len(name) for name in expected}


def test_a_path_that_exists_is_no_pattern(tmp_path):
    (tmp_path / "in [1]").mkdir()
    (tmp_path / "in [1]/x{.csv").touch()
    for path in ("in [1]", "in [1]/x{.csv"):
        found = listing_of(f"{tmp_path}/{path}", recursive=False).paths()
        assert found == [f"{tmp_path}/in [1]/x{{.csv"]


def test_links_to_folders_are_followed_once_and_files_that_are_none_are_ignored(tmp_path):
    import os

    (tmp_path / "in/sub").mkdir(parents=True)
    (tmp_path / "in/sub/a.csv").touch()
    (tmp_path / "in/sub/up").symlink_to(tmp_path / "in")
    (tmp_path / "in/broken.csv").symlink_to(tmp_path / "gone")
    os.mkfifo(tmp_path / "in/pipe.csv")
    listing = listing_of(str(tmp_path / "in"), recursive=True)
    assert list(listing.statuses(listing.paths())) == [f"{tmp_path}/in/sub/a.csv"]


def test_the_base_of_a_url_has_no_options_and_no_pattern():
    url = "s3://lake/in/dt=*/x.csv?endpoint_override=127.0.0.1:1&scheme=http"
    assert base_of(url) == "s3://lake/in"
    assert base_of("s3://lake/in/file?.csv") == "s3://lake/in"
    assert base_of("/data/in") == "/data/in"
