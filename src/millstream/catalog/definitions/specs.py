"""Definitions as they are written in YAML. Keys that are not known are rejected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from millstream.catalog.definitions.values import (
    ENVIRONMENT_FIX,
    ColumnType,
    Day,
    Identifier,
    Name,
    ProjectName,
    Setting,
    Text,
    as_list,
    as_text,
    mapping_of,
    without_secret,
    wrong_value,
)
from millstream.catalog.model import (
    PERIOD,
    PERIOD_FROM,
    PERIOD_TO,
    Cardinality,
    DataFormat,
    Status,
    TemporalMode,
)
from millstream.secret_names import is_secret_name
from millstream.suggestions import nearest

_RESERVED = {column.name for column in (PERIOD, PERIOD_FROM, PERIOD_TO)}
_NESTED = ("array", "map", "struct")


class Spec(BaseModel):
    """A mapping in YAML."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ResolverSpec(Spec):
    name: Text
    config: dict[Text, Setting] = Field(default_factory=dict)

    @field_validator("config")
    @classmethod
    def _no_secrets(cls, config: dict[str, str]) -> dict[str, str]:
        for name in config:
            if is_secret_name(name):
                cause = f"{name} is a secret, and a catalog stores no secrets"
                raise wrong_value(cause, ENVIRONMENT_FIX)
        return config


class TableSpec(Spec):
    name: Name | None = None
    columns: dict[Text, ColumnType] = Field(min_length=1)
    temporal_mode: TemporalMode = TemporalMode.NONE
    key: Annotated[tuple[Text, ...], BeforeValidator(as_list)] = ()

    @field_validator("columns")
    @classmethod
    def _unique_names(cls, columns: dict[str, str]) -> dict[str, str]:
        seen: set[str] = set()
        for name in columns:
            if name.lower() in seen:
                cause = f"the column {name} differs from another only in letter case"
                raise wrong_value(cause, "Rename one of them.")
            if name.lower() in _RESERVED:
                cause = f"the column {name} is added by the temporal mode"
                raise wrong_value(cause, "Remove it.")
            seen.add(name.lower())
        return columns

    @field_validator("key")
    @classmethod
    def _known_columns(cls, key: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        columns: dict[str, str] | None = info.data.get("columns")
        return key if columns is None else _declared_key(key, columns)


def _declared_key(key: Sequence[str], columns: Mapping[str, str]) -> tuple[str, ...]:
    """Returns a key in the letter case of the declared columns, whose types are the values of
    `columns`.

    Raises ValueError for a name that is not a column, is one of the temporal mode, is named twice,
    or has a nested type.
    """
    declared = {name.lower(): name for name in columns}
    found: list[str] = []
    for name in key:
        column = declared.get(name.lower())
        if name.lower() in _RESERVED:
            raise wrong_value(f"{name} is added to the key by the temporal mode", "Remove it.")
        if column is None:
            raise wrong_value(f"{name} is not a column", nearest(name, columns))
        if column in found:
            raise wrong_value(f"{column} is named twice", "Remove one.")
        if columns[column].startswith(_NESTED):
            cause = f"{name} is {columns[column]}, which cannot be part of a key"
            raise wrong_value(cause, "Use columns without fields and elements.")
        found.append(column)
    return tuple(found)


class DatasetSpec(Spec):
    name: Name
    main_table: TableSpec
    id: UUID | None = None
    description: str = ""
    status: Status | None = None
    resolver: Annotated[ResolverSpec, mapping_of("name")] | None = None


class PeriodSpec(Spec):
    identifier: Identifier
    start: Day
    end: Day
    level: Identifier = "period"
    parent: Identifier | None = None

    @model_validator(mode="after")
    def _forward(self) -> PeriodSpec:
        if self.end < self.start:
            cause = f"it ends on {self.end}, before it starts on {self.start}"
            raise wrong_value(cause, "Correct its days.")
        return self


class _DatasetReference(Spec):
    """A dataset by name (`dataset`) or by ID (`dataset_id`), and maybe one version of it."""

    dataset: Name | None = None
    dataset_id: UUID | None = None
    dataset_version: Annotated[int, Field(ge=1, strict=True)] | None = None

    @model_validator(mode="after")
    def _one_dataset(self) -> _DatasetReference:
        if (self.dataset is None) == (self.dataset_id is None):
            found = "neither" if self.dataset is None else "both"
            cause = f"it has {found} of the keys dataset and dataset_id"
            raise wrong_value(cause, "Name the dataset with one of them.")
        return self

    @property
    def key(self) -> UUID | str:
        found = self.dataset_id or self.dataset
        assert found is not None
        return found


class InputSpec(_DatasetReference):
    pass


class JoinSpec(_DatasetReference):
    alias: Name
    on: Text
    join_type: Literal["left", "inner", "right", "full"] = "left"
    expected_cardinality: Cardinality | None = None


class AssignmentSpec(Spec):
    column: Text
    expression: Annotated[Text, BeforeValidator(as_text)]


class ArgumentsSpec(Spec):
    joins: tuple[JoinSpec, ...] = ()
    assignments: tuple[AssignmentSpec, ...] = ()


class OperationSpec(Spec):
    type: Literal["update"]
    arguments: ArgumentsSpec


class OutputSpec(Spec):
    location: Annotated[Text, AfterValidator(without_secret)]
    format: DataFormat = DataFormat.PARQUET

    @field_validator("format")
    @classmethod
    def _of_files(cls, form: DataFormat) -> DataFormat:
        if not form.is_files:
            cause = f"a result cannot be written as {form.value}"
            raise wrong_value(cause, "Use parquet, csv or json.")
        return form


class ProjectSpec(Spec):
    name: ProjectName
    input: Annotated[InputSpec, mapping_of("dataset")]
    output: Annotated[OutputSpec, mapping_of("location")]
    operations: tuple[OperationSpec, ...] = ()
    resolver_overrides: dict[Text, Annotated[ResolverSpec, mapping_of("name")]] = Field(
        default_factory=dict
    )
    description: str = ""


class FileSpec(Spec):
    """A file of definitions."""

    datasets: tuple[DatasetSpec, ...] = ()
    periods: tuple[PeriodSpec, ...] = ()
    projects: tuple[ProjectSpec, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _lists(cls, value: Any) -> Any:
        """An empty key, such as `datasets:` without a list, is an empty list."""
        if isinstance(value, dict):
            return {key: () if each is None else each for key, each in value.items()}
        return value
