"""Compares names like Spark, and suggests known names for a misspelled name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_MOST = 40  # names in a sentence


def same(one: str, other: str) -> bool:
    """Whether two names are equal, ignoring letter case."""
    return one.lower() == other.lower()


def among(name: str, known: Iterable[str]) -> str:
    """Returns a sentence with all known names, the nearest first."""
    names = list(known)
    near = difflib.get_close_matches(name.lower(), [each.lower() for each in names], n=1)
    if not near:
        return nearest(name, names)
    others = [each for each in names if each.lower() != near[0]]
    return nearest(name, names) + (f" Known, too: {', '.join(others)}." if others else "")


def nearest(name: str, known: Iterable[str]) -> str:
    """Returns a sentence with the nearest known name, or with all names if none is near."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    near = difflib.get_close_matches(name.lower(), by_lower, n=1)
    if near:
        return f"Did you mean {by_lower[near[0]]}?"
    if not by_lower:
        return ""
    names = list(by_lower.values())
    more = f" and {len(names) - _MOST:,} more" if len(names) > _MOST else ""
    return f"Known: {', '.join(names[:_MOST])}{more}."
