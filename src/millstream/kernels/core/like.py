"""LIKE over columns."""

from __future__ import annotations

import polars as pl

from millstream.errors import RunError
from millstream.like_pattern import like_regex


def match_patterns(
    values: pl.Series, patterns: pl.Series, live: pl.Series | None, escape: str
) -> pl.Series:
    """Returns which values match the patterns of their rows."""
    known = values.is_not_null() & patterns.is_not_null()
    needed = known if live is None else known & live
    found = pl.Series([None], dtype=pl.Boolean).new_from_index(0, len(values))
    for pattern in patterns.filter(needed).unique():
        regex = like_regex(pattern, escape)
        if regex is None:
            raise RunError(
                "MS-RUN-VALUE",
                f"the pattern {pattern!r} of LIKE in ON is not valid: {escape!r} must be followed "
                f"by _, % or {escape!r}.",
                fix=f"Write {escape * 2!r} for the character itself.",
            )
        matches = values.str.contains(regex)
        found = matches.zip_with((patterns == pattern) & needed, found)
    return found
