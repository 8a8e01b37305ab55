"""The catalog in a database: SQLite or PostgreSQL, with SQLAlchemy.

This is the only part of Millstream that imports SQLAlchemy; it is imported when a catalog is
opened.
"""
