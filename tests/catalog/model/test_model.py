"""The values of a catalog: JSON round trips, temporal columns, positions."""

from __future__ import annotations

import json

import pytest
from pydantic import TypeAdapter
from tests.catalog.samples import FX, snapshot

from millstream.catalog.model import (
    Assignment,
    Cardinality,
    Column,
    Positions,
    ResolverSnapshot,
    Table,
    TemporalMode,
)
from millstream.errors import Place


def test_a_snapshot_is_the_same_after_a_round_trip_through_json():
    adapter = TypeAdapter(ResolverSnapshot)
    read = adapter.validate_json(adapter.dump_json(snapshot()))
    assert read == snapshot()
    assert read.operations[0].joins[0].positions.of("on") == Place(6, 11, file="p.yaml")


def test_the_json_of_a_snapshot_has_the_fields_of_the_data_model():
    found = json.loads(TypeAdapter(ResolverSnapshot).dump_json(snapshot()))
    assert (found["input_dataset_id"], found["input_dataset_version"]) == (str(FX), 2)
    (join,) = found["join_datasets"]
    names = ("alias", "dataset_id", "dataset_version", "resolver_source")
    assert [join[name] for name in names] == ["fx", str(FX), 2, "project_override"]


@pytest.mark.parametrize(("content_hash", "reproducible"), [("sha256:ab", True), (None, False)])
def test_a_snapshot_is_reproducible_if_every_dataset_has_a_content_hash(content_hash, reproducible):
    assert snapshot(content_hash).reproducible is reproducible


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
