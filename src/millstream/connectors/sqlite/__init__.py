"""SQLite, for small tables beside a job and for trying lookups without a server."""
