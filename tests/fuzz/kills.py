"""Jobs that are killed at random moments: the driver, the JVM, a Python worker, or their daemon.

Each job is restarted until it ends. Then its sink and its ledger must equal those of a run without
kills.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psutil
from tests.fuzz.campaign import CaseResult, Finding

VICTIMS = ("group", "driver", "jvm", "worker", "daemon", "interrupt")
STARTS = 8  # a job that has not ended after so many starts never will
DEADLINE = 240  # seconds for a job to end by itself, or after it lost a part
_START = datetime(2026, 1, 15, tzinfo=UTC)
_SOURCE = """CREATE SOURCE {0} (id BIGINT, k BIGINT, x DOUBLE, t TIMESTAMP,
  WATERMARK FOR t AS t - INTERVAL 5 SECONDS)
WITH ('connector' = 'file', 'path' = '{0}', 'format' = 'json', 'max.files.per.batch' = '1');
"""
_SINK = "CREATE SINK out WITH ('connector' = 'file', 'path' = '${out}', 'format' = 'json') AS\n"
QUERIES = {
    "left join": "SELECT a.id, a.x, b.x AS y FROM a LEFT JOIN b ON a.id = b.id "
    "AND b.t BETWEEN a.t AND a.t + INTERVAL 20 SECONDS",
    "chain": "SELECT a.id, b.x AS y, c.t AS u FROM a JOIN b ON a.id = b.id AND b.t BETWEEN a.t "
    "AND a.t + INTERVAL 20 SECONDS LEFT JOIN b c ON a.id = c.id AND c.t BETWEEN a.t AND a.t + "
    "INTERVAL 2 SECONDS",
    "windows": "SELECT k, _WINDOW_START AS w, count(*) AS n, sum(id) AS s, max(t) AS last FROM a "
    "WINDOW SLIDING(SIZE INTERVAL 6 SECONDS, SLIDE INTERVAL 2 SECONDS) GROUP BY k",
    "sessions": "SELECT a.k, a.id, b.id AS other FROM a LEFT JOIN b ON a.id = b.id "
    "WINDOW SESSION(GAP INTERVAL 3 SECONDS)",
    "groups": "SELECT k, count(*) AS n, sum(id) AS s FROM a GROUP BY k EMIT CHANGES "
    "WITH ('state.ttl' = 'forever', 'output.mode' = 'retract')",
    "ranking": "SELECT k, id FROM (SELECT k, id, ROW_NUMBER() OVER (PARTITION BY k ORDER BY id "
    "DESC) AS n FROM b) WHERE n <= 3 WITH ('state.ttl' = 'forever')",
    "duplicates": "SELECT DISTINCT k, id % 100 AS h FROM b WITH ('state.ttl' = 'forever')",
}


@dataclass(slots=True)
class KillFuzzer:
    name: str = "kills"
    verbose: bool = False
    batches: int = 12
    rows: int = 100

    def try_case(self, seed: int) -> CaseResult:
        rng = random.Random(f"kill {seed}")
        kind = rng.choice(list(QUERIES))
        kills = [rng.choice(VICTIMS) for _ in range(rng.randint(1, 3))]
        shown = f"{kind}, kills {kills}"
        with tempfile.TemporaryDirectory(prefix="millstream-fuzz-") as folder:
            job = _Job(Path(folder), rng, self.verbose)
            job.write(QUERIES[kind], self.batches, self.rows)
            try:
                wanted = job.finished("whole")
                for victim in kills:
                    job.disturbed(victim)
                came = job.finished("killed")
            except _FailedError as error:
                return CaseResult("failed", Finding(str(error), f"{shown}\n{error.detail}"))
            if came != wanted:
                detail = f"{shown}\n{_difference(came, wanted)}"
                return CaseResult("different", Finding(f"wrong rows: {kind}", detail))
        return CaseResult("equal")


class _FailedError(Exception):
    def __init__(self, what: str, detail: str) -> None:
        super().__init__(what)
        self.detail = detail


@dataclass(slots=True)
class _Job:
    folder: Path
    rng: random.Random
    verbose: bool

    def write(self, query: str, batches: int, rows: int) -> None:
        text = f"{_SOURCE.format('a')}{_SOURCE.format('b')}{_SINK}{query};\n"
        (self.folder / "job.sql").write_text(text)
        for name in ("a", "b"):
            (self.folder / name).mkdir()
            for batch in range(batches):
                lines = [self._row(batch * rows + number) for number in range(rows)]
                (self.folder / name / f"{batch:04d}.json").write_text("".join(lines))

    def _row(self, number: int) -> str:
        at = _START + timedelta(milliseconds=number * 10 + self.rng.randrange(4_000))
        row = {"id": number, "k": number % 7, "x": number / 4, "t": at.isoformat()}
        return json.dumps(row) + "\n" if self.rng.random() < 0.7 else ""

    def finished(self, out: str) -> tuple[Counter[str], dict[str, Any]]:
        """Rows and ledger of a job that is started until it ends by itself."""
        output = ""
        for _ in range(STARTS):
            process = self._start(out, "--flush")
            try:
                text, output = process.communicate(timeout=DEADLINE)
            except subprocess.TimeoutExpired:
                _kill_group(process)
                raise _FailedError("a job does not end", output) from None
            finally:
                _kill_group(process)
            if process.returncode == 0:
                return self._rows(out), _ledger(json.loads(text))
        raise _FailedError("a job fails at every start", output)

    def disturbed(self, victim: str) -> None:
        """Start the job, and kill a part of it a moment after it has done some batches."""
        process = self._start("killed")
        # While Python still imports the program, an interrupt ends it as it ends any program.
        goal = self._committed() + self.rng.randint(1 if victim == "interrupt" else 0, 3)
        deadline = time.monotonic() + DEADLINE
        while process.poll() is None and self._committed() < goal and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(self.rng.random() * 1.5)
        _kill(process, victim)
        try:
            _, output = process.communicate(timeout=DEADLINE)
        except subprocess.TimeoutExpired:
            _kill_group(process)
            raise _FailedError(f"a job does not end after its {victim} was killed", "") from None
        finally:
            _kill_group(process)
        if self.verbose:
            print(f"{victim} killed, exit code {process.returncode}: {output}")
        if victim != "group" and ("Traceback" in output or "MS-RUN-BUG" in output):
            raise _FailedError(f"a stack trace after the {victim} was killed", output)

    def _start(self, out: str, *options: str) -> subprocess.Popen[str]:
        millstream = str(Path(sys.executable).with_name("millstream"))
        command = [millstream, "run", "job.sql", "--json", "--cores", "2", "--once"]
        return subprocess.Popen(
            [*command, "--set", f"out={out}", "--checkpoint", f"{out}-checkpoint", *options],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def _rows(self, out: str) -> Counter[str]:
        files = sorted((self.folder / out).glob("*.json"))
        return Counter(line for file in files for line in file.read_text().splitlines())

    def _committed(self) -> int:
        commits = self.folder / "killed-checkpoint" / "out" / "spark" / "commits"
        return sum(1 for file in commits.glob("*") if file.name.isdecimal())


def _ledger(result: dict[str, Any]) -> dict[str, Any]:
    """What became of all rows; the layout of state depends on when it was merged."""
    ledger = dict(result["queries"][0]["ledger"])
    ledger.pop("state", None)
    return ledger


def _kill(process: subprocess.Popen[str], victim: str) -> None:
    if process.poll() is not None:
        return
    match victim:
        case "group":
            _kill_group(process)
        case "driver":
            process.kill()
        case "interrupt":
            process.send_signal(signal.SIGINT)
        case _:
            found = _parts(process.pid, victim)
            if found:
                with contextlib.suppress(psutil.NoSuchProcess):
                    random.choice(found).kill()


def _parts(pid: int, victim: str) -> list[psutil.Process]:
    """The JVM below a driver; of Python processes below the JVM, the daemons or their workers."""
    try:
        below = psutil.Process(pid).children(recursive=True)
        machines = [each for each in below if each.name() == "java"]
        if victim == "jvm":
            return machines
        daemons = [each for machine in machines for each in machine.children()]
        if victim == "daemon":
            return daemons
        return [each for daemon in daemons for each in daemon.children()]
    except psutil.NoSuchProcess:
        return []


def _kill_group(process: subprocess.Popen[str]) -> None:
    """All that the job started, also what its driver has left behind."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _difference(
    came: tuple[Counter[str], dict[str, Any]], wanted: tuple[Counter[str], dict[str, Any]]
) -> str:
    more, less = came[0] - wanted[0], wanted[0] - came[0]
    lines = [f"  + {row}" for row in list(more)[:5]] + [f"  - {row}" for row in list(less)[:5]]
    if came[1] != wanted[1]:
        lines.append(f"  ledger {came[1]}\n  undisturbed {wanted[1]}")
    return "\n".join(lines)
