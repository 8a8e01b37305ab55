"""Definitions that are exported and loaded again are the same."""

from __future__ import annotations

import tempfile
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.catalog.month_end import write

from millstream.catalog.definitions.export import export_definitions
from millstream.catalog.definitions.load import load_definitions
from millstream.catalog.definitions.plan import plan_changes
from millstream.catalog.model import (
    Assignment,
    Cardinality,
    Column,
    DataFormat,
    Dataset,
    Definitions,
    Period,
    Project,
    ProjectInput,
    ProjectOutput,
    ProjectOverride,
    ResolverRef,
    RuntimeJoin,
    Status,
    Table,
    TemporalMode,
    UpdateOperation,
)
from millstream.errors import CatalogError
from millstream.values import JoinType

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,12}", fullmatch=True)
# Words that YAML could take for something else, and any other text.
words = st.sampled_from(["no", "on", "null", "~", "1", "1e3", "2026-01-01", "0x1", " a ", "a: b #"])
characters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
texts = words | st.text(characters, min_size=1, max_size=30)
types = st.sampled_from(["int", "string", "decimal(18,6)", "array<struct<a:int,B:date>>"])
columns = st.lists(
    st.tuples(texts, types), min_size=1, max_size=4, unique_by=lambda pair: pair[0].lower()
).map(lambda pairs: tuple(Column(*pair) for pair in pairs))
settings = st.dictionaries(
    st.sampled_from(["template", "table"]), words | st.text(characters, max_size=20), max_size=2
)
resolvers = st.builds(ResolverRef, texts, settings)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    found = draw(columns)
    simple = [column.name for column in found if not column.type.startswith("array")]
    key = draw(st.lists(st.sampled_from(simple), unique=True)) if simple else []
    return Table(draw(names), found, draw(st.sampled_from(TemporalMode)), tuple(key))


datasets = st.builds(
    Dataset,
    st.uuids(),
    names,
    tables(),
    st.sampled_from(Status),
    st.none() | resolvers,
    st.text(characters, max_size=30),
)
keys = st.uuids() | names
versions = st.none() | st.integers(1, 2**31)
joins = st.builds(
    RuntimeJoin,
    names,
    keys,
    texts,
    versions,
    st.sampled_from([JoinType.LEFT, JoinType.INNER, JoinType.RIGHT, JoinType.FULL]),
    st.none() | st.sampled_from(Cardinality),
)
operations = st.builds(
    UpdateOperation,
    st.lists(joins, max_size=2).map(tuple),
    st.lists(st.builds(Assignment, texts, texts), max_size=2).map(tuple),
)
overrides = st.lists(
    st.builds(ProjectOverride, keys, resolvers), max_size=2, unique_by=lambda each: each.dataset
)
files = st.sampled_from([DataFormat.PARQUET, DataFormat.CSV, DataFormat.JSON])
projects = st.builds(
    Project,
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,12}", fullmatch=True),
    st.builds(ProjectInput, keys, versions),
    st.builds(ProjectOutput, st.sampled_from(["out/{period}", "s3a://bucket/out", "no"]), files),
    st.lists(operations, max_size=2).map(tuple),
    overrides.map(tuple),
    st.text(characters, max_size=30),
)
identifiers = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,10}", fullmatch=True)
periods = st.lists(
    st.tuples(identifiers, st.integers(1, 40)), max_size=5, unique_by=lambda pair: pair[0].lower()
)


def _calendar(pairs: list[tuple[str, int]]) -> tuple[Period, ...]:
    found, begin = [], date(2026, 1, 1)
    for identifier, days in pairs:
        end = begin + timedelta(days=days - 1)
        found.append(Period(identifier, begin, end, "month"))
        begin = end + timedelta(days=1)
    return tuple(found)


definitions = st.builds(
    Definitions,
    st.integers(0, 9),
    st.lists(datasets, max_size=3, unique_by=lambda each: each.name.lower()).map(tuple),
    periods.map(_calendar),
    st.lists(projects, max_size=2, unique_by=lambda each: each.name.lower()).map(tuple),
)


@given(definitions)
def test_applying_an_export_changes_nothing(given_definitions: Definitions):
    with tempfile.TemporaryDirectory() as folder:
        written = export_definitions(given_definitions, Path(folder) / "export")
        if not written:
            return
        plan = plan_changes(given_definitions, load_definitions(Path(folder) / "export"))
    assert plan.changes == ()
    total = sum(
        len(each)
        for each in (
            given_definitions.datasets,
            given_definitions.periods,
            given_definitions.projects,
        )
    )
    assert plan.unchanged == total


def test_an_export_to_an_empty_catalog_makes_the_same_catalog(tmp_path: Path):
    first = plan_changes(Definitions(0), load_definitions(write(tmp_path / "a"))).definitions
    paths = export_definitions(first, tmp_path / "b")
    assert [str(path.relative_to(tmp_path / "b")) for path in paths] == [
        "datasets/transactions.yaml",
        "datasets/fx.yaml",
        "periods/month.yaml",
        "periods/quarter.yaml",
        "periods/year.yaml",
        "projects/month_end.yaml",
    ]
    second = plan_changes(Definitions(0), load_definitions(tmp_path / "b")).definitions
    assert set(second.datasets) == set(first.datasets)
    assert set(second.periods) == set(first.periods)
    assert second.projects == first.projects


def test_a_folder_with_files_is_not_overwritten(tmp_path: Path):
    folder = write(tmp_path / "a")
    before = sorted(folder.iterdir())
    with pytest.raises(CatalogError, match="is not an empty folder") as error:
        export_definitions(Definitions(0), folder)
    assert error.value.code == "MS-CATALOG-FILE"
    assert sorted(folder.iterdir()) == before
