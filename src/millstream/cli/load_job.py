"""From a file to a job that can run."""

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
    """The job of a file, checked. An error's place names the file. `datasets` resolves names of a
    catalog, by default the latest versions of the default catalog."""
    from millstream.catalog.stream_tables import stream_tables
    from millstream.plan.build.job import build_job
    from millstream.plan.facts.pipeline import check_job
    from millstream.sql.text import unfilled

    variables = variables_of(given)
    text = _text(file)
    with placed_in(file), unfilled(variables):
        resolver = datasets or stream_tables(None)
        job = build_job(text, variables=variables, datasets=resolver)
        if engine is not None:
            asked = Engine(engine.value)
            pipelines = tuple(replace(each, engine=asked) for each in job.pipelines)
            job = replace(job, pipelines=pipelines)
        check_job(job)
    return job


def load_checkpoint(file: Path, given: Iterable[str] | None) -> Path:
    """Returns the checkpoint that the job of a file has by itself, without planning the job."""
    from millstream.plan.build.job import read_settings
    from millstream.run.settings import checkpoint_of

    text = _text(file)
    with placed_in(file):
        return checkpoint_of(file, read_settings(text, variables_of(given)).get("checkpoint", ""))


@contextmanager
def placed_in(file: Path) -> Iterator[None]:
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
            fix=f"There is {', '.join(near)}." if near else "Name a file of SQL statements.",
        ) from None
