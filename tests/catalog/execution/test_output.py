"""The output of a run is replaced in one step."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from millstream.catalog.execution import output
from millstream.catalog.model import DataFormat, ProjectOutput
from millstream.catalog.output_marker import MARKER
from millstream.errors import ProjectError


def folder(path: Path, content: str) -> Path:
    path.mkdir(parents=True)
    (path / "part").write_text(content)
    (path / MARKER).touch()
    return path


@pytest.mark.parametrize("exchange", [True, False], ids=["exchange", "rename"])
def test_a_new_output_takes_the_place_of_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchange: bool
) -> None:
    if not exchange:  # as on a file system that cannot exchange folders
        monkeypatch.setattr(output, "_exchange", lambda _one, _other: False)
    path = tmp_path / "out"
    for content in ("first", "second", "third"):
        output.replace_output(folder(tmp_path / f".out.run-{content}", content), path)
        assert (path / "part").read_text() == content
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


def test_a_failed_run_leaves_no_folder_and_removes_that_of_a_killed_one(tmp_path: Path) -> None:
    path = tmp_path / "a" / "out"
    killed = folder(path.parent / ".out.run-killed", "x")
    other = folder(path.parent / ".other.run-killed", "x")

    def fail() -> None:
        with output.staging_folder(path, uuid4()) as staged:
            assert not killed.exists()
            folder(staged, "partial")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(path.parent.iterdir()) == [other]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (ProjectOutput("out/{project}"), r"{project}, which is not known\. Known: {period}\."),
        (ProjectOutput("out/{period"), "cannot be read"),
        (ProjectOutput("out/{period:d}"), "placeholder {period} with a format"),
        (ProjectOutput("out/{period:{x}}"), "placeholder {period} with a format"),
        (ProjectOutput("out/{period!z}"), "placeholder {period} with a format"),
        (ProjectOutput("s3://bucket/out"), "is not a path"),
        (ProjectOutput("out", DataFormat.JDBC), "the output format jdbc is not supported"),
    ],
)
def test_an_output_that_no_run_can_write_is_an_error(
    tmp_path: Path, given: ProjectOutput, message: str
) -> None:
    with pytest.raises(ProjectError, match=message) as caught:
        output.output_path(given, tmp_path, "2026-01")
    assert caught.value.code == "MS-PROJECT-OUTPUT"


def test_the_period_is_part_of_the_path_and_cannot_leave_it(tmp_path: Path) -> None:
    given = ProjectOutput("out/{period}")
    assert output.output_path(given, tmp_path, "2026-01") == tmp_path / "out" / "2026-01"
    with pytest.raises(ProjectError, match="not a safe part of the path"):
        output.output_path(given, tmp_path, "../x")


@pytest.mark.parametrize("location", ["file:/data/out", "file:///data/out", "/data/out"])
def test_a_file_url_is_an_absolute_path(tmp_path: Path, location: str) -> None:
    assert output.output_path(ProjectOutput(location), tmp_path, "2026-01") == Path("/data/out")


def test_an_output_is_put_back_if_a_run_was_killed_between_two_renames(tmp_path: Path) -> None:
    path = tmp_path / "out"
    folder(tmp_path / ".out.run-killed-before", "old")
    folder(tmp_path / ".out.run-killed", "new")
    with output.staging_folder(path, uuid4()):
        assert (path / "part").read_text() == "old"
        assert [each.name for each in tmp_path.iterdir()] == ["out"]


def test_an_old_output_that_cannot_be_deleted_does_not_fail_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deny(path: Path, **_: object) -> None:
        raise PermissionError(str(path))

    path = folder(tmp_path / "out", "old")
    staged = folder(tmp_path / ".out.run-1", "new")
    monkeypatch.setattr("os.rmdir", deny)
    output.replace_output(staged, path)
    assert (path / "part").read_text() == "new"


def test_an_output_that_contains_another_one_is_not_replaced(tmp_path: Path) -> None:
    outer = folder(tmp_path / "big", "outer")
    inner = folder(outer / "2026-01", "inner")
    with pytest.raises(ProjectError, match="the output of another project or period") as caught:
        output.check_replaceable(outer)
    assert caught.value.code == "MS-PROJECT-OUTPUT"
    output.check_replaceable(inner)


def test_the_old_output_is_put_back_if_the_new_one_cannot_be_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder(tmp_path / "out", "old")
    staged = tmp_path / ".out.run-1"  # does not exist, so it cannot be renamed
    monkeypatch.setattr(output, "_exchange", lambda _one, _other: False)
    with pytest.raises(FileNotFoundError):
        output.replace_output(staged, path)
    assert (path / "part").read_text() == "old"
