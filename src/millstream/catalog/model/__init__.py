"""The values of a catalog, and the protocols that read and write it.

All values are frozen dataclasses; `pydantic.TypeAdapter` converts them to and from JSON.

Dataset ──▶ Table (columns, temporal mode), ResolverRef
   ╰─ DatasetVersion 1…n (number, format, location, schema, content hash) ──▶ VersionFile

Period (identifier, start, end, level, parent)

Project ──▶ ProjectInput, ProjectOutput, ProjectOverride (dataset ──▶ ResolverRef)
   ╰─ UpdateOperation, in order ──▶ RuntimeJoin (alias, dataset, version, on), Assignment

Run (project, period, status, Lease) ──▶ ResolverSnapshot, RunResult or RunFailure
   ╰─ ResolverSnapshot ──▶ DatasetSnapshot of the input, JoinDatasetSnapshot of each join

A project refers to datasets by `DatasetKey` (UUID or name), as written in YAML. A reference may be
unknown: validation at activation reports it. Names of datasets and projects ignore letter case.

Each definition has `positions`: where its values are in YAML. Positions are stored with the
definition and ignored by comparisons.

Times are aware datetimes in UTC. A period's `end` is its last day.
"""

from millstream.catalog.model.datasets import (
    PERIOD,
    PERIOD_FROM,
    PERIOD_TO,
    Column,
    DataFormat,
    Dataset,
    DatasetKey,
    DatasetSummary,
    DatasetVersion,
    ResolverRef,
    Status,
    Table,
    TemporalMode,
    VersionContent,
    VersionFile,
)
from millstream.catalog.model.definitions import Definitions
from millstream.catalog.model.periods import Period
from millstream.catalog.model.positions import NO_POSITIONS, Positions
from millstream.catalog.model.projects import (
    Assignment,
    Cardinality,
    Project,
    ProjectInput,
    ProjectOutput,
    ProjectOverride,
    ProjectStatus,
    RuntimeJoin,
    UpdateOperation,
)
from millstream.catalog.model.protocols import CatalogReader, CatalogWriter
from millstream.catalog.model.runs import (
    DatasetSnapshot,
    JoinDatasetSnapshot,
    Lease,
    ResolverSnapshot,
    ResolverSource,
    Run,
    RunEnvironment,
    RunFailure,
    RunResult,
    RunStatus,
)

__all__ = [
    "NO_POSITIONS",
    "PERIOD",
    "PERIOD_FROM",
    "PERIOD_TO",
    "Assignment",
    "Cardinality",
    "CatalogReader",
    "CatalogWriter",
    "Column",
    "DataFormat",
    "Dataset",
    "DatasetKey",
    "DatasetSnapshot",
    "DatasetSummary",
    "DatasetVersion",
    "Definitions",
    "JoinDatasetSnapshot",
    "Lease",
    "Period",
    "Positions",
    "Project",
    "ProjectInput",
    "ProjectOutput",
    "ProjectOverride",
    "ProjectStatus",
    "ResolverRef",
    "ResolverSnapshot",
    "ResolverSource",
    "Run",
    "RunEnvironment",
    "RunFailure",
    "RunResult",
    "RunStatus",
    "RuntimeJoin",
    "Status",
    "Table",
    "TemporalMode",
    "UpdateOperation",
    "VersionContent",
    "VersionFile",
]
