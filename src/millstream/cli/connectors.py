"""`millstream connectors`: lists the connectors that jobs can use, and their properties."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from millstream.cli.errors import CommandError, print_json, reported
from millstream.cli.options import AsJson

if TYPE_CHECKING:
    from millstream.plan.connectors import ConnectorRegistry, ConnectorSpec

EPILOG = """
Examples:

  millstream connectors

  millstream connectors file

  millstream connectors file --json | jq '.properties[].name'
"""


def connectors(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Show the properties of this connector.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List connectors, or the properties of one.

    Connectors of other packages are found by their entry points in the group
    millstream.connectors.
    """
    with reported(as_json):
        from millstream.plan.connectors import spec_json
        from millstream.plan.installed_connectors import installed_connectors

        registry = installed_connectors()
        if name is None:
            if as_json:
                known = [spec_json(spec) for spec in registry if spec.in_sql]
                print_json({"connectors": known, "problems": list(registry.problems)})
            else:
                _list(registry)
            return
        spec = _find(name, registry)
        if as_json:
            print_json(spec_json(spec))
        else:
            _show(spec)


def _find(name: str, registry: ConnectorRegistry) -> ConnectorSpec:
    from millstream.suggestions import nearest

    spec = registry.get(name.lower())
    if spec is not None and spec.in_sql:
        return spec
    names = [name for each in registry if each.in_sql for name in each.names]
    raise CommandError(
        "MS-CLI-CONNECTOR",
        f"there is no connector {name}.",
        fix=nearest(name, names) or f"Use one of {', '.join(names)}.",
    )


def _list(registry: ConnectorRegistry) -> None:
    from rich.table import Table

    table = Table("connector", "for", "delivery", "", box=None, pad_edge=False)
    for spec in registry:
        if spec.in_sql:
            table.add_row(
                ", ".join(spec.names), ", ".join(spec.roles), spec.delivery_text, spec.help
            )
    _print(table)
    for problem in registry.problems:
        print(f"Not loaded: {problem}", file=sys.stderr)


def _show(spec: ConnectorSpec) -> None:
    from rich.table import Table

    print(f"{', '.join(spec.names)}: {spec.help}")
    if spec.sink:
        print(f"delivery: {spec.delivery_text}")
        print(f"output modes: {', '.join(spec.modes)}")
    if not spec.properties:
        print("This connector has no properties.")
        return
    print()
    table = Table("property", "role", "value", "default", "", box=None, pad_edge=False)
    for each in spec.properties:
        default = "required" if each.required else (each.default or "")
        formats = f" Formats: {', '.join(each.formats)}." if each.formats else ""
        secret = " Secret." if each.secret else ""
        table.add_row(
            each.name,
            ", ".join(role for role in each.roles if spec.has_role(role)),
            each.kind.description,
            default,
            f"{each.help}{formats}{secret}",
        )
    _print(table)


def _print(table: object) -> None:
    from rich.console import Console

    console = Console(file=sys.stdout, markup=False)
    if not console.is_terminal:
        console.width = 200  # output to a file does not need to fit a screen
    console.print(table)
