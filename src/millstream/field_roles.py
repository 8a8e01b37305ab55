"""What depends on a field of a plan, and what the field holds: declared in its annotation.

    lateness: State[Micros] = 0  # state depends on it, and it is a duration
    late: OutputOnly[LatePolicy]  # it changes results, but nothing that is stored
    place: Neither[Place | None]  # nothing depends on it

Every field of every plan node has one of the three. A field of a value that nodes are made of may
leave it out: it then has the role of the field that holds the value.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, TypeVar


class Role(StrEnum):
    """What depends on a field."""

    STATE = "state"  # a checkpoint made with another value cannot be resumed
    OUTPUT = "output"  # only what is emitted from now on
    NEITHER = "neither"


class ValueForm(StrEnum):
    """What a number or a text is, where its Python type does not say."""

    DURATION = "duration"
    TYPE = "type"


@dataclass(frozen=True, slots=True)
class OptionNames:
    """Of a field with options: the names of those that the declared role is for."""

    names: tuple[str, ...]


_T = TypeVar("_T")
State = Annotated[_T, Role.STATE]
OutputOnly = Annotated[_T, Role.OUTPUT]
Neither = Annotated[_T, Role.NEITHER]

Micros = Annotated[int, ValueForm.DURATION]
SqlType = Annotated[str, ValueForm.TYPE]
