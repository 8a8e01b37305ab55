"""Generates Spark SQL from expressions. No other module generates text for Spark."""

from __future__ import annotations

import re
from collections.abc import Iterable

from millstream.plan.expressions.expression import ColumnReference, Expression


def to_spark_sql(expression: Expression) -> str:
    """Returns the user's own characters with every column qualified and quoted where necessary.

    sqlglot's generator is not used: it rewrites `nvl`, `mod`, `to_timestamp`, `first(x, true)`,
    `regexp_extract(…, 1)` and others to equivalent forms that the user did not write.
    """
    return "".join(
        reference_sql(part) if isinstance(part, ColumnReference) else part
        for part in expression.parts
    )


def reference_sql(reference: ColumnReference) -> str:
    """Returns the text of a column reference."""
    name = quote(reference.name)
    return name if reference.alias is None else f"{quote(reference.alias)}.{name}"


def sql_list(expressions: Iterable[Expression]) -> str:
    """Returns the texts of expressions, separated by commas."""
    return ", ".join(map(to_spark_sql, expressions))


def sql_or_none(expression: Expression | None) -> str | None:
    return None if expression is None else to_spark_sql(expression)


_UNQUOTED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Words that Spark's parser does not read as a name without quotes.
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
    """Returns the name as Spark SQL, in backticks only if necessary."""
    if _UNQUOTED.fullmatch(name) and name.lower() not in _KEYWORDS:
        return name
    return "`" + name.replace("`", "``") + "`"
