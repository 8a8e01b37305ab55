"""Resolves datasets of a catalog to inputs of a test case, without opening a catalog.

`CATALOG.fx` is the input of that name, with a schema. `CATALOG.fx FOR VERSION AS OF 3` is the input
`CATALOG.fx.v3`, or `CATALOG.fx` if there is none. A CREATE TABLE with 'catalog.dataset' reads the
input with the name of the table.
"""

from __future__ import annotations

from dataclasses import dataclass

from millstream.errors import HarnessError
from millstream.plan.build.tables.datasets import NAMESPACE, DatasetTable
from millstream.testing.case import Case, Input

# The runner replaces the rows of this file by those of the case.
_PROPERTIES = (("connector", "file"), ("path", "dataset"), ("format", "parquet"))


@dataclass(frozen=True, slots=True)
class GivenDatasets:
    """Resolves the datasets of a job to the inputs of a case: a `DatasetResolver`."""

    case: Case

    def __call__(self, name: str, version: int | None, table: str) -> DatasetTable:  # noqa: ARG002
        given = find_input(self.case, table)
        if not is_dataset(table):
            if given is None:
                raise _not_given(table, f"{table}: {{rows: […]}}")
            return DatasetTable((), _PROPERTIES)
        key = f"{NAMESPACE}.{name}"
        if given is None:
            raise _not_given(table, f"{key}: {{schema: {{column: type, …}}, rows: […]}}")
        if not given.types:
            raise HarnessError(
                "MS-TEST-VALUE",
                f"the input {key} of {self.case.name!r} has no schema.",
                fix="List the columns of the dataset under schema: test cases do not read a "
                "catalog.",
            )
        return DatasetTable(tuple(given.types.items()), _PROPERTIES)


def is_dataset(name: str) -> bool:
    """Whether an input or a table is a dataset: `CATALOG.x`, in any letter case."""
    return name.upper().startswith(f"{NAMESPACE}.")


def find_input(case: Case, table: str) -> Input | None:
    """Returns the input of a source or table; one of a dataset is found in any letter case."""
    if not is_dataset(table):
        return case.inputs.get(table)
    by_name = {key.lower(): given for key, given in case.inputs.items() if is_dataset(key)}
    namespace, name, *_ = table.lower().split(".")
    return by_name.get(table.lower()) or by_name.get(f"{namespace}.{name}")


def check_dataset(name: str, given: Input, case: Case) -> None:
    """Rejects a dataset with a watermark, and one that changes between micro-batches."""
    where = f"the input {name} of {case.name!r} is a dataset"
    if given.watermark is not None or given.idle is not None:
        raise HarnessError(
            "MS-TEST-VALUE",
            f"{where}, which has no watermark.",
            fix="Remove watermark and idle. For a versioned table, use CREATE TABLE with "
            "'catalog.dataset', PRIMARY KEY and WATERMARK in the SQL.",
        )
    if len(given.batches) > 1:
        raise HarnessError(
            "MS-TEST-VALUE",
            f"{where}, and a version of a dataset does not change between micro-batches.",
            fix="Use rows or file instead of batches.",
        )


def _not_given(table: str, example: str) -> HarnessError:
    return HarnessError(
        "MS-TEST-INPUT",
        f"the job reads the dataset {table}, and the test case has no input for it.",
        fix=f"Add it to inputs: {example}",
    )
