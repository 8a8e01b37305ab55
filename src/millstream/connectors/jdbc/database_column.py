"""A column of a database table with its type in the database."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DatabaseColumn:
    """`type` is the type as SQL writes it: `character varying(20)`. `base` is its short name
    in the database, such as `varchar`; it decides how values are read."""

    type: str
    base: str
