"""What stands in a checkout beside the package: benchmarks, which commands load when asked."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from millstream.cli.errors import CommandError


def load(name: str) -> Any:
    """Benchmarks are no part of the package: they stand in a checkout, beside `src`."""
    root = Path(__file__).resolve().parents[3]
    if not (root / "bench" / "__init__.py").exists():
        raise CommandError(
            "MS-CLI-BENCH",
            "this installation holds no benchmarks.",
            fix="Run `make bench` in a clone of the repository.",
        )
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    return import_module(name)


def names_in(text: str, known: str) -> tuple[str, ...]:
    """A comma-separated list of names, each of those known; `all` stands for all of them."""
    allowed = known.split(",")
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if names == ("all",):
        return tuple(allowed)
    for name in names:
        if name not in allowed:
            raise CommandError(
                "MS-CLI-VALUE", f"{name!r} is not known here.", fix=f"Use of {', '.join(allowed)}."
            )
    return names


def say(line: str) -> None:
    """For people: on stderr, so that stdout holds results alone."""
    print(line, file=sys.stderr, flush=True)
