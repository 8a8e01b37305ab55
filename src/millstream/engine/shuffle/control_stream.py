"""The control stream: small JSON files beside the checkpoint, read as one more streaming source.

Because it is a source, its messages are in Spark's offset log: a retried micro-batch reads the same
ones. A query has one control source, however many operators read it: all of them get a message in
the same micro-batch.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    ByteType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from millstream.connectors.file.names import EVERY_FILE
from millstream.engine.shuffle.format import (
    ALLOWANCE,
    END_OF_INPUT,
    KNOWN_PARTITION,
    NO_LIMIT,
    NO_TIME,
    PROCESSING_TIME,
    UNKNOWN,
)

END_FILE = "end-of-input.json"
_MESSAGE = StructType(
    [
        StructField("kind", StringType()),
        StructField("now", LongType()),
        StructField("operator", IntegerType()),
        StructField("label", IntegerType()),
        StructField("rows", LongType()),
        StructField("bytes", LongType()),
        StructField("source", StringType()),
        StructField("partition", StringType()),
    ]
)
_END, _PROCESSING_TIME, _ALLOW, _PARTITION = (
    "end-of-input",
    "processing-time",
    "allowance",
    "partition",
)
_MAX_FILES = 1000  # older ones have been read


@dataclass(slots=True)
class ControlStream:
    """The control source of one query. All readers share one DataFrame: Spark makes one source of
    it, where two DataFrames of the same folder would be two sources with offsets of their own."""

    spark: SparkSession
    folder: str
    _messages: DataFrame | None = field(default=None, init=False)

    @property
    def messages(self) -> DataFrame:
        if self._messages is None:
            # Reads every file, whatever its modification time.
            reader = self.spark.readStream.schema(_MESSAGE).options(**EVERY_FILE)
            self._messages = reader.json(self.folder)
        return self._messages


def control_packets(
    control: ControlStream, labels: tuple[int, ...], *, about_time: bool
) -> DataFrame:
    """Returns a packet for the key group of each allowance and, if `about_time`, one for every key
    group of each message about processing time, partitions or the end of input.

    Every operator's stream reads all kinds of messages at one place, so that the number of sources
    in Spark's offset log is the same whether there is a state limit or not.
    """
    messages = control.messages
    if not about_time:
        messages = messages.where(F.col("kind") == _ALLOW)
    none, never = F.lit(0).cast(LongType()), F.lit(NO_TIME).cast(LongType())
    allowance = F.col("kind") == _ALLOW
    kind = F.when(allowance, ALLOWANCE).when(F.col("kind") == _END, END_OF_INPUT)
    kind = kind.when(F.col("kind") == _PARTITION, KNOWN_PARTITION).otherwise(PROCESSING_TIME)
    groups = F.when(allowance, F.array("label")).otherwise(F.array(*map(F.lit, labels)))
    no_limit = F.coalesce("rows", F.lit(NO_LIMIT).cast(LongType()))
    return messages.select(
        F.explode(groups).alias("label"),
        kind.alias("kind"),
        F.when(allowance, F.col("operator")).otherwise(0).alias("target"),
        none.alias("sequence"),
        F.when(allowance, F.coalesce("bytes", never)).otherwise(never).alias("max_time"),
        F.coalesce("now", never).alias("now"),
        F.when(allowance, no_limit).otherwise(none).alias("rows"),
        *_nothing_else(),
    )


def _nothing_else() -> tuple[Column, ...]:
    return (
        F.lit(UNKNOWN).cast(ByteType()).alias("is_idle"),
        F.lit(None).cast(BinaryType()).alias("payload"),
        F.lit(None).cast(StringType()).alias("input_counts"),
        F.when(F.col("source").isNotNull(), F.to_json(F.struct("source", "partition"))).alias(
            "partitions"
        ),
    )


def end_rows(control: ControlStream) -> DataFrame:
    """One empty row when the input has ended."""
    whole = (F.col("kind") == _END) & F.col("source").isNull()
    return control.messages.where(whole).select()


def end_of_input(folder: Path, source: str | None = None, partition: str | None = None) -> None:
    """Ends the input of a query, of one source, or of one partition of it: no more rows arrive, so
    nothing waits for them. Call it when the last rows were read. A second call has no effect."""
    name = END_FILE if source is None else _file_name("end", source, partition)
    if not (folder / name).exists():
        _write_message(folder, name, {"kind": _END, "source": source, "partition": partition})


def announce_partitions(folder: Path, source: str, partitions: Iterable[str]) -> None:
    """Announces the partitions of a source before they have rows, so that the watermark waits for
    them. A partition is announced once, however often the query is started."""
    for partition in partitions:
        name = _file_name("partition", source, partition)
        if not (folder / name).exists():
            _write_message(
                folder, name, {"kind": _PARTITION, "source": source, "partition": partition}
            )


def _file_name(kind: str, source: str, partition: str | None) -> str:
    digest = hashlib.sha256(json.dumps([source, partition]).encode()).hexdigest()
    return f"{kind}-{digest[:32]}.json"


def has_ended(folder: Path) -> bool:
    return (folder / END_FILE).exists()


def send_processing_time(folder: Path, now: int) -> None:
    """Sends processing time, so that an operator can detect idle inputs."""
    _write_message(folder, f"time-{now}.json", {"kind": _PROCESSING_TIME, "now": now})
    for old in sorted(folder.glob("time-*.json"))[:-_MAX_FILES]:
        old.unlink()


@dataclass(frozen=True, slots=True)
class Allowance:
    """The rows and bytes of state that a key group of an operator may have; None: no limit."""

    operator: int
    label: int
    rows: int | None
    bytes: int | None


def send_allowances(folder: Path, batch: int, allowances: Iterable[Allowance]) -> None:
    """Sends allowances after a batch. A retried batch sends the same message."""
    lines = [json.dumps({"kind": _ALLOW, **asdict(each)}) for each in allowances]
    _write_file(folder, f"allowance-{batch:09d}.json", "\n".join(lines))
    for old in sorted(folder.glob("allowance-*.json"))[:-_MAX_FILES]:
        old.unlink()


def last_processing_time(folder: Path) -> int:
    """Returns the latest processing time that was sent; 0 if none."""
    return max((int(path.stem[len("time-") :]) for path in folder.glob("time-*.json")), default=0)


def _write_message(folder: Path, name: str, message: dict[str, object]) -> None:
    _write_file(folder, name, json.dumps(message))


def _write_file(folder: Path, name: str, text: str) -> None:
    written = folder / f".{name}.{os.getpid()}"
    written.write_text(text + "\n", encoding="utf-8")
    written.rename(folder / name)
