"""Tables of any database that SQLAlchemy supports, such as MySQL, Oracle and SQL Server."""
