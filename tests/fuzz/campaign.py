"""Runs the cases of a fuzzer until its time is over, and reports what it finds."""

from __future__ import annotations

import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

CASES = 1_000_000  # case n of seed s has the seed s * CASES + n


@dataclass(frozen=True, slots=True)
class Finding:
    """`signature` is equal for findings that have one cause."""

    signature: str
    detail: str


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What came of a case: a word for the summary, and what is wrong with it."""

    outcome: str
    finding: Finding | None = None


class Fuzzer(Protocol):
    name: str

    def try_case(self, seed: int) -> CaseResult: ...


def write_out(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


@dataclass(slots=True)
class Campaign:
    fuzzer: Fuzzer
    seed: int
    write: Callable[[str], object] = write_out
    outcomes: Counter[str] = field(default_factory=Counter)
    found: dict[str, tuple[int, Finding]] = field(default_factory=dict)  # with its first seed
    again: Counter[str] = field(default_factory=Counter)

    def run(self, seconds: float, cases: int | None = None) -> int:
        """Try cases until the time is over or `cases` are done; 1 if there are findings."""
        self.write(f"{self.fuzzer.name}: seed {self.seed}, {seconds:.0f} seconds\n")
        deadline = time.monotonic() + seconds
        try:
            for number, seed in enumerate(self._seeds()):
                if time.monotonic() >= deadline or number == cases:
                    break
                self.try_case(seed)
        except KeyboardInterrupt:
            self.write("interrupted\n")
        return self.summary()

    def try_case(self, seed: int) -> None:
        try:
            tried = self.fuzzer.try_case(seed)
        except Exception as error:  # noqa: BLE001 -- an error of any kind is a finding
            tried = CaseResult("crashed", finding_of(error))
        self.outcomes[tried.outcome] += 1
        if tried.finding is not None:
            self._report(seed, tried.finding)

    def summary(self) -> int:
        count = sum(self.outcomes.values())
        parts = ", ".join(f"{number} {name}" for name, number in self.outcomes.most_common())
        self.write(f"{self.fuzzer.name}: {count} cases ({parts}), {len(self.found)} findings\n")
        for signature, (seed, _) in self.found.items():
            times = self.again[signature]
            self.write(f"  {times} × {signature}\n    {self._replay(seed)}\n")
        return 1 if self.found else 0

    def _seeds(self) -> Iterator[int]:
        first = self.seed * CASES
        yield from range(first, first + CASES)

    def _report(self, seed: int, finding: Finding) -> None:
        self.again[finding.signature] += 1
        if finding.signature not in self.found:
            self.found[finding.signature] = (seed, finding)
            self.write(f"FINDING {finding.signature}\n{finding.detail}\n  {self._replay(seed)}\n")

    def _replay(self, seed: int) -> str:
        return f"python -m tests.fuzz {self.fuzzer.name} --replay {seed}"


def finding_of(error: BaseException, detail: str = "") -> Finding:
    """An error as a finding, known by its type and by where our code raised it."""
    own = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "millstream" in frame.filename
    ]
    at = f" at {Path(own[-1].filename).name}:{own[-1].name}" if own else ""
    shown = "".join(traceback.format_exception(error)[-6:])
    return Finding(f"{type(error).__name__}{at}", f"{detail}\n{shown}".strip())
