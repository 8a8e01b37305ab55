"""`millstream init`: creates a project with a job, data and a test."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated

import typer

from millstream.cli.errors import CommandError, reported

EPILOG = """
Examples:

  millstream init shop

  cd shop && millstream run job.sql --once --flush

  millstream init books --template month-end
"""


class Template(StrEnum):
    """The folders in `templates`."""

    project = "project"
    month_end = "month-end"


_NEXT = {
    Template.project: ("millstream run job.sql --once --flush", "millstream test ."),
    Template.month_end: (
        "millstream catalog apply catalog --yes",
        "millstream catalog publish transactions data/transactions.csv",
        "millstream catalog publish fx data/fx-1.csv",
        "millstream catalog publish customers data/customers.csv",
        "millstream project activate month-end",
        "millstream project run month-end --period 2026-01",
    ),
}


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")],
    template: Annotated[
        Template,
        typer.Option(
            help="project: a streaming job with data and a test. month-end: a catalog of datasets "
            "and a project that joins them."
        ),
    ] = Template.project,
) -> None:
    """Create a project with data, a test and a README."""
    with reported():
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            what = "is not empty" if folder.is_dir() else "is a file"
            raise CommandError(
                "MS-CLI-INIT",
                f"cannot create a project in {folder}, because it {what}.",
                fix="Use a new or empty folder.",
            )
        contents = files("millstream.cli") / "templates" / template.value
        for path, content in _contents(contents, Path()):
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            print(f"wrote {target}")
        print("\nNext:", f"cd {folder}", *_NEXT[template], sep="\n  ")


def _contents(folder: Traversable, below: Path) -> Iterator[tuple[Path, bytes]]:
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        # A file named .gitignore would exclude parts of the template from the package.
        path = below / (".gitignore" if item.name == "gitignore" else item.name)
        if item.is_dir():
            yield from _contents(item, path)
        else:
            yield path, item.read_bytes()
