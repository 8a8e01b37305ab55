"""Builds the job of a test case, with sources for inputs that its SQL does not declare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millstream.errors import HarnessError
from millstream.plan.build.job import build_job
from millstream.plan.nodes import Column, Job, ReferenceTable, Source
from millstream.plan.resolve.system_columns import source_column_type
from millstream.temporal import CHANGE_KIND, CHANGE_KINDS
from millstream.testing.case import Case, Input, Row
from millstream.testing.datasets import GivenDatasets, check_dataset, find_input, is_dataset
from millstream.testing.values import fill_rows


def given_sources(case: Case) -> dict[str, Source]:
    """Returns a source for each input with a schema, except datasets. Others are in the SQL."""
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
                f"the input {name} of {case.name!r} has a watermark or idle, but no schema.",
                fix="Add a schema, or declare the source and its watermark in the SQL.",
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
            f"the watermark of {name} of {case.name!r} is on the column {given.watermark.column}, "
            f"and the schema {found}.",
            fix="Use a column of type timestamp.",
        )


def given_input(case: Case, source: Source | ReferenceTable) -> Input:
    given = find_input(case, source.name)
    if given is None:
        raise HarnessError(
            "MS-TEST-INPUT",
            f"the job reads {source.name}, and the test case has no input for it.",
            fix=f"Add it to inputs; without rows, as {source.name}: {{rows: []}}",
        )
    return given


def types_of(source: Source | ReferenceTable, given: Input | None = None) -> dict[str, str]:
    """Returns the types of declared columns, and of the source's system columns that rows have."""
    types = {column.name: column.type or "string" for column in source.columns}
    if not isinstance(source, Source):
        return types
    names = {name for rows in (given.batches if given else ()) for row in rows for name in row}
    hidden = [name for name, _ in source.system_columns if name in names and name not in types]
    types |= {name: source_column_type(name) for name in hidden}
    # Rows of a changelog say how they change it; without a kind, they are inserted.
    return {**types, CHANGE_KIND: "string"} if source.retracts else types


def rows_of(
    rows: Sequence[Row], source: Source | ReferenceTable, given: Input
) -> list[dict[str, Any]]:
    """Returns rows with values converted to the types of the source's columns."""
    types = types_of(source, given)
    filled = fill_rows(rows, types, source.name, text=given.text)
    found = [dict(zip(types, row, strict=True)) for row in filled]
    for row in found:
        if row.get(CHANGE_KIND) not in (None, *CHANGE_KINDS) and CHANGE_KIND not in _names(source):
            raise HarnessError(
                "MS-TEST-VALUE",
                f"a row of {source.name} has the {CHANGE_KIND} {row[CHANGE_KIND]!r}.",
                fix=f"Use one of {', '.join(CHANGE_KINDS)}.",
            )
    return found


def _names(source: Source | ReferenceTable) -> set[str]:
    return {column.name for column in source.columns}
