"""A test case: SQL, input rows, and the exact expected rows.

`CaseFile` is a case in YAML. `load.py` reads it, and the files that it names, into a `Case`, which
a runner executes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from millstream.errors import PropertyError
from millstream.temporal import Watermark, parse_span

Row = dict[str, Any]
Engine = Literal["columnar", "native"]
ENGINES: tuple[Engine, ...] = ("columnar", "native")


def _setting(value: object) -> object:
    """Converts a YAML value to a string, because settings are strings."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float | date) else value


Setting = Annotated[str, BeforeValidator(_setting)]


class _YamlModel(BaseModel):
    """A part of a test file. Unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _exactly_one(model: BaseModel, *names: str) -> None:
    given = [name for name in names if getattr(model, name) is not None]
    if len(given) != 1:
        wanted = ", ".join(names[:-1]) + " or " + names[-1]
        found = " and ".join(given) or "none"
        raise ValueError(f"needs exactly one of {wanted}; it has {found}")


def _span(value: str | None, reason: str) -> str | None:
    if value is None:
        return None
    try:
        span = parse_span(value)
    except PropertyError as error:
        raise ValueError(f"{error.cause} {error.fix}") from None
    if span < 0:
        raise ValueError(f"{value!r} is negative; {reason}")
    return value


class WatermarkSpec(_YamlModel):
    column: str
    delay: str = "0s"
    every: int = Field(default=1, ge=1)

    @field_validator("delay")
    @classmethod
    def _is_a_duration(cls, value: str) -> str | None:
        return _span(value, "a watermark cannot be ahead of its rows")


class InputSpec(_YamlModel):
    """The rows of one source, by micro-batch."""

    types: dict[str, str] | None = Field(default=None, alias="schema")
    watermark: WatermarkSpec | None = None
    idle: str | None = None  # 'idle.timeout'
    batches: list[list[Row]] | None = None
    rows: list[Row] | None = None
    file: str | None = None

    @field_validator("idle")
    @classmethod
    def _is_a_duration(cls, value: str | None) -> str | None:
        return _span(value, "time goes forward")

    @model_validator(mode="after")
    def _one_way_to_give_rows(self) -> InputSpec:
        _exactly_one(self, "batches", "rows", "file")
        return self


class ExpectSpec(_YamlModel):
    """The expected rows in any order, or the table after all changes (`_OP`) are applied.

    `approx` is a tolerance for numbers, of all columns or by column.
    """

    rows: list[Row] | None = None
    table: list[Row] | None = None
    file: str | None = None
    approx: Annotated[float, Field(ge=0)] | dict[str, Annotated[float, Field(ge=0)]] | None = None

    @model_validator(mode="after")
    def _one_way_to_give_rows(self) -> ExpectSpec:
        _exactly_one(self, "rows", "table", "file")
        return self


class CaseFile(_YamlModel):
    name: str = Field(min_length=1)
    sql: str | None = None
    file: str | None = None
    engines: list[Engine] | None = Field(default=None, min_length=1)
    set: dict[str, Setting] = Field(default_factory=dict)
    variables: dict[str, Setting] = Field(default_factory=dict)
    inputs: dict[str, InputSpec] = Field(default_factory=dict)
    silence: str | None = None
    end: Literal["flush", "hold"] = "flush"
    expect: dict[str, ExpectSpec] | None = Field(default=None, min_length=1)
    error: str | None = Field(default=None, pattern=r"^MS-[A-Z0-9-]+$")

    @field_validator("silence")
    @classmethod
    def _is_a_duration(cls, value: str | None) -> str | None:
        return _span(value, "time goes forward")

    @model_validator(mode="after")
    def _one_text_and_one_end(self) -> CaseFile:
        _exactly_one(self, "sql", "file")
        _exactly_one(self, "expect", "error")
        return self


@dataclass(frozen=True, slots=True)
class Input:
    """One source's rows by micro-batch. `types` is None when the SQL declares the source."""

    batches: tuple[tuple[Row, ...], ...]
    types: Mapping[str, str] | None = None
    watermark: Watermark | None = None
    idle: int | None = None
    text: bool = False  # rows are from CSV, so all values are strings or NULL


@dataclass(frozen=True, slots=True)
class ExpectedOutput:
    """The expected rows of a sink or side output.

    Attributes:
        approx: A tolerance for numbers, of all columns or by column.
        text: The rows are from CSV, so all values are strings.
        applied: Compare with the table after all changes (`_OP`) are applied.
    """

    rows: tuple[Row, ...]
    approx: float | Mapping[str, float] | None = None
    text: bool = False
    applied: bool = False

    def tolerance(self, column: str) -> float | None:
        if isinstance(self.approx, Mapping):
            return self.approx.get(column)
        return self.approx


@dataclass(frozen=True, slots=True)
class Case:
    """A case whose files have been read. Either `expect` or `error` is set."""

    name: str
    sql: str
    path: Path
    sql_path: Path | None = None  # None: the SQL is in the YAML file
    engines: tuple[Engine, ...] | None = None  # None: every engine that supports the plan
    settings: Mapping[str, str] = field(default_factory=dict)  # like SET in the SQL
    variables: Mapping[str, str] = field(default_factory=dict)  # for ${name} in the SQL
    inputs: Mapping[str, Input] = field(default_factory=dict)
    silence: int | None = None  # processing time that passes after all rows have arrived
    end: Literal["flush", "hold"] = "flush"
    expect: Mapping[str, ExpectedOutput] = field(default_factory=dict)
    error: str | None = None

    @property
    def batches(self) -> int:
        """The number of micro-batches: the greatest number of batches of an input."""
        return max((len(input_.batches) for input_ in self.inputs.values()), default=0)
