"""The control stream: small JSON files beside the checkpoint, read as one more streaming source.

Because it is a source, what it says is in Spark's offset log: a retried micro-batch hears the same.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    ByteType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from millstream.spark.packets import END_OF_INPUT, NO_TIME, TICK, UNSAID

END_FILE = "end-of-input.json"
_SAID = StructType([StructField("say", StringType()), StructField("now", LongType())])
_END, _TICK = "end-of-input", "tick"
_TICKS_KEPT = 1000  # older ones were read long ago


def control_packets(spark: SparkSession, folder: str, labels: tuple[int, ...]) -> DataFrame:
    """A packet for every key group of each thing that somebody has said."""
    said = spark.readStream.schema(_SAID).json(folder).where(F.col("say").isin(_END, _TICK))
    none, never = F.lit(0).cast(LongType()), F.lit(NO_TIME).cast(LongType())
    return said.select(
        F.explode(F.array(*map(F.lit, labels))).alias("label"),
        F.when(F.col("say") == _END, END_OF_INPUT).otherwise(TICK).alias("kind"),
        F.lit(0).alias("source"),
        none.alias("place"),
        never.alias("top"),
        F.coalesce("now", never).alias("now"),
        none.alias("rows"),
        F.lit(UNSAID).cast(ByteType()).alias("silent"),
        F.lit(None).cast(BinaryType()).alias("blob"),
        F.lit(None).cast(StringType()).alias("tally"),
    )


def end_rows(spark: SparkSession, folder: str) -> DataFrame:
    """One empty row, once somebody has said that the input has ended."""
    return spark.readStream.schema(_SAID).json(folder).where(F.col("say") == _END).select()


def end_of_input(folder: Path) -> None:
    """Says that no input will come any more: all that is held comes out. Twice is once."""
    if not has_ended(folder):
        _say(folder, END_FILE, {"say": _END})


def has_ended(folder: Path) -> bool:
    return (folder / END_FILE).exists()


def tick(folder: Path, now: int) -> None:
    """Says what time it is, so that an operator whose inputs are silent can notice that."""
    _say(folder, f"tick-{now}.json", {"say": _TICK, "now": now})
    for old in sorted(folder.glob("tick-*.json"))[:-_TICKS_KEPT]:
        old.unlink()


def _say(folder: Path, name: str, what: dict[str, object]) -> None:
    written = folder / f".{name}.{os.getpid()}"
    written.write_text(json.dumps(what) + "\n", encoding="utf-8")
    written.rename(folder / name)
