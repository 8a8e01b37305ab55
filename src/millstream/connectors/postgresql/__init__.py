"""The PostgreSQL connector. Modules other than `spec` and `lookup` import psycopg."""
