"""Names: how Spark compares them, how they are quoted, and which known one is nearest."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Words that Spark's parser may take for something else when they stand alone.
_KEYWORDS = frozenset(
    re.findall(
        r"\w+",
        """all and anti any array as asc between both by case cast collate column cross current_date
        current_time current_timestamp current_user date day desc distinct div else end escape
        except exists extract false filter for from full function group having hour if ilike in
        inner interval intersect into is join lateral leading left like limit map minus minute month
        natural not null offset on or order outer over overlaps position right rlike row second
        select semi some string struct substring table then time timestamp to trailing trim true
        union unique unknown user using values when where window with within year""",
    )
)


def same(one: str, other: str) -> bool:
    return one.lower() == other.lower()


def quote(name: str) -> str:
    """The name as Spark SQL text, in backticks only where it needs them."""
    if _PLAIN.fullmatch(name) and name.lower() not in _KEYWORDS:
        return name
    return "`" + name.replace("`", "``") + "`"


def nearest(name: str, known: Iterable[str]) -> str:
    """A sentence that names the nearest known name, or all of them if none is near."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    near = difflib.get_close_matches(name.lower(), by_lower, n=1)
    if near:
        return f"Did you mean {by_lower[near[0]]}?"
    return f"Known: {', '.join(by_lower.values())}." if by_lower else ""
