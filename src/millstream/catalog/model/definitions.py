"""A set of definitions."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.catalog.model.datasets import Dataset
from millstream.catalog.model.periods import Period
from millstream.catalog.model.projects import Project


@dataclass(frozen=True, slots=True)
class Definitions:
    """All definitions of a catalog, or those to store, and the revision that they were read at."""

    revision: int
    datasets: tuple[Dataset, ...] = ()
    periods: tuple[Period, ...] = ()
    projects: tuple[Project, ...] = ()
