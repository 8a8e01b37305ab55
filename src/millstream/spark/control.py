"""The control stream: small JSON files beside the checkpoint, read as one more streaming source.

Because it is a source, what it says is in Spark's offset log: a retried micro-batch hears the same.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from millstream.spark.packets import END_OF_INPUT

END_FILE = "end-of-input.json"


def end_packets(spark: SparkSession, folder: str, labels: tuple[int, ...]) -> DataFrame:
    """A packet for every key group, once somebody has said that the input has ended."""
    said = spark.readStream.schema("say string").json(folder).where("say = 'end-of-input'")
    return said.select(
        F.explode(F.array(*map(F.lit, labels))).alias("label"),
        F.lit(END_OF_INPUT).alias("kind"),
        F.lit(0).alias("source"),
        F.lit(None).cast("bigint").alias("top"),
        F.lit(0).cast("bigint").alias("rows"),
        F.lit(None).cast("binary").alias("blob"),
        F.lit(None).cast("string").alias("tally"),
    )


def end_rows(spark: SparkSession, folder: str) -> DataFrame:
    """One empty row, once somebody has said that the input has ended."""
    said = spark.readStream.schema("say string").json(folder)
    return said.where("say = 'end-of-input'").select()


def end_of_input(folder: Path) -> None:
    """Says that no input will come any more: all that is held comes out. Twice is once."""
    target = folder / END_FILE
    if target.exists():
        return
    written = folder / f".{END_FILE}.{os.getpid()}"
    written.write_text(json.dumps({"say": "end-of-input"}) + "\n", encoding="utf-8")
    written.rename(target)


def has_ended(folder: Path) -> bool:
    return (folder / END_FILE).exists()
