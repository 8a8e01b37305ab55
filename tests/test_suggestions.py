"""Suggestions for names that are not known."""

from __future__ import annotations

from millstream.suggestions import nearest


def test_a_near_name_is_suggested() -> None:
    assert nearest("ratse", ["rates", "orders"]) == "Did you mean rates?"


def test_of_many_names_only_some_are_listed() -> None:
    names = [f"dataset_{number:05}" for number in range(10_000)]
    text = nearest("x", names)
    assert text.startswith("Known: dataset_00000, dataset_00001, ")
    assert text.endswith("dataset_00039 and 9,960 more.")
