"""What a connector is stays in its folder: others ask its declaration."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.plan.installed_connectors import installed_connectors

SOURCE = Path(__file__).parents[2] / "src" / "millstream"
NAMES = "|".join(spec.name for spec in installed_connectors())
CLASSES = "FileSink|FileOutput|FileTable|MemorySink|ConsoleSink|NoopSink|PostgresStore|SqliteStore"
# Compares a connector's name, such as `sink.connector == "file"`.
COMPARED = re.compile(rf'connector\w*\s*(==|!=|in|not in)\s*\(?\s*"({NAMES})"')
ASKED = re.compile(rf"isinstance\([^)]*\b({CLASSES})\b")


def modules() -> Iterator[Path]:
    return (path for path in SOURCE.rglob("*.py"))


@pytest.mark.parametrize("pattern", [COMPARED, ASKED], ids=["name", "class"])
def test_no_code_treats_one_connector_as_a_special_case(pattern: re.Pattern[str]) -> None:
    found = [
        f"{path.relative_to(SOURCE)}: {match.group(0)}"
        for path in modules()
        for match in pattern.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_the_search_finds_what_it_is_for() -> None:
    assert COMPARED.search('if sink.connector == "file":')
    assert COMPARED.search('if table.connector in ("postgresql", "sqlite"):')
    assert ASKED.search("if isinstance(self._main, FileSink):")


def test_run_and_spark_import_no_sink_or_source_of_a_connector() -> None:
    imported = re.compile(
        r"from millstream\.connectors\.(\w+)\.(source|sink|table|lookup|store|streams) import"
    )
    found = {
        f"{path.relative_to(SOURCE)}: {match.group(0)}"
        for folder in ("run", "spark", "api", "cli")
        for path in (SOURCE / folder).rglob("*.py")
        for match in imported.finditer(path.read_text(encoding="utf-8"))
    }
    assert found == set()
