"""Runs the job of an example over generated data, and computes its results in DuckDB."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

EXAMPLES = Path(__file__).parents[2] / "examples"
# What every malformed record of the generators contains, and every row with a time in the future.
BAD, AHEAD = "bad-", "ahead-"


def generate(example: str, out: Path, *options: str) -> None:
    script = EXAMPLES / example / "generate.py"
    subprocess.run([sys.executable, str(script), "--out", str(out), *options], check=True)


def contents(folder: Path) -> dict[str, str]:
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    return {str(file.relative_to(folder)): file.read_text() for file in files}


@dataclass(frozen=True)
class Trial:
    """A copy of an example in a temporary folder. Its generated files are staged and moved one by
    one to the folders that the job reads."""

    folder: Path
    example: str
    sources: dict[str, str]  # columns of each source, as DuckDB declares them

    @classmethod
    def create(cls, folder: Path, example: str, sources: dict[str, str], *options: str) -> Trial:
        generate(example, folder / "staged", *options)
        shutil.copy(EXAMPLES / example / "job.sql", folder / "job.sql")
        for source in sources:
            (folder / "data" / source).mkdir(parents=True)
        return cls(folder, example, sources)

    def staged(self, source: str) -> list[Path]:
        return sorted((self.folder / "staged" / source).iterdir())

    def drop(self, source: str, file: Path) -> None:
        """Moves a staged file to the folder that the job reads, atomically."""
        file.rename(self.folder / "data" / source / file.name)

    def drop_all(self) -> None:
        for source in self.sources:
            for file in self.staged(source):
                self.drop(source, file)

    def drop_late(self) -> None:
        for source in self.sources:
            [file] = (self.folder / "staged/late" / source).iterdir()
            self.drop(source, file)

    def records(self, source: str) -> list[str]:
        """Returns all records of the moved files, without headers."""
        found = []
        for file in sorted((self.folder / "data" / source).iterdir()):
            lines = file.read_text().splitlines()
            found += lines[1:] if file.suffix == ".csv" else lines
        return found

    def malformed(self, source: str) -> Counter[str]:
        return Counter(line for line in self.records(source) if BAD in line)

    def ahead(self, source: str) -> Counter[str]:
        return Counter(line for line in self.records(source) if AHEAD in line)

    def database(self) -> duckdb.DuckDBPyConnection:
        """Creates a table for each source, and one with its late rows and the prefix `late_`."""
        database = duckdb.connect()
        database.execute("SET TimeZone = 'UTC'")
        for source in self.sources:
            files = sorted((self.folder / "data" / source).iterdir())
            late = [file for file in files if file.stem == "late"]
            self._load(database, source, [file for file in files if file not in late])
            self._load(database, f"late_{source}", late)
        return database

    def _load(self, database: duckdb.DuckDBPyConnection, table: str, files: list[Path]) -> None:
        declared = self.sources[table.removeprefix("late_")]
        database.execute(f"CREATE TABLE {table} ({declared})")
        lines = [line for file in files for line in file.read_text().splitlines()]
        good = [line for line in lines if BAD not in line and AHEAD not in line]
        if files and files[0].suffix == ".csv":
            good = [line for line in good if line != lines[0]]
        if not good:
            return
        text = self.folder / f"{table}{files[0].suffix}"
        text.write_text("\n".join(good))
        if text.suffix == ".csv":
            database.execute(f"COPY {table} FROM '{text}' (HEADER false)")
        else:
            database.execute(f"COPY {table} FROM '{text}' (FORMAT json)")

    def assert_rows(
        self, database: duckdb.DuckDBPyConnection, sink: str, query: str, form: str
    ) -> int:
        """Asserts that a sink has exactly the rows of a query. Returns their number."""
        expected = database.sql(query)
        columns = {
            name: str(kind) for name, kind in zip(expected.columns, expected.types, strict=True)
        }
        expected_rows = Counter(expected.fetchall())
        actual = Counter(self.read(database, self.folder / "out" / sink, columns, form))
        assert (actual - expected_rows, expected_rows - actual) == (Counter(), Counter()), sink
        return expected_rows.total()

    @staticmethod
    def read(
        database: duckdb.DuckDBPyConnection, folder: Path, columns: dict[str, str], form: str
    ) -> list[tuple[Any, ...]]:
        files = [str(file) for file in sorted(folder.glob(f"*.{form}"))]
        if not files:
            return []
        if form == "json":
            found = database.sql(
                f"SELECT {', '.join(columns)} FROM read_json({files}, columns = {columns}, "
                "format = 'newline_delimited')"
            )
        else:
            found = database.sql(
                f"SELECT {', '.join(columns)} FROM read_csv({files}, header = true, "
                f"types = {columns}, nullstr = '', union_by_name = true)"
            )
        return found.fetchall()


def dead_letters(folder: Path, reason: str = "malformed") -> Counter[str]:
    """Returns the dead letters of a folder that have the given reason."""
    letters = [
        json.loads(line) for file in folder.glob("*.json") for line in file.read_text().splitlines()
    ]
    return Counter(letter["_raw"] for letter in letters if letter["_reason"] == reason)
