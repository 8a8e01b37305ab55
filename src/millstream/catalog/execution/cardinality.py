"""Checks the expected cardinality of a join before it is executed."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, DateType, IntegralType, StringType
from sqlglot import exp

from millstream.catalog.execution.compile import CompiledJoin
from millstream.engine.compile.expressions import spark_column
from millstream.errors import ProjectRunError
from millstream.plan.expressions import Expression, to_spark_sql
from millstream.plan.expressions.parse import parse_expression
from millstream.plan.expressions.spark_sql import quote

_EXACT = (BooleanType, DateType, IntegralType, StringType)
_SHOWN = 5  # keys in an error
_ROW, _COUNT = "_millstream_row", "_millstream_count"


def check_cardinality(
    working: DataFrame, stored: DataFrame, join: CompiledJoin, key: Sequence[str] = ()
) -> None:
    """Raises MS-PROJECT-CARDINALITY if a row matches more rows than the join expects.

    `key` identifies the rows of the joined dataset, as was checked when its version was published.
    If the join condition compares all of it, the rows are not read.
    """
    expected = join.join.expected_cardinality
    if expected is not None and expected.unique_right and not _has_key(working, stored, join, key):
        _check(working, stored, join, f"rows of '{join.join.alias}'")
    if expected is not None and expected.unique_left:
        _check(stored, working, join, "rows of the working dataset")


def _has_key(working: DataFrame, stored: DataFrame, join: CompiledJoin, key: Sequence[str]) -> bool:
    """Whether a working row matches at most one row by the key. Only types count whose values are
    equal for Spark if and only if they are equal in the files."""
    names = {join.stored.get(name, "") for name in key}
    if not names or join.condition is None or not names.issubset(stored.columns):
        return False
    compared = _key_columns(join.condition.resolved, working, stored)
    exact = all(isinstance(stored.schema[name].dataType, _EXACT) for name in names)
    return exact and names.issubset(compared)


def _check(one: DataFrame, many: DataFrame, join: CompiledJoin, matched: str) -> None:
    """Every row of `one` may match one row of `many`. If the keys of `many` are unique, no
    join is needed."""
    assert join.condition is not None
    condition = join.condition.resolved
    keys = _key_columns(condition, one, many)
    if keys and _is_unique(many, keys):
        return
    shown = [each for each in one.columns if each in _names(condition)]
    numbered = one.withColumn(_ROW, F.monotonically_increasing_id())
    matches = numbered.join(many, spark_column(condition)).groupBy(_ROW)
    several = matches.agg(
        F.count(F.lit(1)).alias(_COUNT), *(F.first(quote(each)).alias(each) for each in shown)
    ).where(F.col(_COUNT) > 1)
    found = several.drop(_ROW).distinct().orderBy(F.desc(_COUNT), *map(quote, shown))
    rows = found.limit(_SHOWN + 1).collect()
    if rows:
        raise _error(join, rows, shown, matched)


def _key_columns(condition: Expression, one: DataFrame, many: DataFrame) -> list[str]:
    """Returns the columns of `many` that must equal a value of `one`. If rows are unique by these,
    no row of `one` matches two of them.

    Both sides must have the same type: if `=` casts a column, different values can become equal,
    as the texts '1' and '01' do when they are compared with a number.
    """
    tree = parse_expression(to_spark_sql(condition)).tree
    keys = []
    for term in tree.flatten() if isinstance(tree, exp.And) else (tree,):
        equal = term.unnest()
        if not isinstance(equal, exp.EQ):
            continue
        for side, other in ((equal.left, equal.right), (equal.right, equal.left)):
            is_column = isinstance(side, exp.Column) and not side.table
            if not is_column or side.name not in many.columns or _read(other) & set(many.columns):
                continue
            value = one.select(spark_column(parse_expression(other.sql("spark"))))
            if value.schema[0].dataType == many.schema[side.name].dataType:
                keys.append(side.name)
    return keys


def _read(tree: exp.Expr) -> set[str]:
    # The first part of a name is the column, further ones are fields of a struct.
    return {each.table or each.name for each in tree.find_all(exp.Column)}


def _names(condition: Expression) -> set[str]:
    return {each.alias or each.name for each in condition.columns}


def _is_unique(rows: DataFrame, keys: Sequence[str]) -> bool:
    quoted = [quote(each) for each in dict.fromkeys(keys)]
    counted = rows.groupBy(*quoted).count()
    for each in quoted:
        counted = counted.where(F.col(each).isNotNull())
    return counted.where(F.col("count") > 1).isEmpty()


def _error(
    join: CompiledJoin, rows: Sequence[Row], shown: Sequence[str], matched: str
) -> ProjectRunError:
    keys = [
        ", ".join(f"{name} = {row[name]}" for name in shown) + f" ({row[_COUNT]} rows)"
        for row in rows[:_SHOWN]
    ]
    more = "; and others" if len(rows) > _SHOWN else ""
    expected = join.join.expected_cardinality
    return ProjectRunError(
        "MS-PROJECT-CARDINALITY",
        f"the join '{join.join.alias}' is expected to be {expected}, but some rows match several "
        f"{matched}: {'; '.join(keys)}{more}.",
        fix="Make the join condition select one row, remove the rows that are too many, or change "
        "expected_cardinality.",
        place=join.join.positions.of("on"),
    )
