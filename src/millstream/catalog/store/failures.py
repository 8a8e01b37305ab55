"""Errors of the database as errors of the catalog, without SQL, parameters or passwords."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import exc

from millstream.errors import CatalogError


@contextmanager
def catalog_errors(shown: str) -> Iterator[None]:
    """Raises a `CatalogError` for an error of the database. `shown` is its URL, masked."""
    try:
        yield
    except exc.DBAPIError as error:
        raise _error_of(error, shown) from None
    except exc.StatementError as error:  # its own text contains the SQL and its parameters
        raise _database(_one_line(error.orig), shown) from None
    except exc.SQLAlchemyError as error:
        raise _database(_one_line(error), shown) from None


def _error_of(error: exc.DBAPIError, shown: str) -> CatalogError:
    reason = _one_line(error.orig)
    if "database is locked" in reason or "lock timeout" in reason:
        return CatalogError(
            "MS-CATALOG-BUSY",
            f"another process has locked the catalog {shown} for too long.",
            fix="Try again when it is done.",
        )
    unreachable = error.connection_invalidated or isinstance(error, exc.OperationalError)
    if unreachable and not _is_statement_error(reason):
        return CatalogError(
            "MS-CATALOG-CONNECT",
            f"there is no connection to the catalog {shown}: {reason}.",
            fix="Check that the database is running, and the host, port, user and password. "
            "A password may be set as PGPASSWORD.",
        )
    return _database(reason, shown)


def _is_statement_error(reason: str) -> bool:
    """SQLite reports errors of statements and files with the class of lost connections."""
    return reason.startswith(("no such", "attempt to write a readonly", "disk I/O", "database or"))


def _database(reason: str, shown: str) -> CatalogError:
    return CatalogError(
        "MS-CATALOG-DATABASE",
        f"the database of the catalog {shown} reports: {reason.rstrip('.')}.",
        fix="Check that the database is a catalog, is writable and has space.",
    )


def _one_line(error: BaseException | None) -> str:
    lines = [line.strip() for line in str(error or "unknown error").splitlines() if line.strip()]
    return lines[0].rstrip(".") if lines else type(error).__name__
