"""The sources that a case brings along, for plans whose SQL does not declare them."""

from __future__ import annotations

from millstream.errors import HarnessError
from millstream.plan.nodes import Column, Source
from millstream.testing.case import Case


def given_sources(case: Case) -> dict[str, Source]:
    """A source for every input with a schema. The others must be declared in the SQL."""
    sources = {}
    for name, given in case.inputs.items():
        if given.types is not None:
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
