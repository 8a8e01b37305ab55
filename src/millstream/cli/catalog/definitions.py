"""`millstream catalog apply` and `export`: definitions as code."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from millstream.cli.catalog.context import data_of, open_catalog
from millstream.cli.errors import CommandError, print_json, reported
from millstream.cli.formats import count, shown
from millstream.cli.options import AsJson, CatalogUrl
from millstream.errors import CatalogError

if TYPE_CHECKING:
    from millstream.catalog.definitions.load import WrittenDefinitions
    from millstream.catalog.definitions.plan import Plan

_MARKS = {"create": "+", "change": "~"}


def apply(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A folder of YAML files, or one file.")
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show the plan of changes.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Apply without confirmation.")] = False,
    catalog: CatalogUrl = None,
    as_json: AsJson = False,
) -> None:
    """Show how definitions change the catalog, then apply them, all or none.

    Definitions that are not in the folder stay in the catalog. A SQLite file that does not exist is
    created.
    """
    with reported(as_json):
        from millstream.catalog.catalog import Catalog
        from millstream.catalog.definitions.load import load_definitions

        plan = _plan(catalog, load_definitions(folder))
        if not as_json:
            _print_plan(plan)
        applied = not dry_run and (not plan.changes or _confirmed(yes, as_json))
        if applied and plan.stores:
            with Catalog.open(catalog) as found:
                found.apply(plan)
        if as_json:
            print_json(
                {
                    "changes": [data_of(change) for change in plan.changes],
                    "unchanged": plan.unchanged,
                    "notes": list(plan.notes),
                    "applied": applied,
                }
            )
        elif plan.changes:
            print("Applied." if applied else "Nothing was applied.")


def _plan(url: str | None, written: WrittenDefinitions) -> Plan:
    """The changes of a catalog, which may not exist yet."""
    from millstream.catalog.catalog import Catalog
    from millstream.catalog.definitions.plan import plan_changes
    from millstream.catalog.model import Definitions

    try:
        with Catalog.open(url, create=False) as found:
            current = found.reader.definitions()
    except CatalogError as error:
        if error.code != "MS-CATALOG-NONE":
            raise
        current = Definitions(0)
    return plan_changes(current, written)


def _print_plan(plan: Plan) -> None:
    for change in plan.changes:
        print(f"{_MARKS[change.action]} {change.kind} {change.name}")
        for detail in change.details:
            print(f"    {detail}")
    for note in plan.notes:
        print(f"Note: {note}.")
    created = sum(change.action == "create" for change in plan.changes)
    changed = len(plan.changes) - created
    print(f"{created} to create, {changed} to change, {plan.unchanged} unchanged.")


def _confirmed(yes: bool, as_json: bool) -> bool:
    if yes:
        return True
    if as_json or not _is_terminal():
        raise CommandError(
            "MS-CLI-CONFIRM",
            "the changes are not applied: they need confirmation, and the input is not a terminal.",
            fix="Add --yes to apply them, or --dry-run to only see them.",
        )
    return typer.confirm("Apply these changes?")


def _is_terminal() -> bool:
    return sys.stdin.isatty()


def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")],
    catalog: CatalogUrl = None,
    as_json: AsJson = False,
) -> None:
    """Write all definitions as YAML files; applying them changes nothing."""
    with open_catalog(catalog, as_json) as found:
        files = found.export(folder)
        if as_json:
            print_json({"files": [str(file) for file in files]})
        else:
            print(f"{count(len(files), 'file')} written to {shown(folder)}.")
