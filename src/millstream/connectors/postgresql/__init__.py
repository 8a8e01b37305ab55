"""PostgreSQL. Needs psycopg, so it is imported only where a table is in PostgreSQL."""
