"""Definitions as they are written in YAML. Keys that are not known are rejected."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_validator,
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
from millstream.catalog.types import canonical_type
from millstream.secret_names import contains_secret, is_secret_name
from millstream.suggestions import nearest

_ISO_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_RESERVED = {column.name for column in (PERIOD, PERIOD_FROM, PERIOD_TO)}
_NESTED = ("array", "map", "struct")


def _text(value: object) -> object:
    """YAML reads 2026 as a number and 2026-01-31 as a date; as identifiers they are text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float | date) else value


def _day(value: object) -> date:
    """Pydantic would read numbers as Unix times."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    if isinstance(value, str) and _ISO_DAY.fullmatch(value):
        with suppress(ValueError):
            return date.fromisoformat(value)
    shown = value if isinstance(value, bool | int | float | datetime) else repr(value)
    raise ValueError(f"{shown} is not a day; write it as YYYY-MM-DD, such as 2026-01-31")


def _name(value: str) -> str:
    if not value.isascii() or not value.isidentifier():
        raise ValueError(f"{value!r} is not a name: use letters, digits and _, no digit first")
    return value


def _without_secret(value: str) -> str:
    if contains_secret(value):
        raise ValueError(
            "it contains a password, and a catalog stores no secrets; set it in the environment, "
            "such as PGPASSWORD for PostgreSQL"
        )
    return value


def _list(value: object) -> object:
    """Allows a single name in place of a list with one name."""
    return [value] if isinstance(value, str) else value


def _mapping(key: str) -> BeforeValidator:
    """Allows a single value in place of a mapping with one key."""
    return BeforeValidator(lambda value: {key: value} if isinstance(value, str) else value)


Name = Annotated[str, StringConstraints(max_length=128), AfterValidator(_name)]
ProjectName = Annotated[
    str, StringConstraints(max_length=128, pattern=r"^[A-Za-z_][A-Za-z0-9_-]*$")
]
Text = Annotated[str, StringConstraints(min_length=1)]
ColumnType = Annotated[str, AfterValidator(canonical_type)]
Identifier = Annotated[
    str,
    BeforeValidator(_text),
    StringConstraints(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"),
]
Day = Annotated[date, BeforeValidator(_day)]
Setting = Annotated[str, BeforeValidator(_text), AfterValidator(_without_secret)]


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
                raise ValueError(f"{name} is a secret, and a catalog stores no secrets")
        return config


class TableSpec(Spec):
    name: Name | None = None
    columns: dict[Text, ColumnType] = Field(min_length=1)
    temporal_mode: TemporalMode = TemporalMode.NONE
    key: Annotated[tuple[Text, ...], BeforeValidator(_list)] = ()

    @field_validator("columns")
    @classmethod
    def _unique_names(cls, columns: dict[str, str]) -> dict[str, str]:
        seen: set[str] = set()
        for name in columns:
            if name.lower() in seen:
                raise ValueError(f"the column {name} differs from another only in letter case")
            if name.lower() in _RESERVED:
                raise ValueError(f"the column {name} is added by the temporal mode; leave it out")
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
            raise ValueError(f"{name} is added to the key by the temporal mode; leave it out")
        if column is None:
            raise ValueError(f"{name} is not a column. {nearest(name, columns)}".rstrip())
        if column in found:
            raise ValueError(f"{name} is named twice")
        if columns[column].startswith(_NESTED):
            raise ValueError(f"{name} is {columns[column]}, which cannot be part of a key")
        found.append(column)
    return tuple(found)


class DatasetSpec(Spec):
    name: Name
    main_table: TableSpec
    id: UUID | None = None
    description: str = ""
    status: Status | None = None
    resolver: Annotated[ResolverSpec, _mapping("name")] | None = None


class PeriodSpec(Spec):
    identifier: Identifier
    start: Day
    end: Day
    level: Identifier = "period"
    parent: Identifier | None = None

    @model_validator(mode="after")
    def _forward(self) -> PeriodSpec:
        if self.end < self.start:
            raise ValueError(f"it ends on {self.end}, before it starts on {self.start}")
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
            raise ValueError(f"needs exactly one of dataset and dataset_id; it has {found}")
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
    expression: Annotated[Text, BeforeValidator(_text)]


class ArgumentsSpec(Spec):
    joins: tuple[JoinSpec, ...] = ()
    assignments: tuple[AssignmentSpec, ...] = ()


class OperationSpec(Spec):
    type: Literal["update"]
    arguments: ArgumentsSpec


class OutputSpec(Spec):
    location: Annotated[Text, AfterValidator(_without_secret)]
    format: DataFormat = DataFormat.PARQUET

    @field_validator("format")
    @classmethod
    def _of_files(cls, form: DataFormat) -> DataFormat:
        if not form.is_files:
            raise ValueError("a result is written to files: parquet, csv or json")
        return form


class ProjectSpec(Spec):
    name: ProjectName
    input: Annotated[InputSpec, _mapping("dataset")]
    output: Annotated[OutputSpec, _mapping("location")]
    operations: tuple[OperationSpec, ...] = ()
    resolver_overrides: dict[Text, Annotated[ResolverSpec, _mapping("name")]] = Field(
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
