"""The settings of a run: from the command line, else from SET in the job, else the defaults."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from millstream.errors import PlanError, PropertyError
from millstream.plan.connectors import ConnectorRegistry
from millstream.plan.installed_connectors import installed_connectors
from millstream.plan.nodes import Job
from millstream.run.sink_conflicts import reject_sink_conflicts
from millstream.temporal import DurationRangeError, parse_span

FOLDER = ".millstream"
# A trigger that processes the available input in micro-batches and then ends.
AVAILABLE_NOW = {"availableNow": True}


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The settings of a run. Relative paths of the job start from `base`."""

    base: Path
    checkpoint: Path
    every: int = 0  # microseconds between the starts of micro-batches; 0: without delay
    once: bool = False
    flush: bool = False
    groups: int | None = None
    spark: tuple[tuple[str, str], ...] = ()
    connectors: ConnectorRegistry = field(default_factory=installed_connectors)

    @property
    def trigger(self) -> dict[str, object]:
        """The arguments of Spark's `DataStreamWriter.trigger`."""
        if self.once or self.flush:
            return {**AVAILABLE_NOW}
        # In whole milliseconds; 0: without delay.
        return {"processingTime": f"{-(-self.every // 1000)} milliseconds"}


def settings_of(
    job: Job,
    file: Path,
    *,
    checkpoint: Path | None = None,
    once: bool = False,
    flush: bool = False,
    every: str | None = None,
    connectors: ConnectorRegistry | None = None,
) -> RunSettings:
    """Returns the settings for the job in a file. Paths in the job are relative to its folder."""
    base = file.resolve().parent
    known = installed_connectors() if connectors is None else connectors
    trigger = job.setting("trigger").lower()
    if not once and every is None and trigger:
        once, every = trigger == "once", None if trigger == "once" else trigger
    groups = job.setting("key_groups")
    _reject_unusable(job)
    folder = checkpoint or checkpoint_of(file, job.setting("checkpoint"))
    reject_sink_conflicts(job, base, folder, known)
    return RunSettings(
        base=base,
        checkpoint=folder,
        every=_span(every) if every else 0,
        once=once,
        flush=flush,
        groups=int(groups) if groups else None,
        spark=tuple((name, value) for name, value in job.settings if name.startswith("spark.")),
        connectors=known,
    )


def checkpoint_of(file: Path, setting: str) -> Path:
    """Returns the checkpoint of the job in a file: SET 'checkpoint', or a folder beside the
    file."""
    return file.resolve().parent / (setting or f"{FOLDER}/{file.stem}")


def _span(every: str) -> int:
    try:
        span = parse_span(every)
    except DurationRangeError:
        raise
    except PropertyError as error:
        raise PropertyError("MS-PROP-TRIGGER", error.cause, fix=_TRIGGER) from None
    if span <= 0:
        raise PropertyError(
            "MS-PROP-TRIGGER", f"the trigger '{every}' is not positive.", fix=_TRIGGER
        )
    return span


_TRIGGER = "A trigger is a duration such as 500ms, 10s or 5m, or 'once' in SET 'trigger'."


def _reject_unusable(job: Job) -> None:
    if job.setting("batch.target"):
        raise PlanError(
            "MS-PLAN-NOT-YET",
            "'batch.target' is not supported yet.",
            fix="Remove it; 'max.files.per.batch' of a source limits a batch.",
        )
