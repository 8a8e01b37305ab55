"""The connector reference and the guide to adding a connector match the code."""

from __future__ import annotations

import pkgutil
import re
from pathlib import Path

from millstream.plan.connector_reference import connector_reference
from millstream.plan.connectors import ConnectorRegistry
from millstream.plan.installed_connectors import BUILT_IN

ROOT = Path(__file__).parents[2]


def test_the_connector_reference_is_up_to_date() -> None:
    built_in = ConnectorRegistry(tuple(pkgutil.resolve_name(each) for each in BUILT_IN))
    page = (ROOT / "docs" / "connectors.md").read_text(encoding="utf-8")
    assert page == connector_reference(built_in), "run python scripts/connector_reference.py"


def test_the_guide_to_a_new_connector_names_existing_files_and_names() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    guide = text.partition("## How to add a connector")[2].partition("\n## ")[0]
    paths = re.findall(r"`((?:src|tests|docs|scripts)/[\w./-]+|CHANGELOG\.md)`", guide)
    paths += re.findall(r"`python ([\w./]+)`", guide)
    assert len(paths) >= 10
    assert [path for path in paths if not (ROOT / path).exists()] == []
    for name, module in (
        ("ConnectorSpec", "plan/connectors.py"),
        ("WorkStream", "connectors/work_items.py"),
        ("Store", "connectors/lookup/store.py"),
        ("BUILT_IN", "plan/installed_connectors.py"),
    ):
        assert f"`{name}`" in guide
        source = (ROOT / "src" / "millstream" / module).read_text(encoding="utf-8")
        assert re.search(rf"^(class )?{name}\b", source, re.MULTILINE)
