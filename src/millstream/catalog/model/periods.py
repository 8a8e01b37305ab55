"""Periods of time that rows and runs belong to."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date

from millstream.catalog.model.positions import NO_POSITIONS, Positions


@dataclass(frozen=True, slots=True)
class Period:
    """A period such as the month 2026-01. `end` is its last day.

    Periods of one `level` do not overlap. `parent` is the identifier of the period that contains
    this one, such as the quarter of a month.
    """

    identifier: str
    start: date
    end: date
    level: str = "period"
    parent: str | None = None
    positions: Positions = field(default=NO_POSITIONS, compare=False, repr=False)
