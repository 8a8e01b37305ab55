"""Annotations of plan fields: what depends on a field, and what kind of value it has.

    lateness: State[Micros] = 0  # state depends on it, and it is a duration
    late: OutputOnly[LatePolicy]  # results depend on it, but no stored data
    place: Neither[Place | None]  # nothing depends on it

Every field of a plan node has one of the three roles. Fields of values inside nodes may omit it;
they inherit the role of the field that contains the value.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, TypeVar


class Role(StrEnum):
    """What depends on a field."""

    STATE = "state"  # a checkpoint written with another value cannot be resumed
    OUTPUT = "output"  # only future output
    NEITHER = "neither"


class ValueForm(StrEnum):
    """The meaning of a number or a string, if its Python type does not determine it."""

    DURATION = "duration"
    TYPE = "type"


@dataclass(frozen=True, slots=True)
class OptionNames:
    """For a field with options: the names of the options that have the declared role."""

    names: tuple[str, ...]


class Presence(StrEnum):
    """When a field is part of what depends on it."""

    IF_SET = "if set"  # not if it is None: the field was added later, and state without it is valid


_T = TypeVar("_T")
State = Annotated[_T, Role.STATE]
OutputOnly = Annotated[_T, Role.OUTPUT]
Neither = Annotated[_T, Role.NEITHER]
StateIfSet = Annotated[_T, Role.STATE, Presence.IF_SET]

Micros = Annotated[int, ValueForm.DURATION]
SqlType = Annotated[str, ValueForm.TYPE]
