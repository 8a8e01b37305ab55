"""Loads the benchmarks from a repository clone; the installed package does not contain them."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from millstream.cli.errors import CommandError


def load(name: str) -> Any:
    """Imports a module of `bench`, the folder beside `src`."""
    root = Path(__file__).resolve().parents[3]
    if not (root / "bench" / "__init__.py").exists():
        raise CommandError(
            "MS-CLI-BENCH",
            "this installation does not contain the benchmarks.",
            fix="Run the command in a clone of the repository, after `make setup`.",
        )
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    return import_module(name)


def names_in(text: str, known: str) -> tuple[str, ...]:
    """Parses a comma-separated list of known names; `all` means all of them."""
    allowed = known.split(",")
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if names == ("all",):
        return tuple(allowed)
    for name in names:
        if name not in allowed:
            raise CommandError(
                "MS-CLI-VALUE",
                f"{name!r} is not a valid value.",
                fix=f"Use one or more of {', '.join(allowed)}.",
            )
    return names


def say(line: str) -> None:
    """Prints a message to stderr, because stdout is reserved for results."""
    print(line, file=sys.stderr, flush=True)
