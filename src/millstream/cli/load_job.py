"""Loads a job from a SQL file and validates it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from millstream.cli.errors import CommandError
from millstream.cli.options import EngineChoice, variables_of
from millstream.errors import MillstreamError
from millstream.plan.nodes import Engine, Job

if TYPE_CHECKING:
    from millstream.plan.build.tables.datasets import DatasetResolver


def load_job(
    file: Path,
    given: Iterable[str] | None,
    engine: EngineChoice | None,
    datasets: DatasetResolver | None = None,
) -> Job:
    """Returns the validated job of a file. Positions of errors include the file name.

    `datasets` resolves names of a catalog, by default to the latest versions of the default
    catalog.
    """
    from millstream.catalog.stream_tables import stream_tables
    from millstream.plan.build.job import build_job
    from millstream.plan.facts.pipeline import derive_job_facts
    from millstream.sql.masking import mask_secrets
    from millstream.sql.text import mask_variables

    variables = variables_of(given)
    text = _text(file)
    with placed_in(file), mask_secrets(text), mask_variables(variables):
        resolver = datasets or stream_tables(None)
        job = build_job(text, variables=variables, datasets=resolver)
        if engine is not None:
            chosen = Engine(engine.value)
            pipelines = tuple(replace(each, engine=chosen) for each in job.pipelines)
            job = replace(job, pipelines=pipelines)
        derive_job_facts(job)
    return job


def load_checkpoint(file: Path, given: Iterable[str] | None) -> Path:
    """Returns the checkpoint that a job file sets, or its default, without planning the job."""
    from millstream.plan.build.job import read_settings
    from millstream.run.settings import checkpoint_of

    text = _text(file)
    with placed_in(file):
        return checkpoint_of(file, read_settings(text, variables_of(given)).get("checkpoint", ""))


@contextmanager
def placed_in(file: Path) -> Iterator[None]:
    """Adds the file name to the position of errors."""
    try:
        yield
    except MillstreamError as error:
        raise error.in_file(str(file)) from None


def _text(file: Path) -> str:
    from millstream.sql.limits import MAX_TEXT, read_text

    try:
        return read_text(file, 4 * MAX_TEXT)  # a character has up to four bytes
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        missing = isinstance(error, FileNotFoundError)
        near = sorted(path.name for path in file.parent.glob("*.sql"))[:5] if missing else []
        raise CommandError(
            "MS-CLI-FILE",
            f"cannot read {file}: {reason}.",
            fix=f"SQL files in this folder: {', '.join(near)}."
            if near
            else "Use a file with SQL statements.",
        ) from None
