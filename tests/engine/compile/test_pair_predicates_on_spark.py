"""Predicates over pairs of rows have the values and the errors that they have in Spark."""

from __future__ import annotations

import math
import os
import random
from dataclasses import dataclass
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from millstream.engine.compile.compared_columns import TYPES, Operands
from millstream.engine.compile.expressions import spark_column
from millstream.engine.shuffle.types import common_type, comparable
from millstream.errors import PlanError, RunError
from millstream.kernels.core.predicate import evaluate
from millstream.plan.build.job import build_job
from millstream.plan.nodes import WindowJoin
from millstream.plan.nodes.traversal import operators_of
from millstream.scalars import Predicate

COLUMNS = "a INT, b BIGINT, c TINYINT, d DOUBLE, s STRING, p STRING, f BOOLEAN, u TIMESTAMP"
SOURCES = "".join(
    f"CREATE SOURCE {name} (k INT, {COLUMNS}, t TIMESTAMP, WATERMARK FOR t AS t);" for name in "lr"
)
VALUES: dict[str, list[Any]] = {
    "a": [None, 0, 1, -1, 7, 2**31 - 1, -(2**31)],
    "b": [None, 0, 1, -3, 2**53 + 1, 2**63 - 1, -(2**63)],
    "c": [None, 0, 1, -1, 127, -128],
    "d": [None, 0.0, -0.0, 1.5, -2.5, math.nan, math.inf, 2.0**63, 1e300, 2147483647.5, -128.7],
    "s": [None, "", "a", "ab", "a%", "é_", "a\nb", "A"],
    "p": [None, "", "a%", "_", "a\\%", "%b", "\\", "é\\_", "(a)*", "a.b"],
    "f": [None, True, False],
    "u": [None, 0, 1_700_000_000_000_000],
}
NUMBERS = ["a", "b", "c", "d"]
LITERALS = [
    *("0", "1", "-1", "7", "127", "2147483647", "9223372036854775807", "-2147483648", "NULL"),
    *("1.5", "-0.5", "2.0", "1e0", "1.5e0", "2.5D", "3L", "5S"),
]
COMPARATORS = ["=", "<>", "!=", "<", "<=", ">", ">=", "<=>"]


class Generator:
    """Random predicates. Most of them have a type; the others must be rejected."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def column(self, names: list[str]) -> str:
        return f"{self.rng.choice('lr')}.{self.rng.choice(names)}"

    def predicate(self, depth: int) -> str:
        kind = self.rng.randrange(12 if depth else 8)
        number = self.number(max(depth - 1, 0))
        if kind < 3:
            text = f"{number} {self.rng.choice(COMPARATORS)} {self.number(max(depth - 1, 0))}"
        elif kind == 3:
            text = f"{number} {self.negated()}IN ({', '.join(self.literal() for _ in range(3))})"
        elif kind == 4:
            text = f"{number} {self.negated()}BETWEEN {self.literal()} AND {self.column(NUMBERS)}"
        elif kind == 5:
            text = f"{self.string(depth)} {self.negated()}LIKE {self.column(['p', 's'])}"
        elif kind == 6:
            text = f"{self.string(depth)} {self.rng.choice(COMPARATORS)} {self.string(depth)}"
        elif kind == 7:
            tests = ["IS NULL", "IS NOT NULL", "IS TRUE", "IS NOT FALSE"]
            return f"({self.column(['f'])} {self.rng.choice(tests)})"
        elif kind < 11:
            joined = f" {self.rng.choice(['AND', 'OR'])} "
            text = joined.join(self.predicate(depth - 1) for _ in range(2))
        else:
            text = f"NOT {self.predicate(depth - 1)}"
        return f"({text})"

    def negated(self) -> str:
        return self.rng.choice(["", "NOT "])

    def literal(self) -> str:
        return self.rng.choice(LITERALS)

    def number(self, depth: int) -> str:
        kind = self.rng.randrange(9 if depth else 3)
        if kind < 2:
            return self.column(NUMBERS)
        if kind == 2:
            return self.literal()
        if kind < 6:
            operator = self.rng.choice("+-*/%")
            text = f"{self.number(depth - 1)} {operator} {self.number(depth - 1)}"
            return text if self.rng.random() < 0.3 else f"({text})"
        if kind == 6:
            return f"-{self.column(NUMBERS)}"
        if kind == 7:
            types = ["TINYINT", "SMALLINT", "INT", "BIGINT", "DOUBLE"]
            return f"CAST({self.number(depth - 1)} AS {self.rng.choice(types)})"
        return (
            f"CASE WHEN {self.predicate(depth - 1)} THEN {self.number(depth - 1)} "
            f"ELSE {self.number(depth - 1)} END"
        )

    def string(self, depth: int) -> str:
        if self.rng.random() < 0.3 and depth:
            return f"if({self.predicate(depth - 1)}, {self.column(['s'])}, 'a')"
        return self.column(["s", "p"])


def planned(predicate: str) -> Any:
    """Returns the plan's form of a predicate over both sides; None if it has another form."""
    sql = (
        f"{SOURCES} CREATE SINK o AS SELECT l.a FROM l LEFT JOIN r ON l.k = r.k AND "
        f"{predicate} WINDOW TUMBLING(INTERVAL 1 HOUR);"
    )
    try:
        (node,) = operators_of(build_job(sql).pipelines[0].root)
    except PlanError as error:
        if error.code != "MS-PLAN-PREDICATE":
            raise
        return None
    assert isinstance(node, WindowJoin)
    return node.across


def random_predicates(rng: random.Random, count: int) -> dict[str, Any]:
    """Returns predicates that the join evaluates itself, by their texts."""
    generator, found = Generator(rng), dict[str, Any]()
    while len(found) < count:
        text = f"NOT {generator.predicate(3)}"
        predicate = planned(text)
        if predicate is not None and reads_columns_only(predicate):
            found[text] = predicate
    return found


def reads_columns_only(predicate: Any) -> bool:
    """Returns whether Spark computes no operand, which it does for each row of a side."""
    operands = Operands()
    operands.name_columns(predicate)
    return all(each.expression.is_column for side in operands.columns for each in side)


def pairs(spark: SparkSession, rng: random.Random, count: int) -> DataFrame:
    kinds = {
        "a": pa.int32(), "b": pa.int64(), "c": pa.int8(), "d": pa.float64(), "s": pa.string(),
        "p": pa.string(), "f": pa.bool_(), "u": pa.timestamp("us", "UTC"),
    }  # fmt: skip
    side = pa.struct(list(kinds.items()))

    def row() -> dict[str, Any]:
        return {name: rng.choice(values) for name, values in VALUES.items()}

    columns = {name: pa.array([row() for _ in range(count)], side) for name in "lr"}
    return spark.createDataFrame(pa.table({**columns, "number": list(range(count))}))


@dataclass(frozen=True)
class Case:
    """A predicate over columns of packets; `values` are those of the kernel, or "error"."""

    text: str
    predicate: Predicate
    values: list[Any]


def cases(spark: SparkSession, frame: DataFrame, predicates: dict[str, Any]) -> list[Case]:
    """Evaluates predicates with the kernel. Spark computes the columns of all of them at once."""
    named, columns = [], []
    for prefix, predicate in enumerate(predicates.values()):
        found = Operands()
        across = found.name_columns(predicate)
        names: dict[str, str] = {}
        for side, kind in enumerate(("lx", "rx")):
            for number, each in enumerate(found.columns[side]):
                both = found.pairs[each.pair] if each.type is None else (each.expression,) * 2
                types = [field.dataType for field in frame.select(*map(spark_column, both)).schema]
                target = (
                    TYPES[each.type] if each.type else common_type(spark, types[0], types[1], "it")
                )
                value = comparable(spark_column(each.expression), types[side], target)
                name = names[f"{kind}{number}"] = f"{prefix}_{kind}{number}"
                columns.append(value.alias(name))
        named.append((across, names))
    rows = pl.DataFrame(pl.from_arrow(frame.orderBy("number").select(*columns).toArrow()))
    return [
        Case(text, across, kernel_values(across, rows, names))
        for text, (across, names) in zip(predicates, named, strict=True)
    ]


def kernel_values(across: Predicate, rows: pl.DataFrame, names: dict[str, str]) -> list[Any]:
    def one(number: int) -> Any:
        try:
            return evaluate(across, lambda name: rows[names[name]][number : number + 1], 1)[0]
        except RunError as error:
            if error.code != "MS-RUN-VALUE":
                raise
            return "error"

    values = [one(number) for number in range(rows.height)]
    is_live = pl.Series([value != "error" for value in values])
    together = evaluate(across, lambda name: rows[names[name]], rows.height, is_live)
    assert [together[number] for number in range(rows.height) if is_live[number]] == [
        value for value in values if value != "error"
    ]
    return values


def without_errors(case: Case) -> Any:
    """The predicate in Spark for the pairs for which the kernel has a value."""
    numbers = [number for number, value in enumerate(case.values) if value != "error"]
    return F.when(F.col("number").isin(numbers), F.expr(case.text))


def test_random_predicates(spark: SparkSession) -> None:
    rng = random.Random(int(os.environ.get("MILLSTREAM_SEED", "1")))
    frame = pairs(spark, rng, 40)
    found = cases(spark, frame, random_predicates(rng, 60))
    rows = frame.orderBy("number").select(*map(without_errors, found)).collect()
    for number, case in enumerate(found):
        expected = [
            "error" if case.values[at] == "error" else row[number] for at, row in enumerate(rows)
        ]
        assert case.values == expected, case.text
    failing = [case for case in found if "error" in case.values]
    assert len(failing) > 5
    for case in failing[:8]:
        pair = frame.where(F.col("number") == case.values.index("error"))
        with pytest.raises(PySparkException, match=r"DIVIDE|REMAINDER|OVERFLOW|ESC"):
            pair.select(F.expr(case.text)).collect()
