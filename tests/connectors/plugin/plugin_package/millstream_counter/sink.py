"""The sink: a file for each micro-batch."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame

from millstream.connectors.paths import resolve
from millstream.plan.nodes import SinkDef


class TsvSink:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, rows: DataFrame, batch: int) -> int:
        found = [list(row.values()) for row in rows.toArrow().to_pylist()]
        self._folder.mkdir(parents=True, exist_ok=True)
        text = "".join("\t".join(map(str, values)) + "\n" for values in found)
        (self._folder / f"{batch}.tsv").write_text(text, encoding="utf-8")
        return len(found)


def open_sink(sink: SinkDef, base: Path) -> TsvSink:
    return TsvSink(Path(resolve(sink.option("path"), base)))
