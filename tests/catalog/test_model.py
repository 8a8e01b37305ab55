"""The values of a catalog: JSON round trips, temporal columns, positions."""

from __future__ import annotations

from datetime import date
from uuid import UUID

import pytest
from pydantic import TypeAdapter

from millstream.catalog.model import (
    Assignment,
    Cardinality,
    Column,
    DataFormat,
    JoinDatasetSnapshot,
    Period,
    Positions,
    ProjectOutput,
    ProjectOverride,
    ResolverRef,
    ResolverSnapshot,
    ResolverSource,
    RuntimeJoin,
    Table,
    TemporalMode,
    UpdateOperation,
    VersionFile,
)
from millstream.errors import Place

FX = UUID("5a1de2ce-70f1-4bb4-8b8c-0a3f4c4f8a01")


def _join_dataset(content_hash: str | None = "sha256:ab") -> JoinDatasetSnapshot:
    return JoinDatasetSnapshot(
        operation=0,
        alias="fx",
        dataset_id=FX,
        dataset_name="fx",
        dataset_version=2,
        table_name="rates",
        temporal_mode=TemporalMode.PERIOD,
        resolver_source=ResolverSource.PROJECT_OVERRIDE,
        resolver=ResolverRef("path", {"path": "/data/{version}"}),
        format=DataFormat.CSV,
        location="/data/2",
        schema=(Column("rate", "decimal(18,6)"),),
        content_hash=content_hash,
        options={"delimiter": ";"},
        files=(VersionFile("a.csv", 12, 1_700_000_000_000_000_123, "ab"),),
    )


def _snapshot(content_hash: str | None = "sha256:ab") -> ResolverSnapshot:
    at = Positions(Place(3, 5, file="p.yaml"), {"on": Place(6, 11, file="p.yaml")})
    join = RuntimeJoin("fx", FX, "t.c = fx.c", 2, positions=at)
    return ResolverSnapshot(
        input=_join_dataset(),
        join_datasets=(_join_dataset(content_hash),),
        period=Period("2026-01", date(2026, 1, 1), date(2026, 1, 31), "month", "2026-Q1"),
        operations=(UpdateOperation((join,), (Assignment("usd", "amount * fx.rate"),)),),
        resolver_overrides=(ProjectOverride("customers", ResolverRef("path")),),
        output=ProjectOutput("/out/{period}"),
    )


def test_a_snapshot_is_the_same_after_a_round_trip_through_json():
    adapter = TypeAdapter(ResolverSnapshot)
    read = adapter.validate_json(adapter.dump_json(_snapshot()))
    assert read.join_datasets == _snapshot().join_datasets
    assert read.operations == _snapshot().operations
    assert read.operations[0].joins[0].positions.of("on") == Place(6, 11, file="p.yaml")
    assert read.resolver_overrides == _snapshot().resolver_overrides


@pytest.mark.parametrize(("content_hash", "reproducible"), [("sha256:ab", True), (None, False)])
def test_a_snapshot_is_reproducible_if_every_dataset_has_a_content_hash(content_hash, reproducible):
    assert _snapshot(content_hash).reproducible is reproducible


@pytest.mark.parametrize(
    ("mode", "names"),
    [
        (TemporalMode.NONE, ["id"]),
        (TemporalMode.PERIOD, ["id", "_period"]),
        (TemporalMode.BITEMPORAL, ["id", "_period_from", "_period_to"]),
    ],
)
def test_a_table_has_the_columns_of_its_temporal_mode(mode, names):
    table = Table("t", (Column("id", "bigint"),), mode)
    assert [column.name for column in table.all_columns] == names


def test_positions_do_not_take_part_in_comparisons():
    here = Positions(Place(1, 1), {})
    assert Assignment("a", "b", here) == Assignment("a", "b")


def test_the_position_of_an_unknown_key_is_that_of_the_definition():
    here = Positions(Place(1, 1), {"on": Place(2, 3)})
    assert (here.of("on"), here.of("alias")) == (Place(2, 3), Place(1, 1))


@pytest.mark.parametrize(
    ("cardinality", "left", "right"),
    [
        (Cardinality.ONE_TO_ONE, True, True),
        (Cardinality.MANY_TO_ONE, False, True),
        (Cardinality.ONE_TO_MANY, True, False),
        (Cardinality.MANY_TO_MANY, False, False),
    ],
)
def test_a_cardinality_says_which_side_has_at_most_one_match(cardinality, left, right):
    assert (cardinality.unique_left, cardinality.unique_right) == (left, right)
