"""The errors of Delta tables: what deltalake reports, as errors with a code and a fix."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from deltalake.exceptions import DeltaError, TableNotFoundError

from millstream.connectors.lake.table import TableName
from millstream.errors import RunError

_TRACE = re.compile(r"\n\s*(Error: Os|\d+: |caused by\n)?")


def table_name(owner: str, path: str) -> TableName:
    """`owner`: such as `sink totals`."""
    return TableName(owner, path, "MS-RUN-DELTA-TABLE")


def feature_error(owner: str, path: str, feature: str, fix: str) -> RunError:
    return RunError(
        "MS-RUN-DELTA-FEATURE",
        f"{owner}: the table {path} {feature}, which is not supported.",
        fix=fix,
    )


def lost_error(owner: str, path: str, version: int) -> RunError:
    return RunError(
        "MS-RUN-DELTA-LOST",
        f"{owner}: version {version} of {path} is no longer in its log, so the rows that it added "
        "cannot be found.",
        fix="Start with a new checkpoint: it begins with all rows of the table. Delta removes "
        "versions after 'delta.logRetentionDuration', 30 days by default.",
    )


@contextmanager
def described(owner: str, path: str) -> Iterator[None]:
    """Raises errors of deltalake as errors of Millstream."""
    try:
        yield
    except TableNotFoundError:
        raise table_name(owner, path).error(
            f"{path} is not a Delta table", "Correct 'path', or create the table."
        ) from None
    except DeltaError as error:
        raise RunError(
            "MS-RUN-DELTA-FAILED",
            f"{owner}: deltalake failed on {path}: {one_line(error)}.",
            fix="Correct the cause, then run again: the job continues from its checkpoint.",
        ) from None


def one_line(error: Exception) -> str:
    """Returns the text of an error without its stack and line ends."""
    text = str(error).partition("\n   0: ")[0]
    return _TRACE.sub(" ", text).strip().rstrip(".")
