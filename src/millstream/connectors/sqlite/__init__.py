"""The SQLite connector, for small tables and for trying lookups without a server."""
