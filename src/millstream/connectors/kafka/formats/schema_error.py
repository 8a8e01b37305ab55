"""The error of a schema, before it is known which source or sink it belongs to."""

from __future__ import annotations


class SchemaError(ValueError):
    """A schema is not valid, or does not fit the columns. Its text follows "the schema …: "."""
