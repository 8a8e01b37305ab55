"""Projects: an input dataset, the operations on it, and where the result is written."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from millstream.catalog.model.datasets import DataFormat, DatasetKey, ResolverRef
from millstream.catalog.model.positions import NO_POSITIONS, Positions
from millstream.values import JoinType


class ProjectStatus(StrEnum):
    """A project is a draft until `activate` has validated it, and again when it is changed."""

    DRAFT = "draft"
    ACTIVE = "active"


class Cardinality(StrEnum):
    """How many rows of each side may match: working rows, then rows of the joined dataset."""

    ONE_TO_ONE = "one_to_one"
    MANY_TO_ONE = "many_to_one"
    ONE_TO_MANY = "one_to_many"
    MANY_TO_MANY = "many_to_many"

    @property
    def unique_right(self) -> bool:
        """Whether a working row may match at most one row of the joined dataset."""
        return self in (Cardinality.ONE_TO_ONE, Cardinality.MANY_TO_ONE)

    @property
    def unique_left(self) -> bool:
        """Whether a row of the joined dataset may match at most one working row."""
        return self in (Cardinality.ONE_TO_ONE, Cardinality.ONE_TO_MANY)


@dataclass(frozen=True, slots=True)
class RuntimeJoin:
    """A join with a dataset whose version is resolved when a run starts.

    Keys in YAML, and in `positions`: `alias`, `dataset` or `dataset_id`, `dataset_version`, `on`,
    `join_type`, `expected_cardinality`.
    """

    alias: str
    dataset: DatasetKey
    on: str
    dataset_version: int | None = None
    join_type: JoinType = JoinType.LEFT
    expected_cardinality: Cardinality | None = None
    positions: Positions = field(default=NO_POSITIONS, compare=False, repr=False)

    @property
    def dataset_position(self) -> str:
        """The key in `positions` that names the dataset."""
        return "dataset_id" if "dataset_id" in self.positions.values else "dataset"


@dataclass(frozen=True, slots=True)
class Assignment:
    """Sets a column of the working dataset to the value of an expression."""

    column: str
    expression: str
    positions: Positions = field(default=NO_POSITIONS, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class UpdateOperation:
    """Joins, applied in order, then assignments. Aliases are visible in this operation only."""

    joins: tuple[RuntimeJoin, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    positions: Positions = field(default=NO_POSITIONS, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ProjectInput:
    """The dataset that operations work on. Without a version: the latest active one of a run."""

    dataset: DatasetKey
    dataset_version: int | None = None
    positions: Positions = field(default=NO_POSITIONS, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ProjectOutput:
    """Where a run writes its result. `{period}` in the location is the run's period."""

    location: str
    format: DataFormat = DataFormat.PARQUET
    positions: Positions = field(default=NO_POSITIONS, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ProjectOverride:
    """The resolver that a project uses for a dataset in place of the dataset's own."""

    dataset: DatasetKey
    resolver: ResolverRef
    positions: Positions = field(default=NO_POSITIONS, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Project:
    """A project as defined. Datasets are referred to as written: they may not exist yet.

    `revision` increases with every change of the definition, which also makes it a draft again.
    """

    name: str
    input: ProjectInput
    output: ProjectOutput
    operations: tuple[UpdateOperation, ...] = ()
    resolver_overrides: tuple[ProjectOverride, ...] = ()
    description: str = ""
    status: ProjectStatus = ProjectStatus.DRAFT
    revision: int = 1
    positions: Positions = field(default=NO_POSITIONS, compare=False, repr=False)
