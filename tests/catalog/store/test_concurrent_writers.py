"""Several processes write to one catalog at once, in SQLite and in PostgreSQL."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import chain

from tests.catalog.samples import add_dataset

from millstream.catalog.store.open import OpenCatalog

PROCESSES = 4
PUBLISH = """
import json, sys
from tests.catalog.samples import FILES, content
from uuid import UUID
from millstream.catalog.store.open import open_catalog
from millstream.errors import CatalogError
url, dataset, *hashes = sys.argv[1:]
catalog = open_catalog(url)
print("ready", flush=True)
sys.stdin.readline()
results = []
for each in hashes:
    try:
        results.append(catalog.writer.publish(UUID(dataset), content(each), FILES).number)
    except CatalogError as error:
        results.append(error.code)
print(json.dumps(results))
"""
RUN = """
import sys
from millstream.catalog.store.open import open_catalog
from millstream.errors import CatalogError
catalog = open_catalog(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
try:
    catalog.writer.create_run(project="p", project_revision=1, period="2026-01",
        owner=sys.argv[2], lease_seconds=60, output="/out")
    print("created")
except CatalogError as error:
    print(error.code)
"""
OPEN = """
import sys
from millstream.catalog.store.open import open_catalog
print("ready", flush=True)
sys.stdin.readline()
print(open_catalog(sys.argv[1], create=True).reader.definitions().revision)
"""


def _at_once(code: str, arguments: list[list[str]]) -> list[str]:
    """Starts a process for each list of arguments, and lets them go when all are ready."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, *each],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for each in arguments
    ]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    outputs = [process.communicate(timeout=120)[0] for process in started]
    assert [process.returncode for process in started] == [0] * len(started)
    return outputs


def test_versions_of_concurrent_processes_have_unique_consecutive_numbers(
    catalog: OpenCatalog, catalog_url: str
):
    fx, each = add_dataset(catalog, "fx"), 15
    hashes = [[f"sha256:{p}-{n}" for n in range(each)] for p in range(PROCESSES)]
    outputs = _at_once(PUBLISH, [[catalog_url, str(fx.id), *some] for some in hashes])
    numbers = [json.loads(output) for output in outputs]
    assert sorted(chain(*numbers)) == list(range(1, PROCESSES * each + 1))
    assert all(some == sorted(some) for some in numbers)
    found = {version.number: version.content_hash for version in catalog.reader.versions(fx.id)}
    published = zip(chain(*numbers), chain(*hashes), strict=True)
    assert found == dict(published)


def test_one_of_two_processes_publishes_the_same_content(catalog: OpenCatalog, catalog_url: str):
    fx = add_dataset(catalog, "fx")
    same = [f"sha256:{n}" for n in range(10)]
    outputs = _at_once(PUBLISH, [[catalog_url, str(fx.id), *same]] * 2)
    first, second = (json.loads(output) for output in outputs)
    for one, other in zip(first, second, strict=True):
        assert {type(one), type(other)} == {int, str}
        assert "MS-CATALOG-PUBLISHED" in (one, other)
    assert [version.number for version in catalog.reader.versions(fx.id)] == [*range(10, 0, -1)]


def test_one_of_several_processes_gets_the_run_of_an_output(catalog_url: str):
    outputs = _at_once(RUN, [[catalog_url, f"owner-{n}"] for n in range(PROCESSES)])
    rejected = ["MS-CATALOG-RUNNING\n"] * (PROCESSES - 1)
    assert sorted(outputs) == [*rejected, "created\n"]


def test_several_processes_create_one_sqlite_file(tmp_path):
    path = str(tmp_path / "new.db")
    assert _at_once(OPEN, [[path]] * PROCESSES) == ["0\n"] * PROCESSES


def test_a_reader_sees_whole_versions_while_a_process_publishes(
    catalog: OpenCatalog, catalog_url: str
):
    fx = add_dataset(catalog, "fx")
    hashes = [f"sha256:{n}" for n in range(30)]
    process = subprocess.Popen(
        [sys.executable, "-c", PUBLISH, catalog_url, str(fx.id), *hashes],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    process.stdout.readline()
    process.stdin.write("go\n")
    process.stdin.flush()
    seen: list[int] = []
    while process.poll() is None:
        latest = catalog.reader.find_latest_version(fx.id)
        if latest is not None:
            seen.append(latest.number)
            assert len(catalog.reader.files(fx.id, latest.number)) == latest.file_count == 1
    assert json.loads(process.communicate()[0]) == list(range(1, 31))
    assert seen == sorted(seen)
