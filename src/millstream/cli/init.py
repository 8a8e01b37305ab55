"""`millstream init`: a new project that runs and passes its test at once."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated

import typer

from millstream.cli.fail import CommandError, reported

EPILOG = """
Examples:

  millstream init shop

  cd shop && millstream run job.sql --once --flush
"""


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder, new or empty.")],
) -> None:
    """Write a new project: a job, its data, a test case and a README."""
    with reported():
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            what = "is not empty" if folder.is_dir() else "is a file"
            raise CommandError(
                "MS-CLI-INIT", f"{folder} {what}.", fix="Name a folder that is new or empty."
            )
        template = files("millstream.cli") / "templates" / "project"
        for path, content in _contents(template, Path()):
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            print(f"wrote {target}")
        print(
            f"\nNext:\n  cd {folder}\n  millstream run job.sql --once --flush\n  millstream test ."
        )


def _contents(folder: Traversable, below: Path) -> Iterator[tuple[Path, bytes]]:
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        # A file called .gitignore would hide parts of the template from the package itself.
        path = below / (".gitignore" if item.name == "gitignore" else item.name)
        if item.is_dir():
            yield from _contents(item, path)
        else:
            yield path, item.read_bytes()
