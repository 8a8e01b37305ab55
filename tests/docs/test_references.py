"""The generated reference pages match the declarations in the code."""

from __future__ import annotations

import pkgutil
from pathlib import Path

from scripts import property_reference, row_outcome_reference
from scripts.property_reference import DESCRIPTIONS, PAGE

from millstream.plan.installed_connectors import BUILT_IN
from millstream.sql.properties import PREFIXES, PROPERTIES

CONNECTORS = Path(__file__).parents[2] / "docs" / "connectors.md"


def test_every_property_has_a_description():
    declared = {name for properties in PROPERTIES.values() for name in properties}
    assert DESCRIPTIONS.keys() == declared


def test_every_property_that_the_parser_accepts_is_on_a_page():
    pages = {path.name: path.read_text(encoding="utf-8") for path in (PAGE, CONNECTORS)}
    for owner, properties in PROPERTIES.items():
        for name in (*properties, *PREFIXES.get(owner, ())):
            assert f"`{name}`" in pages[PAGE.name], name
    built_in = [pkgutil.resolve_name(each) for each in BUILT_IN]
    for spec in built_in:
        if spec.in_sql:
            section = pages[CONNECTORS.name].partition(f"\n## {spec.name}\n")[2]
            section = section.partition("\n## ")[0]
            for name in (each.name for each in spec.properties):
                assert f"`{name}`" in section, (spec.name, name)
            for prefix in spec.pass_through:
                assert f"| `{prefix}" in section, (spec.name, prefix)


def test_the_page_of_properties_is_up_to_date():
    page = property_reference.PAGE.read_text(encoding="utf-8")
    expected = property_reference.property_reference()
    assert page == expected, "run python -m scripts.property_reference"


def test_the_page_of_row_outcomes_is_up_to_date():
    page = row_outcome_reference.PAGE.read_text(encoding="utf-8")
    expected = row_outcome_reference.row_outcome_reference()
    assert page == expected, "run python -m scripts.row_outcome_reference"
