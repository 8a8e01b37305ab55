"""What can go wrong when a database is asked, as errors with a code. None shows a password.

`UnreachableError` is for the retries: asked again, the database may answer. All others are final,
also under 'lookup.on_error': they speak of the job, not of a row.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from millstream.connectors.lookup.spec import LookupSpec
from millstream.connectors.lookup.types import spark_name
from millstream.errors import RunError
from millstream.suggestions import nearest, same


class UnreachableError(Exception):
    """The database could not be asked this time."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def one_line(text: object) -> str:
    """What a driver says, as the end of a sentence of ours."""
    return " ".join(str(text).split()).rstrip(".?!")


def gave_up(spec: LookupSpec, tries: int, reason: str) -> RunError:
    return RunError(
        "MS-LOOKUP-FAILED",
        f"{gave_up_reason(spec, tries, reason)}.",
        fix="Check the database; 'lookup.retries' and 'lookup.timeout' let the job wait longer, "
        "'lookup.on_error' lets it go on without.",
    )


def gave_up_reason(spec: LookupSpec, tries: int, reason: str) -> str:
    tried = f"{tries} tries" if tries != 1 else "1 try"
    return f"table {spec.table} could not be asked, {tried} made: {reason}"


def cannot_connect(spec: LookupSpec, reason: str, fix: str) -> RunError:
    return RunError(
        "MS-LOOKUP-CONNECT",
        f"table {spec.table}: no connection to its database: {reason}.",
        fix=fix,
    )


def not_installed(spec: LookupSpec) -> RunError:
    return RunError(
        "MS-LOOKUP-DRIVER",
        f"table {spec.table} is in PostgreSQL, and psycopg is not installed.",
        fix="Add it: pip install 'millstream[postgresql]'.",
    )


def not_found(spec: LookupSpec, what: str, name: str, known: Iterable[str]) -> RunError:
    return RunError(
        "MS-LOOKUP-TABLE",
        f"table {spec.table}: the database has no {what} {name}.",
        fix=nearest(name, known)
        or "Check 'table': it names a schema, too, if that is not on the user's search path.",
    )


def not_allowed(spec: LookupSpec, reason: str) -> RunError:
    return RunError(
        "MS-LOOKUP-TABLE",
        f"table {spec.table} may not be read: {reason}.",
        fix=f"Give the job's user the right to it: GRANT SELECT ON {spec.name} TO …",
    )


def refused(spec: LookupSpec, reason: str) -> RunError:
    """A question that the database understood and will not answer, whenever it is asked."""
    return RunError(
        "MS-LOOKUP-TABLE",
        f"table {spec.table}: the database refuses the question: {reason}.",
        fix=f"Check {spec.name} in the database; if it is a view, its query.",
    )


def wrong_type(spec: LookupSpec, column: str, found: str, better: str) -> RunError:
    declared = spark_name(spec.schema.field(column).type)
    return RunError(
        "MS-LOOKUP-TYPE",
        f"column {column} of table {spec.table} is declared {declared}, but {found}.",
        fix=f"Write {better} in CREATE TABLE." if better else "",
    )


def wrong_value(spec: LookupSpec, column: str, kind: str, better: str) -> RunError:
    return wrong_type(spec, column, f"the database holds {kind}", better)


def wrong_key(spec: LookupSpec, column: str, declared: pa.DataType, database: str) -> RunError:
    return RunError(
        "MS-LOOKUP-TYPE",
        f"column {column} of table {spec.table} is {spark_name(declared)}, which {database} "
        "cannot be asked for as a key.",
        fix="Use a key of whole numbers, texts or dates.",
    )


def wrong_condition(spec: LookupSpec, column: str, value: object, found: str) -> RunError:
    kind = {bool: "a boolean", int: "a whole number"}.get(type(value), "a text")
    return RunError(
        "MS-LOOKUP-TYPE",
        f"column {column} of table {spec.table} is compared with {kind}, but {found}.",
        fix="Compare it with a value of its own type.",
    )


def find_name(spec: LookupSpec, what: str, name: str, known: Iterable[str]) -> str:
    """The name as the database spells it: exactly so, or the one that differs in case only."""
    known = sorted(known)
    if name in known:
        return name
    alike = [each for each in known if same(each, name)]
    if len(alike) > 1:
        raise RunError(
            "MS-LOOKUP-TABLE",
            f"table {spec.table}: {what} {name} may be {' or '.join(alike)}.",
            fix="Write it as the database does, in capital and small letters.",
        )
    if not alike:
        raise not_found(spec, what, name, known)
    return alike[0]
