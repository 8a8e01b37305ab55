"""A test case: SQL, what arrives, and the exact rows that must come out.

`CaseFile` is a case as it is written in YAML; `load.py` reads the files that it names and makes a
`Case` of it, which is all that a runner sees.
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
    """A setting is text to Spark and to us, however YAML read it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float | date) else value


Setting = Annotated[str, BeforeValidator(_setting)]


class _Written(BaseModel):
    """What stands in a file: a key that is not known is a mistake, never ignored."""

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


class WatermarkSpec(_Written):
    column: str
    delay: str = "0s"
    every: int = Field(default=1, ge=1)

    @field_validator("delay")
    @classmethod
    def _is_a_duration(cls, value: str) -> str | None:
        return _span(value, "a watermark follows its rows")


class InputSpec(_Written):
    """What arrives at one source, in which micro-batch."""

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


class ExpectSpec(_Written):
    """Exact rows in any order, or the table that is left when all changes (`_OP`) are applied.
    `approx` lets numbers differ, of all columns or of those named."""

    rows: list[Row] | None = None
    table: list[Row] | None = None
    file: str | None = None
    approx: Annotated[float, Field(ge=0)] | dict[str, Annotated[float, Field(ge=0)]] | None = None

    @model_validator(mode="after")
    def _one_way_to_give_rows(self) -> ExpectSpec:
        _exactly_one(self, "rows", "table", "file")
        return self


class CaseFile(_Written):
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
    text: bool = False  # rows come from CSV: every value is text or NULL


@dataclass(frozen=True, slots=True)
class Expected:
    """The rows a sink or port must hold, or must have left once all changes are `applied`.
    `approx` is a tolerance, for all columns or by name."""

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
    """A case with all its files read. Either `expect` or `error` is given."""

    name: str
    sql: str
    path: Path
    sql_path: Path | None = None  # None: the SQL stands in the YAML file
    engines: tuple[Engine, ...] | None = None  # None: every engine that supports the plan
    settings: Mapping[str, str] = field(default_factory=dict)  # as SET in the SQL would give them
    variables: Mapping[str, str] = field(default_factory=dict)  # for ${name} in the SQL
    inputs: Mapping[str, Input] = field(default_factory=dict)
    silence: int | None = None  # how much later it is, by the wall clock, when all rows have come
    end: Literal["flush", "hold"] = "flush"
    expect: Mapping[str, Expected] = field(default_factory=dict)
    error: str | None = None

    @property
    def batches(self) -> int:
        """How many micro-batches the case has: that of the input with the most."""
        return max((len(input_.batches) for input_ in self.inputs.values()), default=0)
