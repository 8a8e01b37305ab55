"""The names of a file sink's files: `000042-0.json`, or `000042-0.<query>.json` with a label."""

from __future__ import annotations

import re

HIDDEN = "_writing"  # begins the names of folders of batches that are not committed
_BATCH_FILE = re.compile(
    r"(?P<batch>\d{6,})-(?P<number>\d+)(?P<label>\..+)?\.(?:csv|json|parquet|orc|avro)(?:\.gz|\.bz2)?"
)


def batch_of(name: str, label: str | None = None) -> int | None:
    """Returns the batch of a file; None if no file sink has written it. With `label`, which is
    empty or begins with a dot, only files with this label count."""
    found = _BATCH_FILE.fullmatch(name)
    if found is None or (label is not None and (found["label"] or "") != label):
        return None
    return int(found["batch"])


def is_batch_file(name: str, batch: int, label: str) -> bool:
    return batch_of(name, label) == batch


def label_of(name: str) -> str:
    """Returns the label of a file that a file sink has written, which begins with a dot; empty if
    it has none."""
    return (_found(name)["label"]) or ""


def number_of(name: str) -> int:
    """Returns the number of a file in its batch."""
    return int(_found(name)["number"])


def _found(name: str) -> re.Match[str]:
    found = _BATCH_FILE.fullmatch(name)
    assert found is not None, name
    return found
