"""Generates quotes and trades of half an hour as CSV files.

Rows arrive up to 8 seconds after their event time, so a file contains rows that are out of order,
but none that is late for a watermark delay of ten seconds. Trading in one symbol starts before its
first quote and continues for minutes without one. One record in 50 or so is malformed.

OUT/quotes and OUT/trades contain the rows that arrive on time. OUT/late contains a file for each
with rows of the first ten minutes: move them to the other files after those have been read. The
same seed gives the same files.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

START = datetime(2025, 6, 2, 13, 30, tzinfo=UTC)
PERIOD = 30 * 60_000  # in milliseconds, like all times in this file
DELAY = 8_000
SYMBOLS = ("ACME", "BOLT", "CRUX", "DUNE", "ECHO", "FLUX")
RARE = "FLUX"  # has quotes in minutes 5 to 10, and from minute 20
HEADERS = {
    "quotes": "symbol,bid,ask,event_time",  # words: fine
    "trades": "trade_id,symbol,price,quantity,event_time",
}


@dataclass(frozen=True)
class Row:
    source: str
    time: int
    arrival: int
    line: str


class Generator:
    def __init__(self, rows: int, seed: int) -> None:
        self.rows = rows
        self.random = random.Random(seed)  # noqa: S311  reproducible, not secret
        self.trades = 0

    def rows_on_time(self) -> Iterator[Row]:
        """Generates quotes and trades around random walks. In each source no two rows of a
        symbol have the same time, so the last quote and the first trade are unambiguous."""
        for number, symbol in enumerate(SYMBOLS):
            price = 5_000 + 3_000 * number  # cents
            quoted = sorted(self.random.sample(range(PERIOD), self.rows // 2))
            traded = sorted(self.random.sample(range(PERIOD), self.rows // len(SYMBOLS)))
            moments = [(time, "quotes") for time in quoted] + [(time, "trades") for time in traded]
            for time, source in sorted(moments):
                price = max(100, price + self.random.randint(-12, 12))
                if source == "trades":
                    yield self._trade(symbol, price + self.random.randint(-4, 4), time)
                elif symbol != RARE or 300_000 <= time < 600_000 or time >= 1_200_000:
                    yield self._quote(symbol, price, time)

    def malformed(self) -> Iterator[Row]:
        """Generates malformed records: a price that is not a number, or too few values."""
        for number in range(max(2, self.rows // 50)):
            for source, line in (
                ("quotes", f"bad-{number},n/a,51.00,{_text(number)}"),
                ("quotes", f"bad-{number},51.00"),
                ("trades", f"bad-{number},ACME,n/a,100,{_text(number)}"),
            ):
                time = self.random.randrange(PERIOD)
                yield Row(source, time, time, line)

    def late(self) -> Iterator[Row]:
        for _ in range(max(2, self.rows // 50)):
            symbol, time = self.random.choice(SYMBOLS), self.random.randrange(600_000)
            yield self._quote(symbol, 9_000, time)
            yield self._trade(symbol, 9_000, time)

    def _quote(self, symbol: str, price: int, time: int) -> Row:
        half = self.random.randint(1, 5)
        line = f"{symbol},{_money(price - half)},{_money(price + half)},{_text(time)}"
        return Row("quotes", time, time + self.random.randrange(DELAY), line)

    def _trade(self, symbol: str, price: int, time: int) -> Row:
        self.trades += 1
        quantity = self.random.randrange(1, 50) * 10
        line = f"t{self.trades:06d},{symbol},{_money(price)},{quantity},{_text(time)}"
        return Row("trades", time, time + self.random.randrange(DELAY), line)


def _money(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02d}"


def _text(time: int) -> str:
    moment = START + timedelta(milliseconds=time)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def generate(rows: int, seed: int, files: int, out: Path) -> dict[str, int]:
    """Writes all files. Returns the number of records of each source, including late ones."""
    generator = Generator(rows, seed)
    on_time = sorted(
        [*generator.rows_on_time(), *generator.malformed()], key=lambda row: row.arrival
    )
    late = list(generator.late())
    counts = {}
    for source in HEADERS:
        for number in range(files):
            found = [row for row in on_time if row.source == source and _file(row, files) == number]
            _write(out / source / f"{number:04d}.csv", source, found)
        _write(out / "late" / source / "late.csv", source, late)
        counts[source] = sum(row.source == source for row in (*on_time, *late))
    return counts


def _file(row: Row, files: int) -> int:
    return min(row.arrival * files // PERIOD, files - 1)


def _write(file: Path, source: str, rows: list[Row]) -> None:
    lines = [HEADERS[source], *(row.line for row in rows if row.source == source)]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=120, help="trades (default: 120)")
    parser.add_argument("--seed", type=int, default=1, help="default: 1")
    parser.add_argument("--files", type=int, default=3, help="files per source (default: 3)")
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).parent / "data", help="default: data"
    )
    options = parser.parse_args()
    counts = generate(options.rows, options.seed, options.files, options.out)
    written = ", ".join(f"{count} {source}" for source, count in counts.items())
    print(f"{written} in {options.out}")


if __name__ == "__main__":
    main()
