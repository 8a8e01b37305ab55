"""Datasets and their immutable versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from millstream.catalog.model.positions import NO_POSITIONS, Positions

DatasetKey = UUID | str
"""How a dataset is addressed: by its ID, or by its name in any letter case."""


class Status(StrEnum):
    """Whether a dataset may be used, or a version may be chosen as the latest."""

    ACTIVE = "active"
    DISABLED = "disabled"


class TemporalMode(StrEnum):
    """How the rows of a table belong to periods."""

    NONE = "none"
    PERIOD = "period"
    BITEMPORAL = "bitemporal"

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that assign rows to periods: `_period`, or `_period_from`, `_period_to`."""
        return _TEMPORAL_COLUMNS[self]


class DataFormat(StrEnum):
    """The format in which the rows of a version are stored.

    Versions are published in the first four. A resolver can name a `table` of Spark's catalog.
    """

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"
    JDBC = "jdbc"
    TABLE = "table"

    @property
    def is_files(self) -> bool:
        """Whether rows are in files, which can be recorded and verified."""
        return self not in (DataFormat.JDBC, DataFormat.TABLE)


@dataclass(frozen=True, slots=True)
class Column:
    """A column and its type under Spark's own name, such as `decimal(18,6)`."""

    name: str
    type: str


PERIOD = Column("_period", "string")
PERIOD_FROM = Column("_period_from", "date")
PERIOD_TO = Column("_period_to", "date")

_TEMPORAL_COLUMNS: Mapping[TemporalMode, tuple[Column, ...]] = {
    TemporalMode.NONE: (),
    TemporalMode.PERIOD: (PERIOD,),
    TemporalMode.BITEMPORAL: (PERIOD_FROM, PERIOD_TO),
}


@dataclass(frozen=True, slots=True)
class Table:
    """The main table of a dataset. `columns` does not contain the columns of the temporal mode.

    `key` names the columns that identify a row, within a period or at any day if the table has a
    temporal mode. It is empty if rows need not be unique.
    """

    name: str
    columns: tuple[Column, ...]
    temporal_mode: TemporalMode = TemporalMode.NONE
    key: tuple[str, ...] = ()

    @property
    def temporal_columns(self) -> tuple[Column, ...]:
        """The columns of the temporal mode."""
        return self.temporal_mode.columns

    @property
    def all_columns(self) -> tuple[Column, ...]:
        """The declared columns and those of the temporal mode: what a version's files contain."""
        return (*self.columns, *self.temporal_columns)


@dataclass(frozen=True, slots=True)
class ResolverRef:
    """A resolver by name, with its configuration."""

    name: str
    config: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset as defined. Its data is in its versions."""

    id: UUID
    name: str
    table: Table
    status: Status = Status.ACTIVE
    resolver: ResolverRef | None = None
    description: str = ""
    positions: Positions = field(default=NO_POSITIONS, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class VersionFile:
    """A file of a version. `path` is relative to the version's location, or empty if the location
    is the file."""

    path: str
    size: int
    modified_ns: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionContent:
    """What is published: where the rows are, in which format, with which columns.

    `location` is an absolute path of a file or folder, or a database URL without a password.
    `options` are those of the format: `delimiter` or `header` of CSV, `table` of JDBC.
    `content_hash` is `sha256:<hex>` over format, options, schema and files. It is None where the
    rows may change after publishing; such a version is not reproducible.
    `key` is the key of the dataset's table by which the rows were unique when it was published.
    `database_columns` are all columns of a database table, with the types of the database.
    """

    format: DataFormat
    location: str
    schema: tuple[Column, ...]
    content_hash: str | None = None
    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    row_count: int | None = None
    note: str = ""
    key: tuple[str, ...] = ()
    database_columns: tuple[Column, ...] = ()

    @property
    def reproducible(self) -> bool:
        """Whether the same rows can be read again and verified."""
        return self.content_hash is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetVersion(VersionContent):
    """A published version. Only its status can change.

    A disabled version is not chosen as the latest; a pin on its number, and a replay, still use it.
    """

    dataset_id: UUID
    number: int
    published_at: datetime
    status: Status = Status.ACTIVE
    file_count: int = 0
    total_bytes: int = 0


@dataclass(frozen=True, slots=True)
class DatasetSummary:
    """A dataset in a list, with the number of its latest active version."""

    id: UUID
    name: str
    status: Status
    temporal_mode: TemporalMode
    versions: int
    latest_version: int | None
    published_at: datetime | None
