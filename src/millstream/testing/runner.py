"""Runs test cases on engines and compares the results. `CaseRunner` abstracts from Spark."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from millstream.errors import HarnessError, MillstreamError
from millstream.testing.case import ENGINES, Case, Engine
from millstream.testing.diff import Table, compare

Verdict = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run: the rows of each sink and side output, which may be empty; or the error
    of the run; or the reason why the engine does not support the plan."""

    tables: Mapping[str, Table] = field(default_factory=dict)
    error: MillstreamError | None = None
    unsupported: str | None = None


class CaseRunner(Protocol):
    """Runs a case on an engine."""

    def run(self, case: Case, engine: Engine) -> Outcome: ...


@dataclass(frozen=True, slots=True)
class Result:
    """One case on one engine."""

    case: Case
    engine: Engine
    verdict: Verdict
    seconds: float
    detail: str = ""  # the diff or the error of a failure, the reason of a skip

    def as_data(self) -> dict[str, object]:
        return {
            "name": self.case.name,
            "file": str(self.case.path),
            "engine": self.engine,
            "verdict": self.verdict,
            "seconds": round(self.seconds, 3),
            "detail": self.detail,
        }


class Report(Protocol):
    """Receives the start and the result of each case."""

    def start(self, case: Case, engine: Engine) -> None: ...
    def done(self, result: Result) -> None: ...
    def close(self, results: Sequence[Result]) -> None: ...


def run_cases(
    cases: Iterable[Case],
    runner: CaseRunner,
    engines: Sequence[Engine],
    report: Report,
    clock: Callable[[], float] = time.monotonic,
) -> int:
    """Runs each case on its engines among `engines`. Returns 0 if all passed, 1 if one failed or
    none ran."""
    results = []
    for case in cases:
        for engine in engines:
            if engine in (case.engines or ENGINES):
                report.start(case, engine)
                begun = clock()
                verdict, detail = _try(case, runner, engine)
                results.append(Result(case, engine, verdict, clock() - begun, detail))
                report.done(results[-1])
    report.close(results)
    verdicts = {result.verdict for result in results}
    return 1 if "failed" in verdicts or "passed" not in verdicts else 0


def _try(case: Case, runner: CaseRunner, engine: Engine) -> tuple[Verdict, str]:
    """Runs one case; any exception is a failure of this case only."""
    try:
        return judge(case, runner.run(case, engine))
    except MillstreamError as error:
        return "failed", str(error)
    except Exception:  # noqa: BLE001
        return "failed", traceback.format_exc().rstrip()


def judge(case: Case, outcome: Outcome) -> tuple[Verdict, str]:
    """Compares an outcome with the case; the text describes differences."""
    if outcome.unsupported:
        return ("failed" if case.engines else "skipped"), outcome.unsupported
    if case.error:
        return _judge_error(case.error, outcome.error)
    if outcome.error:
        return "failed", str(outcome.error)
    differences = []
    for sink, expected in case.expect.items():
        table = outcome.tables.get(sink)
        if table is None:
            raise HarnessError(
                "MS-TEST-SINK",
                f"the test case expects rows of {sink!r}, but the job has no such sink or side "
                "output.",
                fix=f"Use one of {', '.join(sorted(outcome.tables)) or 'none'}.",
            )
        differences.append(compare(sink, expected, table))
    failed = [str(diff) for diff in differences if diff]
    return ("failed", "\n".join(failed)) if failed else ("passed", "")


def _judge_error(code: str, error: MillstreamError | None) -> tuple[Verdict, str]:
    if error is None:
        return "failed", f"expected the error {code}, but the job ran"
    if error.code != code:
        return "failed", f"expected the error {code}, but got {error}"
    return "passed", ""
