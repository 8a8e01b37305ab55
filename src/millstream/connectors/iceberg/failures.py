"""The errors of Iceberg tables: what pyiceberg reports, as errors with a code and a fix."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyiceberg import exceptions

from millstream.connectors.lake.table import TableName
from millstream.errors import RunError

_MISSING = (exceptions.NoSuchTableError, exceptions.NoSuchNamespaceError)
# Packages whose errors a catalog or its files may raise.
_PACKAGES = ("pyiceberg", "sqlalchemy", "requests", "urllib3", "botocore", "thrift")
_MOST = 300  # characters of another program's message


def table_name(owner: str, table: str) -> TableName:
    """`owner`: such as `sink totals`."""
    return TableName(owner, table, "MS-RUN-ICEBERG-TABLE")


def feature_error(owner: str, table: str, feature: str, fix: str) -> RunError:
    return RunError(
        "MS-RUN-ICEBERG-FEATURE",
        f"{owner}: the table {table} {feature}, which is not supported.",
        fix=fix,
    )


@contextmanager
def described(owner: str, table: str) -> Iterator[None]:
    """Raises errors of pyiceberg as errors of Millstream."""
    try:
        yield
    except _MISSING:
        raise table_name(owner, table).error(
            f"the catalog has no table {table}", "Correct 'table', or create the table."
        ) from None
    except Exception as error:
        package = type(error).__module__.partition(".")[0]
        # pyiceberg raises ValueError for columns that do not fit.
        if package not in _PACKAGES and not isinstance(error, (OSError, ValueError)):
            raise
        raise RunError(
            "MS-RUN-ICEBERG-FAILED",
            f"{owner}: pyiceberg failed on {table}: {one_line(error)}.",
            fix="Correct the cause, then run again: the job continues from its checkpoint.",
        ) from None


def one_line(error: Exception) -> str:
    text = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return text if len(text) <= _MOST else text[:_MOST] + "…"
