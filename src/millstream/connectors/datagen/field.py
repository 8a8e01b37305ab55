"""How a column of a `datagen` source is generated, as a value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from millstream.errors import Place, PropertyError

PREFIX = "fields."
INTEGERS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
FLOATS = ("float", "double")
TIMES = ("timestamp", "timestamp_ntz", "date")
DISTRIBUTIONS = ("uniform", "normal", "exponential", "zipf")
NUMBER_OPTIONS = ("min", "max", "distribution", "mean", "stddev", "skew")
OTHER_OPTIONS = ("kind", "start", "end", "length", "values", "max.past", "null.rate")
OPTIONS = (*NUMBER_OPTIONS, *OTHER_OPTIONS)
PlaceOf = Callable[[str], Place | None]


@dataclass(frozen=True, slots=True)
class Field:
    """A generated column.

    Attributes:
        type: The SQL type, normalized.
        kind: random, sequence, or time: the time of the row.
        low: The least value, or the first of a sequence; unscaled for a DECIMAL.
        high: The greatest value; None: a sequence without an end.
        scale: Digits after the point of a DECIMAL.
        length: Characters or bytes of a random value.
        values: Strings to choose from.
        max_past: Microseconds that a time is behind the time of the row, at most.
    """

    name: str
    type: str
    kind: str = "random"
    low: float = 0
    high: float | None = None
    scale: int = 0
    distribution: str = "uniform"
    mean: float = 0
    stddev: float = 0
    skew: float = 1
    length: int = 0
    values: tuple[str, ...] = ()
    max_past: int = 0
    null_rate: float = 0


def invalid_option(name: str, value: str, use: str, place_of: PlaceOf) -> PropertyError:
    return PropertyError(
        "MS-PROP-VALUE",
        f"'{name}' cannot be '{value[:100]}'.",
        fix=f"Use {use}.",
        place=place_of(name),
    )
