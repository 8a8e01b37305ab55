"""The versions of catalog datasets that a job reads, in `<checkpoint>/catalog.json`.

A job that resumes from its checkpoint reads the same versions, even if newer ones have been
published.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from millstream.errors import StateError
from millstream.run.checkpoint import write_json

_FILE = "catalog.json"


@dataclass(frozen=True, slots=True)
class DatasetVersions:
    """Numbers of versions by the lower-case names of datasets.

    `chosen` are those of datasets without a version in the job, `pinned` those that the job names.
    """

    chosen: dict[str, int] = field(default_factory=dict)
    pinned: dict[str, list[int]] = field(default_factory=dict)

    @property
    def by_name(self) -> dict[str, list[int]]:
        """All versions of each dataset that the job reads."""
        names = sorted({*self.chosen, *self.pinned})
        chosen = {name: {self.chosen[name]} if name in self.chosen else set() for name in names}
        return {name: sorted({*chosen[name], *self.pinned.get(name, ())}) for name in names}

    def lines(self) -> Iterator[str]:
        """Describes the versions, one dataset in a line."""
        for name, numbers in self.by_name.items():
            yield f"{name} version {_list(numbers)}"


def recorded_versions(checkpoint: Path) -> DatasetVersions:
    """Returns the versions that a checkpoint contains; none for a new checkpoint."""
    path = checkpoint / _FILE
    if not path.exists():
        return DatasetVersions()
    try:
        return _versions(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, AttributeError, TypeError, KeyError):
        raise StateError(
            "MS-STATE-CATALOG",
            f"{path} does not contain the versions of datasets.",
            fix="Restore the file, or start again with another checkpoint.",
        ) from None


def record_versions(checkpoint: Path, versions: DatasetVersions) -> list[str]:
    """Stores the versions in one step, before the job starts. The checkpoint is locked.

    Returns a line for each dataset of which the job now names other versions. Raises
    MS-STATE-CATALOG if another run has chosen other versions since the job was planned.
    """
    recorded = recorded_versions(checkpoint)
    for name, number in versions.chosen.items():
        if recorded.chosen.get(name, number) != number:
            raise StateError(
                "MS-STATE-CATALOG",
                f"another run of the job has begun with version {recorded.chosen[name]} of the "
                f"dataset {name}, and this one was planned with version {number}.",
                fix="Run it again.",
            )
    if versions != recorded:
        write_json(checkpoint / _FILE, {"chosen": versions.chosen, "pinned": versions.pinned})
    return list(_changes(recorded, versions))


def remove_versions(checkpoint: Path) -> None:
    """Removes the versions, so that the next run chooses them again."""
    (checkpoint / _FILE).unlink(missing_ok=True)


def _changes(recorded: DatasetVersions, versions: DatasetVersions) -> Iterator[str]:
    for name, numbers in versions.pinned.items():
        before = recorded.pinned.get(name) or [
            each for key, each in recorded.chosen.items() if key == name
        ]
        if before and before != numbers:
            yield (
                f"The job now reads version {_list(numbers)} of the dataset {name}; "
                f"before, it has read version {_list(before)}."
            )


def _versions(data: Any) -> DatasetVersions:
    return DatasetVersions(
        {str(name): int(number) for name, number in data["chosen"].items()},
        {str(name): [int(each) for each in numbers] for name, numbers in data["pinned"].items()},
    )


def _list(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))
