"""The plan of changes: what `apply` stores, and how it differs from the catalog."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal
from uuid import UUID, uuid4

from millstream.catalog.definitions.differences import (
    dataset_differences,
    period_differences,
    project_differences,
)
from millstream.catalog.definitions.load import DatasetDefinition, WrittenDefinitions
from millstream.catalog.definitions.periods import check_periods, find_gaps
from millstream.catalog.model import (
    Dataset,
    Definitions,
    Period,
    Project,
    ProjectStatus,
    Status,
)
from millstream.errors import CatalogError

Kind = Literal["dataset", "period", "project"]


@dataclass(frozen=True, slots=True)
class Change:
    """A definition that is created or changed. `details` says how, in one line each."""

    action: Literal["create", "change"]
    kind: Kind
    name: str
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """The changes that written definitions make to a catalog.

    `definitions` are those to store. They include definitions that are the same but moved in their
    files; such moves are stored, so that errors point to the right lines, and are not listed.
    """

    changes: tuple[Change, ...]
    unchanged: int
    notes: tuple[str, ...]
    definitions: Definitions

    @property
    def stores(self) -> bool:
        """Whether there is anything to store."""
        stored = self.definitions
        return bool(stored.datasets or stored.periods or stored.projects)


def plan_changes(current: Definitions, written: WrittenDefinitions) -> Plan:
    """Compares written definitions with a catalog. Definitions that are not written stay.

    Raises a CatalogError if the result would not be consistent.
    """
    planner = _Planner(current, {each.id for each in written.datasets if each.id})
    for definition in written.datasets:
        planner.add_dataset(definition)
    for period in written.periods:
        planner.add_period(period)
    for project in written.projects:
        planner.add_project(project)
    planner.check(written)
    return planner.plan()


class _Planner:
    def __init__(self, current: Definitions, written_ids: Collection[UUID]) -> None:
        self._current = current
        self._written_ids = written_ids
        self._by_id = {each.id: each for each in current.datasets}
        self._by_name = {each.name.lower(): each for each in current.datasets}
        self._known_periods = {each.identifier: each for each in current.periods}
        self._known_projects = {each.name.lower(): each for each in current.projects}
        self._changes: list[Change] = []
        self._unchanged = 0
        self._datasets: list[Dataset] = []
        self._periods: list[Period] = []
        self._projects: list[Project] = []

    def add_dataset(self, written: DatasetDefinition) -> None:
        old = self._find_existing(written)
        new = written.as_dataset(old.id if old else uuid4(), old.status if old else Status.ACTIVE)
        if self._differs("dataset", new.name, old, new, dataset_differences(old, new)):
            self._datasets.append(new)

    def _find_existing(self, written: DatasetDefinition) -> Dataset | None:
        named = self._by_name.get(written.name.lower())
        if written.id is None:
            # The dataset of this name may be renamed by its own definition.
            return None if named is None or named.id in self._written_ids else named
        found = self._by_id.get(written.id)
        if found is None and named is not None:
            raise CatalogError(
                "MS-CATALOG-CHANGE",
                f"the dataset {named.name} has the ID {named.id} in the catalog; the ID of a "
                "dataset does not change.",
                fix="Remove the key id, or write that ID.",
                place=written.positions.of("id"),
            )
        return found

    def add_period(self, new: Period) -> None:
        old = self._known_periods.get(new.identifier)
        if self._differs("period", new.identifier, old, new, period_differences(old, new)):
            self._periods.append(new)

    def add_project(self, new: Project) -> None:
        old = self._known_projects.get(new.name.lower())
        if old is not None:
            new = replace(new, revision=old.revision, status=old.status)
            if new != old:
                new = replace(new, revision=old.revision + 1, status=ProjectStatus.DRAFT)
        if self._differs("project", new.name, old, new, project_differences(old, new)):
            self._projects.append(new)

    def _differs(
        self,
        kind: Kind,
        name: str,
        old: Dataset | Period | Project | None,
        new: Dataset | Period | Project,
        details: Iterator[str],
    ) -> bool:
        """Lists a change. Returns whether the definition is to be stored."""
        if old == new:
            self._unchanged += 1
            return old.positions != new.positions
        action: Literal["create", "change"] = "create" if old is None else "change"
        self._changes.append(Change(action, kind, name, tuple(details)))
        return True

    def check(self, written: WrittenDefinitions) -> None:
        self._reject_equal_names(written.datasets)
        periods = self._known_periods | {each.identifier: each for each in written.periods}
        check_periods(periods.values(), {each.identifier for each in written.periods})

    def _reject_equal_names(self, written: Sequence[DatasetDefinition]) -> None:
        """Two datasets would have one name: a renamed one, and one that is not written."""
        new = {each.id for each in self._datasets}
        names = {each.name.lower(): each.id for each in self._datasets}
        for old in self._current.datasets:
            taken_by: UUID | None = names.get(old.name.lower())
            if old.id not in new and taken_by not in (None, old.id):
                place = next(each.positions.of("name") for each in written if each.id == taken_by)
                raise CatalogError(
                    "MS-CATALOG-DUPLICATE",
                    f"the name {old.name} belongs to the dataset {old.id}.",
                    fix="Choose another name, or rename that dataset, too.",
                    place=place,
                )

    def plan(self) -> Plan:
        periods = self._known_periods | {each.identifier: each for each in self._periods}
        notes = [
            f"the level {level} has no period from {first} to {last}"
            for level, first, last in find_gaps(periods.values())
        ]
        return Plan(
            tuple(self._changes),
            self._unchanged,
            tuple(notes) if self._periods else (),
            Definitions(
                self._current.revision,
                tuple(self._datasets),
                tuple(self._periods),
                tuple(self._projects),
            ),
        )
