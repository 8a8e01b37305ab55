"""Generates impressions, clicks and conversions as files of JSON lines.

The events cover twelve days. They arrive up to 100 seconds after they happened, so a file contains
rows that are out of order, but none that is late for a watermark delay of two minutes. Every 12th
click is reported twice, every 40th record or so is malformed, and some clicks come from devices
whose clock is in the year 2100.

OUT/impressions, OUT/clicks and OUT/conversions hold what arrives on time. OUT/late holds a file for
each source with rows of the first six days: move them beside the others once the rest
has been read. The same seed gives the same files.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

START = datetime(2025, 6, 2, tzinfo=UTC)
PERIOD = 12 * 86_400.0  # seconds
DELAY = 100.0  # maximum seconds from an event to its arrival
CAMPAIGNS = ("autumn", "brand", "clearance", "launch", "newsletter")
SOURCES = ("impressions", "clicks", "conversions")


@dataclass(frozen=True)
class Event:
    """A line of a source. Times are seconds since START."""

    source: str
    time: float
    arrival: float
    line: str


class Generator:
    def __init__(self, rows: int, seed: int) -> None:
        self.rows = rows
        self.random = random.Random(seed)  # noqa: S311  reproducible, not secret
        self.numbers = dict.fromkeys(SOURCES, 0)

    def events(self) -> Iterator[Event]:
        """Generates the events on time: impressions with their clicks and conversions."""
        for _ in range(self.rows):
            shown = self.random.uniform(0, PERIOD)
            impression = self._number("impressions")
            campaign, cost = self.random.choice(CAMPAIGNS), self.random.randrange(5, 400) / 10_000
            yield self._event(
                "impressions", shown, impression_id=impression, campaign=campaign, cost=cost
            )
            for chance in (0.4, 0.05):  # a click, and a second one of the same impression
                if self.random.random() < chance:
                    # Some click after more than half an hour, some name an unknown impression.
                    clicked = shown + min(self.random.expovariate(1 / 600), 3_000)
                    named = impression if self.random.random() < 0.95 else "i-unknown"
                    yield from self._clicked(clicked, named)

    def _clicked(self, time: float, impression: str) -> Iterator[Event]:
        click = self._number("clicks")
        yield self._event("clicks", time, click_id=click, impression_id=impression)
        if int(click[1:]) % 12 == 0:
            yield self._event("clicks", time, click_id=click, impression_id=impression)
        if self.random.random() < 0.5:  # some convert after more than 7 days
            yield self._conversion(time + self.random.uniform(10, 9 * 86_400), click)

    def _conversion(self, time: float, click: str) -> Event:
        conversion, revenue = self._number("conversions"), self.random.randrange(99, 20_000) / 100
        named = click if self.random.random() < 0.95 else None
        return self._event(
            "conversions", time, conversion_id=conversion, click_id=named, revenue=revenue
        )

    def malformed(self) -> Iterator[Event]:
        """Generates malformed records: truncated, or with a value of another type."""
        for source, column in zip(SOURCES, ("cost", "event_time", "revenue"), strict=True):
            for number in range(max(2, self.rows // 40)):
                time = self.random.uniform(0, PERIOD)
                key, value = f"{source[:-1]}_id", f"bad-{source[0]}{number:05d}"
                whole = json.dumps({key: value, column: "free", "event_time": _text(time)})
                if column == "event_time":
                    whole = json.dumps({key: value, "impression_id": "i00001", column: "soon"})
                yield Event(source, time, time, whole if number % 2 else whole[:-3])

    def ahead(self) -> Iterator[Event]:
        """Generates clicks of devices with a wrong clock."""
        for number in range(max(2, self.rows // 100)):
            time = self.random.uniform(0, PERIOD)
            columns = {"click_id": f"ahead-{number:05d}", "impression_id": "i00001"}
            line = json.dumps({**columns, "event_time": f"2100-01-01T00:00:{number % 60:02d}Z"})
            yield Event("clicks", time, time, line)

    def late(self) -> Iterator[Event]:
        """Generates late rows, of the first six of twelve days."""
        for _ in range(max(2, self.rows // 50)):
            time = self.random.uniform(0, PERIOD / 2)
            campaign = self.random.choice(CAMPAIGNS)
            impression = self._number("impressions")
            yield self._event(
                "impressions", time, impression_id=impression, campaign=campaign, cost=0.01
            )
            click = self._number("clicks")
            yield self._event("clicks", time + 1, click_id=click, impression_id=impression)
            yield self._conversion(time + 2, click)

    def _number(self, source: str) -> str:
        self.numbers[source] += 1
        letter = {"impressions": "i", "clicks": "c", "conversions": "v"}[source]
        return f"{letter}{self.numbers[source]:05d}"

    def _event(self, source: str, time: float, **columns: object) -> Event:
        line = json.dumps({**columns, "event_time": _text(time)})
        return Event(source, time, time + self.random.uniform(0, DELAY), line)


def _text(time: float) -> str:
    moment = START + timedelta(milliseconds=round(time * 1_000))
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def generate(rows: int, seed: int, files: int, out: Path) -> dict[str, int]:
    """Writes all files. Returns the number of lines of each source, including late ones."""
    generator = Generator(rows, seed)
    on_time = [*generator.events(), *generator.malformed(), *generator.ahead()]
    counts = dict.fromkeys(SOURCES, 0)
    for source in SOURCES:
        lines: list[list[str]] = [[] for _ in range(files)]
        for event in sorted(on_time, key=lambda event: event.arrival):
            if event.source == source and event.time < PERIOD:
                lines[min(int(event.arrival / PERIOD * files), files - 1)].append(event.line)
        for number, each in enumerate(lines):
            _write(out / source / f"{number:04d}.json", each)
        counts[source] = sum(map(len, lines))
    late = list(generator.late())
    for source in SOURCES:
        found = [event.line for event in late if event.source == source]
        _write(out / "late" / source / "late.json", found)
        counts[source] += len(found)
    return counts


def _write(file: Path, lines: list[str]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=120, help="impressions (default: 120)")
    parser.add_argument("--seed", type=int, default=3, help="default: 3")
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
