"""What a case gives to sources and tables: their rows, and those that its SQL does not declare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millstream.errors import HarnessError
from millstream.plan.build.job import build_job
from millstream.plan.nodes import Column, Job, Reference, Source
from millstream.testing.case import Case, Input, Row
from millstream.testing.datasets import GivenDatasets, check_dataset, find_input, is_dataset
from millstream.testing.values import fill


def given_sources(case: Case) -> dict[str, Source]:
    """A source for every input with a schema that is no dataset. Others are declared in the SQL."""
    sources = {}
    for name, given in case.inputs.items():
        if is_dataset(name):
            check_dataset(name, given, case)
        elif given.types is not None:
            _refuse_no_time(name, given, case)
            columns = tuple(Column(column, type_) for column, type_ in given.types.items())
            sources[name] = Source(
                name, columns, given.watermark, connector="memory", idle=given.idle
            )
        elif given.watermark or given.idle is not None:
            raise HarnessError(
                "MS-TEST-VALUE",
                f"the input {name} of {case.name!r} says how its time goes, but has no schema.",
                fix="Give both, or declare the source and its watermark in the SQL.",
            )
    return sources


def case_job(case: Case) -> Job:
    """Plans the job of a case over its inputs."""
    return build_job(
        case.sql,
        variables=case.variables,
        sources=given_sources(case),
        datasets=GivenDatasets(case),
    )


def _refuse_no_time(name: str, given: Input, case: Case) -> None:
    if given.types is None or given.watermark is None:
        return
    kind = given.types.get(given.watermark.column)
    if kind is None or not kind.upper().startswith("TIMESTAMP"):
        found = "has no such column" if kind is None else f"has it as {kind}"
        raise HarnessError(
            "MS-TEST-VALUE",
            f"the watermark of {name} of {case.name!r} is that of {given.watermark.column}, and "
            f"the schema {found}.",
            fix="Name a column of type timestamp.",
        )


def given_input(case: Case, source: Source | Reference) -> Input:
    given = find_input(case, source.name)
    if given is None:
        raise HarnessError(
            "MS-TEST-INPUT",
            f"the job reads {source.name}, and the case gives it no input.",
            fix=f"Add it to inputs; if no row shall arrive, as {source.name}: {{rows: []}}",
        )
    return given


def types_of(source: Source | Reference) -> dict[str, str]:
    return {column.name: column.type or "string" for column in source.columns}


def rows_of(rows: Sequence[Row], source: Source | Reference, *, text: bool) -> list[dict[str, Any]]:
    """Rows as they are written, with the values of their types."""
    types = types_of(source)
    filled = fill(rows, types, source.name, text=text)
    return [dict(zip(types, row, strict=True)) for row in filled]
