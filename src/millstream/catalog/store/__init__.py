"""The catalog in a database: SQLite or PostgreSQL, with SQLAlchemy.

This is the only part of Millstream that imports SQLAlchemy; it is imported when a catalog is
opened.
"""

from importlib.util import find_spec

from millstream.errors import CatalogError

for _package in ("sqlalchemy", "alembic"):
    if find_spec(_package) is None:
        raise CatalogError(
            "MS-CATALOG-DRIVER",
            f"a catalog needs the package {_package}, which is not installed.",
            fix="Run pip install 'millstream[catalog]'.",
        )
