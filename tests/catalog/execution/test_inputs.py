"""Files of a snapshot that are not those recorded: changed, missing, or added."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest
from tests.catalog.samples import snapshot

from millstream.catalog.execution.inputs import require_unchanged, verify
from millstream.catalog.model import DatasetSnapshot, ResolverSnapshot
from millstream.catalog.publishing.files import describe_files
from millstream.errors import ProjectRunError

Found = TypeVar("Found", bound=DatasetSnapshot)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def reading(given: Path, joined: Path) -> ResolverSnapshot:
    """Returns a snapshot whose input (v2) and join (v3) are the files of two locations."""
    found = snapshot()
    return replace(
        found,
        input=recorded(found.input, given),
        join_datasets=(replace(recorded(found.join_datasets[0], joined), dataset_version=3),),
    )


def recorded(dataset: Found, location: Path) -> Found:
    return replace(dataset, location=str(location), files=describe_files(str(location)))


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Two folders, where the path of one is the beginning of the path of the other."""
    for name in ("fx", "fx-2"):
        write(tmp_path / name / "a.csv", "1")
    return tmp_path / "fx", tmp_path / "fx-2"


@pytest.mark.parametrize("content", [True, False])
def test_a_file_that_was_added_to_a_folder_is_rejected(
    folders: tuple[Path, Path], content: bool
) -> None:
    given = reading(*folders)
    verify(given, content=content)
    write(folders[1] / "_SUCCESS", "")  # Spark does not read it
    verify(given, content=content)
    write(folders[1] / "b.csv", "2")
    with pytest.raises(ProjectRunError, match=r"fx-2 of fx v3 .* b\.csv is not recorded") as caught:
        verify(given, content=content)
    assert caught.value.code == "MS-PROJECT-FILE-CHANGED"


def test_both_versions_of_one_location_are_verified(tmp_path: Path) -> None:
    path = write(tmp_path / "fx.csv", "1")
    given = reading(path, path)
    path.write_text("22")
    given = replace(given, join_datasets=reading(path, path).join_datasets)
    with pytest.raises(ProjectRunError, match=r"of fx v2 .* it has 2 instead of 1 bytes"):
        verify(given)


def test_a_folder_that_cannot_be_read_is_an_error_with_a_code(folders: tuple[Path, Path]) -> None:
    given = replace(reading(*folders), join_datasets=())
    wrong = replace(given, input=replace(given.input, location="nowhere://x/y"))
    with pytest.raises(ProjectRunError, match="fx v2: nowhere://x/y cannot be read") as caught:
        verify(wrong)
    assert caught.value.code == "MS-PROJECT-FILE-MISSING"


def test_a_change_during_a_run_names_what_happened_and_to_which_dataset(
    folders: tuple[Path, Path],
) -> None:
    verified = verify(reading(*folders))
    require_unchanged(verified)
    path = folders[1] / "a.csv"
    os.utime(path, ns=(1, 1))
    with pytest.raises(ProjectRunError, match=r"fx-2/a\.csv of fx v3 .* was modified while"):
        require_unchanged(verified)
    path.unlink()
    write(folders[1] / "b.csv", "1")
    with pytest.raises(ProjectRunError, match=r"a\.csv of fx v3 does not exist") as caught:
        require_unchanged(verified)
    assert caught.value.code == "MS-PROJECT-FILE-MISSING"
    verified = verify(reading(*folders))
    write(folders[0] / "b.csv", "1")
    with pytest.raises(ProjectRunError, match=r"b\.csv was added while the run was reading"):
        require_unchanged(verified)
