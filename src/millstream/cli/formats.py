"""Formats times, sizes and paths for output."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from millstream.plan.secrets import mask_secret
from millstream.temporal import MICROS

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The greatest time that `datetime` supports, in microseconds. After the end of input, a watermark
# is greater.
MAX_TIME = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)


def moment(micros: int) -> str:
    """Formats a time as ISO 8601 in UTC, to the second."""
    return (_EPOCH + timedelta(microseconds=micros)).strftime("%Y-%m-%dT%H:%M:%SZ")


def behind(micros: int, now: datetime) -> str:
    """Formats how far a time is behind another."""
    return span((now - _EPOCH) // timedelta(microseconds=1) - micros)


def span(micros: int) -> str:
    """Formats a duration in its one or two largest units, such as "3d 4h"; below a second "0s"."""
    rest = max(0, micros)
    parts: list[str] = []
    for unit in ("d", "h", "m", "s"):
        count, rest = divmod(rest, MICROS[unit])
        if count or (parts and len(parts) < 2):
            parts.append(f"{count}{unit}")
        if len(parts) == 2:
            break
    return " ".join(parts) or "0s"


def size(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def count(number: int, noun: str) -> str:
    """Formats a number with its noun: 1 file, 2 files."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def shown(path: str | Path) -> str:
    """Formats a path relative to the working directory if possible, and masks credentials."""
    if "://" in str(path):
        return mask_secret("path", str(path))
    here = Path.cwd()
    whole = Path(path).absolute()
    return str(whole.relative_to(here)) if whole.is_relative_to(here) else str(whole)
