"""Generates src/millstream/plan/expressions/spark_functions.txt: the names of Spark's functions.

    python -m scripts.spark_functions

The names come from `SHOW FUNCTIONS` of a session without functions of its own.
"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

PAGE = Path(__file__).parents[1] / "src/millstream/plan/expressions/spark_functions.txt"


def function_names(spark: SparkSession) -> list[str]:
    """Returns the names of all built-in functions that are written as calls."""
    rows = spark.sql("SHOW SYSTEM FUNCTIONS").collect()
    return sorted(row[0] for row in rows if row[0].isidentifier())


if __name__ == "__main__":
    session = SparkSession.builder.master("local[1]").getOrCreate()
    PAGE.write_text("\n".join([*function_names(session), ""]), encoding="utf-8")
