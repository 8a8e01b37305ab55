"""Quotes names for Spark SQL."""

from __future__ import annotations

import re

_UNQUOTED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
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


def quote(name: str) -> str:
    """The name as Spark SQL text, in backticks only where it needs them."""
    if _UNQUOTED.fullmatch(name) and name.lower() not in _KEYWORDS:
        return name
    return "`" + name.replace("`", "``") + "`"
