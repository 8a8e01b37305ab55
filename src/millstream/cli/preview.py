"""The first rows that a run wrote to a file sink."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from itertools import islice

from rich.table import Table
from rich.text import Text

from millstream.connectors.paths import filesystem
from millstream.run.destinations import Destination, batch_files

SHOWN = 20


def preview(
    to: Destination, names: Sequence[str], first_batch: int, *, header: bool
) -> Table | None:
    """A table of the first rows of the batches from `first_batch` on; None if there are none."""
    if to.path is None or to.format not in ("csv", "json", "parquet"):
        return None
    files = batch_files(to.path, to.partitions, first_batch)
    rows = list(islice(_rows(to.path, files, to.format, names, header=header), SHOWN + 1))
    if not rows:
        return None
    more = f"the first {SHOWN} rows" if len(rows) > SHOWN else None
    table = Table(caption=more, caption_justify="left")
    for name in names:
        table.add_column(name, overflow="fold")
    for row in rows[:SHOWN]:
        table.add_row(*map(Text, row))  # a row may hold what looks like markup
    return table


def _rows(
    path: str, files: Sequence[str], form: str, names: Sequence[str], *, header: bool
) -> Iterator[list[str]]:
    system, _ = filesystem(path)
    for file in files:
        with system.open_input_file(file) as opened:
            if form == "parquet":
                import pyarrow.parquet as pq

                for row in pq.read_table(opened).to_pylist():
                    yield [_cell(row.get(name)) for name in names]
                continue
            text = io.TextIOWrapper(io.BytesIO(opened.read()), encoding="utf-8", newline="")
        if form == "json":
            for line in text:
                row = json.loads(line)
                yield [_cell(row.get(name)) for name in names]
        else:
            yield from islice(csv.reader(text), 1 if header else 0, None)


def _cell(value: object) -> str:
    return "NULL" if value is None else str(value)
