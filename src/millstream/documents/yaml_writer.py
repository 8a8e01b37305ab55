"""Writes YAML that all YAML versions read as the same values."""

from __future__ import annotations

from typing import Any

import yaml

from millstream.documents.yaml_loader import Loader


class _Dumper(yaml.SafeDumper):
    """Quotes strings that YAML 1.1 or 1.2 would convert, such as NO or 1e3."""


_Dumper.yaml_implicit_resolvers = {
    first: [
        *yaml.SafeDumper.yaml_implicit_resolvers.get(first, []),
        *Loader.yaml_implicit_resolvers.get(first, []),
    ]
    for first in {**yaml.SafeDumper.yaml_implicit_resolvers, **Loader.yaml_implicit_resolvers}
}


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Escapes special characters, and writes several lines as a block."""
    lines = text.split("\n")
    special = not all(line.isprintable() for line in lines)
    style = '"' if special else "|" if len(lines) > 1 else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def write_yaml(value: Any) -> str:
    """Returns a value as YAML, with keys in their order."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
