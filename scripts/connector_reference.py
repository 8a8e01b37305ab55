"""Generates docs/connectors.md from the declarations of the built-in connectors."""

from __future__ import annotations

import pkgutil
from pathlib import Path

from millstream.plan.connector_reference import connector_reference
from millstream.plan.connectors import ConnectorRegistry
from millstream.plan.installed_connectors import BUILT_IN

PAGE = Path(__file__).parents[1] / "docs" / "connectors.md"

if __name__ == "__main__":
    built_in = ConnectorRegistry(tuple(pkgutil.resolve_name(each) for each in BUILT_IN))
    PAGE.write_text(connector_reference(built_in), encoding="utf-8")
    print(f"wrote {PAGE}")
