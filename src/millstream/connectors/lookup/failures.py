"""Errors of database lookups. No message contains a password.

`UnreachableError` is temporary, so the lookup is retried. All other errors stop the job whatever
'lookup.on_error' is, because they are errors of the job, not of a row.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from millstream.connectors.lookup.spec import LookupSpec
from millstream.connectors.lookup.types import spark_name
from millstream.errors import RunError
from millstream.suggestions import nearest, same


class UnreachableError(Exception):
    """The database did not respond; a retry may succeed."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def one_line(text: object) -> str:
    """Returns a driver's message as the end of a sentence."""
    return " ".join(str(text).split()).rstrip(".?!")


def lookup_failed(spec: LookupSpec, tries: int, reason: str) -> RunError:
    return RunError(
        "MS-LOOKUP-FAILED",
        f"{failure_reason(spec, tries, reason)}.",
        fix="Check the database. Increase 'lookup.retries' or 'lookup.timeout' to wait longer, or "
        "set 'lookup.on_error' to continue without these rows.",
    )


def failure_reason(spec: LookupSpec, tries: int, reason: str) -> str:
    attempts = f"{tries} attempts" if tries != 1 else "1 attempt"
    return f"the lookup in table {spec.table} failed after {attempts}: {reason}"


def cannot_connect(spec: LookupSpec, reason: str, fix: str) -> RunError:
    return RunError(
        "MS-LOOKUP-CONNECT",
        f"cannot connect to the database of table {spec.table}: {reason}.",
        fix=fix,
    )


def not_installed(spec: LookupSpec) -> RunError:
    return RunError(
        "MS-LOOKUP-DRIVER",
        f"table {spec.table} is in PostgreSQL, which needs psycopg, and psycopg is not installed.",
        fix="Install it: pip install 'millstream[postgresql]'.",
    )


def not_found(spec: LookupSpec, what: str, name: str, known: Iterable[str]) -> RunError:
    return RunError(
        "MS-LOOKUP-TABLE",
        f"table {spec.table}: the database has no {what} {name}.",
        fix=nearest(name, known)
        or "Check 'table'. Include the schema if it is not in the user's search path.",
    )


def permission_denied(spec: LookupSpec, reason: str) -> RunError:
    return RunError(
        "MS-LOOKUP-TABLE",
        f"the user of the job may not read table {spec.table}: {reason}.",
        fix=f"Grant the permission: GRANT SELECT ON {spec.name} TO …",
    )


def query_rejected(spec: LookupSpec, reason: str) -> RunError:
    """The database rejected a query; a retry would fail, too."""
    return RunError(
        "MS-LOOKUP-TABLE",
        f"the database rejected a query of table {spec.table}: {reason}.",
        fix=f"Check {spec.name} in the database; if it is a view, check the query of the view.",
    )


def wrong_type(spec: LookupSpec, column: str, found: str, better: str) -> RunError:
    declared = spark_name(spec.schema.field(column).type)
    return RunError(
        "MS-LOOKUP-TYPE",
        f"column {column} of table {spec.table} is declared {declared}, but {found}.",
        fix=f"Write {better} in CREATE TABLE." if better else "",
    )


def wrong_value(spec: LookupSpec, column: str, kind: str, better: str) -> RunError:
    return wrong_type(spec, column, f"the database contains {kind}", better)


def wrong_key(spec: LookupSpec, column: str, declared: pa.DataType, database: str) -> RunError:
    return RunError(
        "MS-LOOKUP-TYPE",
        f"column {column} of table {spec.table} is {spark_name(declared)}, a type that cannot be "
        f"a lookup key in {database}.",
        fix="Use a key of integers, strings or dates.",
    )


def wrong_condition(spec: LookupSpec, column: str, value: object, found: str) -> RunError:
    kind = {bool: "a boolean", int: "an integer"}.get(type(value), "a string")
    return RunError(
        "MS-LOOKUP-TYPE",
        f"column {column} of table {spec.table} is compared with {kind}, but {found}.",
        fix="Compare it with a value of its own type.",
    )


def find_name(spec: LookupSpec, what: str, name: str, known: Iterable[str]) -> str:
    """Returns the name as the database spells it; an exact match, or one that differs in case."""
    known = sorted(known)
    if name in known:
        return name
    alike = [each for each in known if same(each, name)]
    if len(alike) > 1:
        raise RunError(
            "MS-LOOKUP-TABLE",
            f"table {spec.table}: {what} {name} is ambiguous: {' or '.join(alike)}.",
            fix="Write the name in the letter case of the database.",
        )
    if not alike:
        raise not_found(spec, what, name, known)
    return alike[0]
