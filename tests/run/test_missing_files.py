"""Which files of a batch no executor was sent, by source."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from tests.run.test_file_log import listed, offsets

from millstream.connectors.work_items import ItemCheck, ReportedItems
from millstream.errors import RunError
from millstream.plan.nodes import Source
from millstream.run.file_log import FileLog
from millstream.run.missing_files import MissingFiles, ReadSource, is_empty
from millstream.temporal import MalformedAction


class FakeReports:
    def __init__(self, *names: str) -> None:
        self.names = set(names)

    def take(self) -> set[str]:
        found, self.names = self.names, set()
        return found


def missing(
    folder: Path,
    *sources: tuple[str, str, FakeReports],
) -> list[tuple[str, str]]:
    found = letters(folder, *sources, form="csv", empty=())
    return [(row["_source"], row["_file"]) for row in found]


def letters(
    folder: Path,
    *sources: tuple[str, str, FakeReports],
    form: str,
    empty: tuple[str, ...],
    malformed: MalformedAction = MalformedAction.DEAD_LETTER,
) -> list[dict[str, Any]]:
    text = form in ("csv", "json")
    read = tuple(
        ReadSource(
            Source(name, (), malformed=malformed),
            ItemCheck(base, cast("ReportedItems", reported), text),
        )
        for name, base, reported in sources
    )
    (folder / "offsets/0").write_text(
        (folder / "offsets/0").read_text().replace("{}", '{"batchTimestampMs": 5}', 1)
    )
    found = MissingFiles(FileLog(folder), read, empty.__contains__).dead_letters(0)
    return [row for table in found for row in table.to_pylist()]


def test_names_are_compared_without_their_encoding(tmp_path: Path) -> None:
    offsets(tmp_path, 0, 0, 0)
    listed(tmp_path, 0, "0", ("file:///in/a%20b%2520.csv", 0), ("file:///in/c.csv", 0))
    listed(tmp_path, 1, "0", ("s3a://store/in/a%20b.csv", 0), ("s3a://store/in/c.csv", 0))
    assert missing(
        tmp_path,
        ("local", "/in", FakeReports("file:/in/a b%20.csv")),
        ("store", "s3a://store/in", FakeReports("s3a://store/in/a b.csv")),
    ) == [("local", "/in/c.csv"), ("store", "s3a://store/in/c.csv")]


def test_a_folder_of_two_sources_is_expected_from_each(tmp_path: Path) -> None:
    offsets(tmp_path, 0, 0, 0, 0)
    listed(tmp_path, 0, "0", ("file:///in/a", 0), ("file:///in/b", 0))
    listed(tmp_path, 1, "0", ("file:///in/a", 0))
    listed(tmp_path, 2, "0", ("file:///control/time-1.json", 0))
    assert missing(
        tmp_path,
        ("one", "/in", FakeReports("file:/in/a", "file:/in/b")),
        ("two", "/in", FakeReports()),
    ) == [("two", "/in/a")]


@pytest.mark.parametrize("form", ["csv", "json"])
@pytest.mark.parametrize("malformed", list(MalformedAction))
def test_an_empty_file_of_text_has_no_rows(
    tmp_path: Path, form: str, malformed: MalformedAction
) -> None:
    offsets(tmp_path, 0, 0)
    listed(tmp_path, 0, "0", ("file:///in/a", 0), ("file:///in/b", 0))
    one = ("one", "/in", FakeReports("file:/in/b"))
    assert letters(tmp_path, one, form=form, empty=("/in/a",), malformed=malformed) == []


def test_an_empty_parquet_file_is_rejected(tmp_path: Path) -> None:
    offsets(tmp_path, 0, 0)
    listed(tmp_path, 0, "0", ("file:///in/a", 0), ("file:///in/b", 0))
    one = ("one", "/in", FakeReports("file:/in/b"))
    [letter] = letters(tmp_path, one, form="parquet", empty=("/in/a",))
    assert (letter["_file"], letter["_reason"]) == ("/in/a", "unreadable_file")
    assert letter["_message"] == "the file is empty."
    with pytest.raises(RunError, match="source one: /in/a: the file is empty"):
        letters(
            tmp_path,
            ("one", "/in", FakeReports("file:/in/b")),
            form="parquet",
            empty=("/in/a",),
            malformed=MalformedAction.FAIL,
        )


def test_only_files_that_exist_are_empty(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "full").write_text("1")
    names = ("empty", "full", "gone", ".")
    assert [is_empty(str(tmp_path / name)) for name in names] == [True, False, False, False]
