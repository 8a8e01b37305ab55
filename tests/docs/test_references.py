"""The generated reference pages match the declarations in the code."""

from __future__ import annotations

from scripts import property_reference, row_outcome_reference
from scripts.property_reference import DESCRIPTIONS

from millstream.sql.properties import PROPERTIES


def test_every_property_has_a_description():
    declared = {name for properties in PROPERTIES.values() for name in properties}
    assert DESCRIPTIONS.keys() == declared


def test_the_page_of_properties_is_up_to_date():
    page = property_reference.PAGE.read_text(encoding="utf-8")
    expected = property_reference.property_reference()
    assert page == expected, "run python -m scripts.property_reference"


def test_the_page_of_row_outcomes_is_up_to_date():
    page = row_outcome_reference.PAGE.read_text(encoding="utf-8")
    expected = row_outcome_reference.row_outcome_reference()
    assert page == expected, "run python -m scripts.row_outcome_reference"
