"""Mutated SQL and YAML through what `explain` and the loader of tests do, without Spark.

A finding is an error that is not Millstream's own, one that cannot be printed, or a text that takes
more than a few seconds.
"""

from __future__ import annotations

import json
import random
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

import yaml
from tests.fuzz import corpus
from tests.fuzz.campaign import CaseResult, finding_of
from tests.fuzz.generate import random_pipeline
from tests.fuzz.mutations import HOSTILE, broken_bytes, mutated

from millstream.cli import errors as fail
from millstream.cli.load_job import load_job
from millstream.errors import MillstreamError
from millstream.plan.explain.render import explain, explain_json
from millstream.plan.facts.pipeline import derive_job_facts
from millstream.plan.nodes import Job, ReferenceTable, Source
from millstream.plan.nodes.traversal import reference_tables_of, sources_of
from millstream.run.settings import settings_of
from millstream.testing.case import Case
from millstream.testing.load import load
from millstream.testing.sources import case_job, given_input, rows_of

SECONDS = 20
SHOWN = 600


class TooSlowError(Exception):
    pass


@dataclass(slots=True)
class TextFuzzer:
    name: str = "sql"
    verbose: bool = False

    def try_case(self, seed: int) -> CaseResult:
        rng = random.Random(f"text {seed}")
        with tempfile.TemporaryDirectory(prefix="millstream-fuzz-") as folder:
            if rng.random() < 0.6:
                text = mutated(rng, _some_sql(rng), corpus.sql_texts())
                file = Path(folder) / "job.sql"
            else:
                text = _mutated_yaml(rng)
                file = Path(folder) / "a.test.yaml"
            file.write_bytes(broken_bytes(rng, text))
            if self.verbose:
                print(text)
            try:
                with limited(SECONDS):
                    return CaseResult(_outcome(file))
            except Exception as error:  # noqa: BLE001 -- any other error is a finding
                found = finding_of(error, repr(text[:SHOWN]))
                if isinstance(error, TooSlowError):
                    found = replace(found, signature=f"more than {SECONDS} s: {found.signature}")
                return CaseResult("crashed", found)


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    def stop(_: int, __: FrameType | None) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _outcome(file: Path) -> str:
    try:
        if file.suffix == ".sql":
            _explain(load_job(file, ["day=2026-01-15", "v=1"], None), file)
        else:
            for case in load([file]):
                _plan(case)
    except MillstreamError as error:
        shown = fail.text(error)
        shown.encode()
        json.dumps(fail.as_data(error), ensure_ascii=False).encode()
        if not error.code.startswith("MS-") or error.code == "MS-RUN-BUG":
            raise
        return f"rejected {error.code.partition('-')[2].partition('-')[0]}"
    return "accepted"


def _explain(job: Job, file: Path) -> None:
    settings_of(job, file)
    explain(job).encode()
    json.dumps(explain_json(job), ensure_ascii=False).encode()


def _plan(case: Case) -> None:
    """What a runner does with a case before Spark has to start."""
    job = case_job(case)
    derive_job_facts(job)
    _explain(job, case.path)
    for pipeline in job.pipelines:
        read: list[Source | ReferenceTable] = [
            *sources_of(pipeline.root),
            *reference_tables_of(pipeline.root),
        ]
        for source in read:
            given = given_input(case, source)
            for batch in given.batches:
                rows_of(batch, source, given)


def _some_sql(rng: random.Random) -> str:
    return random_pipeline(rng).sql if rng.random() < 0.3 else rng.choice(corpus.sql_texts())


def _mutated_yaml(rng: random.Random) -> str:
    text = rng.choice(corpus.test_files())
    match rng.randrange(4):
        case 0:  # the SQL of a case
            document = _document(text)
            if isinstance(document, dict) and isinstance(document.get("sql"), str):
                document["sql"] = mutated(rng, document["sql"], corpus.sql_texts())
            return _dumped(document)
        case 1:  # its values
            document = _document(text)
            for _ in range(rng.randint(1, 4)):
                document = _changed(rng, document)
            return _dumped(document)
        case _:
            return mutated(rng, text, corpus.test_files())


def _dumped(document: Any) -> str:
    """YAML takes several calls a level, and documents may be nested some hundred levels deep."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        return yaml.safe_dump(document, allow_unicode=True, sort_keys=False)
    finally:
        sys.setrecursionlimit(before)


def _document(text: str) -> Any:
    return next(iter(yaml.safe_load_all(text)), None)


def _changed(rng: random.Random, value: Any) -> Any:
    """One part replaced, removed, doubled or nested."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(list(value))
        if rng.random() < 0.15:
            return {name: part for name, part in value.items() if name != key}
        if rng.random() < 0.1:
            return {**value, rng.choice([key, *map(str, HOSTILE)]): value[key]}
        return {**value, key: _changed(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.85:
        at = rng.randrange(len(value))
        if rng.random() < 0.15:
            return [*value[:at], *value[at:], value[at]] * rng.choice((1, 1, 50))
        return [*value[:at], _changed(rng, value[at]), *value[at + 1 :]]
    nested: Any = value
    for _ in range(rng.choice((1, 3, 200))):
        nested = [nested]
    odd: list[Any] = [
        10**4_000,
        10**400,
        2**63,
        -1,
        1.5,
        float("nan"),
        float("inf"),
        True,
        None,
        {},
        [],
        "",
    ]
    return rng.choice([nested, *odd, rng.choice(HOSTILE), rng.choice(HOSTILE)])
