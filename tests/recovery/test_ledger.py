"""The ledger of a job that is killed and restarted equals what its input files and sinks contain.

Random rows, some malformed, late, without a key or a time; random file drops, kills and Ctrl-C. The
expected outcomes and results are computed here, from the rows alone.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from millstream.observe.ledger import OWN_LATE_SINK, Ledger, dead_letters_of, late_rows_in
from millstream.plan.build.job import build_job
from millstream.plan.build.query_groups import group_into_queries
from millstream.run.checkpoint import Checkpoint
from millstream.run.ledger_store import LedgerStore

FILES = 6  # of each source
ROWS = 40  # of each file
SECONDS = 10  # of event time in each file
PATIENCE = 200.0
START = datetime(2026, 1, 15, tzinfo=UTC)
SOURCES = ("clicks", "views")
_SOURCE = """CREATE SOURCE {0} (id BIGINT, k BIGINT, t TIMESTAMP,
  WATERMARK FOR t AS t - INTERVAL 60 SECONDS)
WITH ('connector' = 'file', 'path' = '{0}', 'format' = 'json', 'max.files.per.batch' = '1',
      'event.missing' = 'skip');
"""
_SINK = "CREATE SINK out WITH ('connector' = 'file', 'path' = 'out', 'format' = 'json') AS\n"
_DISTINCT = """CREATE STREAM {1} AS SELECT DISTINCT ON (id) id, k, t FROM {0}
  WITH ('state.ttl' = '1h', 'late.policy' = 'side_output');
"""
DISTINCT_JOIN = f"""{_DISTINCT.format("clicks", "c")}{_DISTINCT.format("views", "v")}{_SINK}
SELECT c.id, v.k FROM c JOIN v ON c.id = v.id
  AND v.t BETWEEN c.t - INTERVAL 10 SECONDS AND c.t + INTERVAL 20 SECONDS;
"""
SEMI_JOIN_WINDOWS = f"""CREATE STREAM c AS SELECT clicks.k, clicks.t FROM clicks
  LEFT SEMI JOIN views ON clicks.id = views.id AND clicks.k > 2
  AND views.t BETWEEN clicks.t - INTERVAL 10 SECONDS AND clicks.t + INTERVAL 20 SECONDS
  WITH ('late.policy' = 'side_output');
{_SINK}
SELECT k, COUNT(*) AS n FROM c WINDOW TUMBLING(INTERVAL 10 SECONDS) GROUP BY k;
"""


@dataclass(frozen=True, slots=True)
class Row:
    """`text` is a malformed record; `after` is the event time in seconds after START."""

    id: int | None = None
    k: int = 0
    after: int | None = None
    text: str | None = None

    @property
    def line(self) -> str:
        if self.text is not None:
            return self.text
        at = None if self.after is None else (START + timedelta(seconds=self.after)).isoformat()
        return json.dumps({"id": self.id, "k": self.k, "t": at})


LATE = Row(1, 5, -86_400)


@dataclass(slots=True)
class Input:
    """The rows of a source, by file; `late` rows arrive after all others."""

    files: list[list[Row]]
    late: list[Row]

    @classmethod
    def generate(cls, rng: random.Random, first_key: int) -> Input:
        files: list[list[Row]] = []
        for number in range(FILES):
            rows = []
            for place in range(ROWS):
                kind = rng.random()
                after = number * SECONDS + rng.randrange(SECONDS)
                key = None if kind < 0.1 else first_key + number * ROWS + place
                if kind > 0.95:
                    rows.append(Row(text=rng.choice(['{"id": "x"', "no record", '{"k": [1]}'])))
                elif kind > 0.9:
                    rows.append(Row(key, rng.randrange(6)))
                else:
                    rows.append(Row(key, rng.randrange(6), after))
            if files and rng.random() < 0.7:  # the same rows again, a file later
                rows += rng.sample(files[-1], 10)
            files.append(rows)
        return cls(files, [LATE] * rng.randint(1, 5))

    @classmethod
    def matching(cls, rng: random.Random, other: Input) -> Input:
        """Rows of which many have a key of the other input, each once."""
        made = cls.generate(rng, 100_000)
        seen: set[int] = set()
        for mine, theirs in zip(made.files, other.files, strict=True):
            for row in theirs:
                if row.id is None or row.after is None or row.id in seen or rng.random() < 0.5:
                    continue
                seen.add(row.id)
                mine.append(Row(row.id, rng.randrange(6), row.after + rng.randint(-2, 5)))
        return made

    @property
    def rows(self) -> list[Row]:
        return [row for rows in self.files for row in rows]

    @property
    def on_time(self) -> list[Row]:
        return [row for row in self.rows if row.text is None and row.after is not None]

    def outcomes(self) -> dict[str, int]:
        """Those that do not depend on the query."""
        return {
            "in": len(self.rows) + len(self.late),
            "malformed": sum(row.text is not None for row in self.rows),
            "missing_event_time": sum(row.text is None and row.after is None for row in self.rows),
            "late": len(self.late),
        }


Inputs = dict[str, Input]
Fates = dict[str, dict[str, int]]


def match(click: Row, view: Row) -> bool:
    assert click.after is not None
    assert view.after is not None
    return click.id == view.id is not None and -10 <= view.after - click.after <= 20


def distinct(rows: Iterable[Row]) -> list[Row]:
    """One row of each key: rows of one key are copies, unless they have none."""
    return list({row.id: row for row in rows}.values())


def of_distinct_join(inputs: Inputs) -> tuple[Counter[str], Fates]:
    clicks, views = (distinct(inputs[name].on_time) for name in SOURCES)
    out = Counter(
        json.dumps({"id": click.id, "k": view.k}, separators=(",", ":"))
        for click in clicks
        for view in views
        if match(click, view)
    )
    outcomes: Fates = {}
    for name, alias, accepted in zip(SOURCES, ("c", "v"), (clicks, views), strict=True):
        on_time = inputs[name].on_time
        outcomes[name] = {
            **inputs[name].outcomes(),
            "accepted": len(accepted),
            "duplicate": len(on_time) - len(accepted),
        }
        missing = sum(row.id is None for row in accepted)
        outcomes[alias] = {"in": len(accepted), "late": 0, "missing_key": missing}
    return out, outcomes


def of_semi_join_windows(inputs: Inputs) -> tuple[Counter[str], Fates]:
    clicks, views = (inputs[name].on_time for name in SOURCES)
    matched = [
        click for click in clicks if click.k > 2 and any(match(click, view) for view in views)
    ]
    windows = Counter((click.k, (click.after or 0) // 10) for click in matched)
    out = Counter(f'{{"k":{k},"n":{count}}}' for (k, _), count in windows.items())
    excluded = sum(click.k <= 2 for click in clicks)
    missing = sum(click.k > 2 and click.id is None for click in clicks)
    keyless = sum(view.id is None for view in views)
    return out, {
        "clicks": {
            **inputs["clicks"].outcomes(),
            "accepted": len(clicks) - excluded - missing,
            "failed_predicate": excluded,
            "missing_key": missing,
        },
        "views": {
            **inputs["views"].outcomes(),
            "accepted": len(views) - keyless,
            "missing_key": keyless,
        },
        "c": {"in": len(matched), "late": 0, "processed": len(matched)},
    }


@dataclass(slots=True)
class Job:
    folder: Path
    rng: random.Random
    inputs: Inputs
    dropped: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SOURCES, 0))

    @property
    def checkpoint(self) -> Checkpoint:
        return Checkpoint(self.folder / "checkpoint" / "out")

    def drop(self, source: str, name: str, rows: list[Row]) -> None:
        folder = self.folder / source
        folder.mkdir(exist_ok=True)
        (folder / f".{name}").write_text("".join(f"{row.line}\n" for row in rows))
        (folder / f".{name}").rename(folder / name)

    def drop_some(self, most: int) -> None:
        """Up to so many files of each source; perhaps of one alone."""
        for source in SOURCES:
            files = self.inputs[source].files
            for _ in range(self.rng.randint(0, most)):
                if (number := self.dropped[source]) < len(files):
                    self.drop(source, f"{number}.json", files[number])
                    self.dropped[source] += 1

    def drop_late(self) -> None:
        for source in SOURCES:
            self.drop(source, "late.json", self.inputs[source].late)

    def start(self, *options: str) -> subprocess.Popen[str]:
        millstream = str(Path(sys.executable).with_name("millstream"))
        command = [millstream, "run", "job.sql", "--json", "--cores", "2", "--once"]
        return subprocess.Popen(
            [*command, "--checkpoint", "checkpoint", *options],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def finish(self, *options: str) -> dict[str, Any]:
        process = self.start(*options)
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
        report: dict[str, Any] = json.loads(out)
        return report

    def disturb(self, *options: str) -> None:
        """Kill -9 or Ctrl-C, a moment after a batch is committed or begun."""
        process = self.start(*options)
        goal = self.checkpoint.next_batch + self.rng.randint(0, 1)
        deadline = time.monotonic() + PATIENCE
        while process.poll() is None and time.monotonic() < deadline:
            if self.checkpoint.has_started and self.checkpoint.next_batch >= goal:
                break
            time.sleep(0.02)
        time.sleep(self.rng.random())
        if process.poll() is None and self.rng.random() < 0.4:
            process.send_signal(signal.SIGINT)
        elif process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=PATIENCE)

    def ledger(self) -> Ledger:
        (query, *_) = group_into_queries(build_job((self.folder / "job.sql").read_text()))
        first_batch = self.checkpoint.next_batch
        ledger = LedgerStore.open(query, self.checkpoint.ledger, first_batch).ledger
        assert isinstance(ledger, Ledger)
        return ledger

    def lines(self, folder: Path) -> list[str]:
        return [line for file in folder.glob("[!._]*") for line in file.read_text().splitlines()]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("query", "computed", "seed"),
    [(DISTINCT_JOIN, of_distinct_join, 1), (SEMI_JOIN_WINDOWS, of_semi_join_windows, 2)],
    ids=["deduplications and a join", "semi join and windows"],
)
def test_the_ledger_of_a_job_that_is_killed_equals_its_files(
    tmp_path: Path, query: str, computed: Callable[[Inputs], tuple[Counter[str], Fates]], seed: int
) -> None:
    rng = random.Random(seed)
    clicks = Input.generate(rng, 0)
    job = Job(tmp_path, rng, {"clicks": clicks, "views": Input.matching(rng, clicks)})
    (tmp_path / "job.sql").write_text("".join(map(_SOURCE.format, SOURCES)) + query)
    out, outcomes = computed(job.inputs)
    for source in SOURCES:
        (tmp_path / source).mkdir()

    while not all(job.dropped.values()):
        job.drop_some(3)
    for _ in range(2):
        job.disturb()
        job.drop_some(3)
    job.drop_some(10 * FILES)
    while min(job.dropped.values()) < FILES:
        job.drop_some(FILES)
    read = job.finish()["queries"][0]["ledger"]
    assert read["balanced"] is True
    job.drop_late()
    job.disturb("--flush")
    if not job.checkpoint.ended:
        job.finish("--flush")

    ledger = job.ledger()
    counted = {
        each.name: {outcome: each[outcome] for outcome in outcomes[each.name]}
        for each in ledger.inputs
    }
    assert counted == outcomes
    assert ledger.errors == []
    assert ledger.balanced is True
    assert sum(each["in_state"] for each in ledger.inputs) == 0
    assert Counter(job.lines(tmp_path / "out")) == out
    assert ledger.rows_out == sum(out.values())
    late = Counter(json.loads(line)["_source"] for line in job.lines(job.checkpoint.late))
    for source in SOURCES:
        assert late[source] == outcomes[source]["late"]
        letters = job.lines(job.checkpoint.dead_letters(source))
        assert len(letters) == outcomes[source]["malformed"]
        assert ledger.written[dead_letters_of(source)] == len(letters)
    assert ledger.written[late_rows_in(OWN_LATE_SINK)] == late.total()
