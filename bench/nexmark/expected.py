"""What a query must give in the end: DuckDB's answer over all events at once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import polars as pl

from bench.nexmark.columns import COLUMNS
from bench.nexmark.suite import QUERIES, Query
from bench.nexmark.write import Data, read
from bench.runs import ROOT


@dataclass(slots=True)
class Oracle:
    """Answers over the files of one set of events."""

    data: Data
    _connection: duckdb.DuckDBPyConnection = field(init=False)

    def __post_init__(self) -> None:
        self._connection = duckdb.connect()
        for kind, columns in COLUMNS.items():
            files = f"{self.data.folder}/{kind}/*.{self.data.format}"
            view = _READERS[self.data.format].format(files=files, columns=columns)
            self._connection.execute(f"CREATE VIEW {kind} AS FROM {view}")

    def result(self, query: Query) -> pl.DataFrame:
        return pl.DataFrame(self._connection.sql(query.oracle()).to_arrow_table())

    def close(self) -> None:
        self._connection.close()


_READERS = {
    "parquet": "read_parquet('{files}')",
    "csv": "read_csv('{files}', header = false, columns = {columns})",
    "json": "read_json('{files}', format = 'newline_delimited', columns = {columns})",
}


def answers(data: Data, queries: Iterable[Query], folder: Path) -> dict[str, pl.DataFrame]:
    """The results by query, computed in a separate process and stored in `folder`.

    In one that Spark has called back, DuckDB complains at the end of objects that are left.
    """
    names = [query.name for query in queries]
    folder.mkdir(parents=True)
    command = [
        sys.executable,
        "-m",
        "bench.nexmark.expected",
        str(data.folder),
        str(folder),
        *names,
    ]
    done = subprocess.run(  # noqa: S603 -- our own module
        command, cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"the oracle failed:\n{done.stderr}")
    return {name: pl.read_parquet(folder / f"{name}.parquet") for name in names}


def _main(source: str, target: str, *names: str) -> None:
    oracle = Oracle(read(Path(source)))
    for name in names:
        oracle.result(QUERIES[name]).write_parquet(Path(target) / f"{name}.parquet")
    oracle.close()


if __name__ == "__main__":
    _main(*sys.argv[1:])
