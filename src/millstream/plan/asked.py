"""What a query asks of its operators beside its own clauses."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sqlglot import exp

from millstream.errors import Place
from millstream.plan.policies import Kind
from millstream.sql.statements import Property


@dataclass(frozen=True, slots=True)
class Asked:
    properties: Mapping[str, Property]
    sinks: Collection[str]  # names that 'late.sink' may say
    emit: exp.Expr | None
    place: Place | None
    kinds: tuple[Kind, ...] = ()  # of other operators of the same query
