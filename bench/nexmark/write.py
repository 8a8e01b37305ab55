"""Events as files: person/, auction/ and bid/, where file i of each holds the same slice of all."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from bench.nexmark.events import KINDS, Generator
from bench.nexmark.options import AUCTIONS, EPOCH, PERSONS, Options

FORMATS = ("parquet", "json", "csv")
MANIFEST = "nexmark.json"
SIDE_INPUT = "side_input"
_SIDE_ROWS = 10_000
_TIME = "%Y-%m-%d %H:%M:%S%.6f"
_SECOND = 1_000_000_000
_BEGIN = 1_767_225_600 * _SECOND
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Data:
    """Generated files, and how they were made."""

    folder: Path
    options: Options
    files: int
    format: str

    def counts(self) -> dict[str, int]:
        """Events by kind."""
        epochs, rest = divmod(self.options.events, EPOCH)
        persons = epochs * PERSONS + min(rest, PERSONS)
        auctions = epochs * AUCTIONS + min(max(rest - PERSONS, 0), AUCTIONS)
        bids = self.options.events - persons - auctions
        return {"person": persons, "auction": auctions, "bid": bids}


def write(
    options: Options,
    folder: Path,
    *,
    files: int = 8,
    form: str = "parquet",
    say: Say = lambda _: None,
) -> Data:
    """Generate and write everything. The folder must be empty or new."""
    for kind in (*KINDS, SIDE_INPUT):
        (folder / kind).mkdir(parents=True)
    generator = Generator(options)
    for number in range(files):
        for kind, frame in _slice(generator, number, files).items():
            _write(frame, folder / kind / f"{number:05d}.{form}", number)
        say(f"{options.events * (number + 1) // files:,} of {options.events:,} events")
    _write(side_input(), folder / SIDE_INPUT / f"{SIDE_INPUT}.{form}", 0)
    data = Data(folder, options, files, form)
    (folder / MANIFEST).write_text(json.dumps(manifest(data), indent=2) + "\n", encoding="utf-8")
    return data


def manifest(data: Data) -> dict[str, Any]:
    """How the files were made, as data: the same again gives the same files."""
    return {"options": asdict(data.options), "files": data.files, "format": data.format}


def read(folder: Path) -> Data:
    """What was generated into a folder."""
    made = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    return Data(folder, Options(**made["options"]), made["files"], made["format"])


def side_input() -> pl.DataFrame:
    """The bounded table of query 13."""
    keys = pl.int_range(_SIDE_ROWS, eager=True)
    return pl.DataFrame({"key": keys, "value": keys.cast(pl.String)})


def as_text(frame: pl.DataFrame) -> pl.DataFrame:
    """Times to the microsecond and without an offset, as every engine reads them."""
    return frame.with_columns(pl.col(pl.Datetime).dt.strftime(_TIME))


def _slice(generator: Generator, number: int, files: int) -> dict[str, pl.DataFrame]:
    events = generator.options.events
    return generator.slice(events * number // files, events * (number + 1) // files)


def _write(frame: pl.DataFrame, path: Path, number: int) -> None:
    if path.suffix == ".parquet":
        frame.write_parquet(path, compression="snappy")
    elif path.suffix == ".csv":
        as_text(frame).write_csv(path, include_header=False)  # Flink can pass over none
    else:
        as_text(frame).write_ndjson(path)
    # Spark takes files by their times: in the order of their numbers, however fast they came.
    os.utime(path, ns=(_BEGIN + number * _SECOND,) * 2)
