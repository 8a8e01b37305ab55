-- a stream is a name for a query
CREATE STREAM matched AS SELECT a, b FROM s WHERE a > 1 EMIT CHANGES;
--> stream matched
-->   select a, b
-->   from s
-->   WHERE a > 1
-->   emit changes

-- a sink fed by its own query
CREATE SINK shipped WITH ('connector' = 'file', 'path' = 'out') AS SELECT a FROM s;
--> sink shipped
-->   with connector = file
-->   with path = out
-->   select a
-->   from s

-- a sink without a connector
CREATE SINK out AS SELECT a FROM s;
--> sink out
-->   select a
-->   from s

-- a sink for others to write to
CREATE SINK late WITH ('connector' = 'console');
--> sink late
-->   with connector = console

-- insert into a sink
INSERT INTO shipped SELECT a FROM s EMIT CHANGES;
--> insert into shipped
-->   select a
-->   from s
-->   emit changes

-- insert a query that begins with WITH
INSERT INTO shipped WITH x AS (SELECT a FROM s) SELECT a FROM x;
--> insert into shipped
-->   with x as
-->     select a
-->     from s
-->   select a
-->   from x

-- settings of the job
SET 'checkpoint' = '/data/check'; SET 'spark.sql.shuffle.partitions' = '8';
--> set checkpoint = /data/check
--> set spark.sql.shuffle.partitions = 8

-- only a query
SELECT a AS b, upper(c) FROM s
--> query
-->   select a AS b, upper(c)
-->   from s

-- a query in parentheses
CREATE SINK out AS (SELECT a FROM s) EMIT CHANGES;
--> sink out
-->   select a
-->   from s
-->   emit changes

-- several statements and empty ones
;; SET 'engine' = 'native'; ; SELECT a FROM s;
--> set engine = native
--> query
-->   select a
-->   from s

-- an unknown statement
DROP TABLE x;
--> MS-SQL-STATEMENT at line 1, column 1: no statement starts with "DROP". Write one of CREATE SOURCE, CREATE TABLE, CREATE STREAM, CREATE SINK, INSERT INTO, SET, SELECT.

-- SHOW
SHOW TABLES;
--> MS-SQL-STATEMENT at line 1, column 1: no statement starts with "SHOW". Write one of CREATE SOURCE, CREATE TABLE, CREATE STREAM, CREATE SINK, INSERT INTO, SET, SELECT.

-- CREATE VIEW
CREATE VIEW x AS SELECT a FROM s;
--> MS-SQL-STATEMENT at line 1, column 8: "VIEW" cannot be created. Write CREATE STREAM name AS SELECT …; other queries read it like a view.

-- CREATE without anything
CREATE;
--> MS-SQL-STATEMENT at line 1, column 1: CREATE needs the kind of object to create. Write CREATE SOURCE, TABLE, STREAM or SINK.

-- INSERT OVERWRITE
INSERT OVERWRITE shipped SELECT a FROM s;
--> MS-SQL-STATEMENT at line 1, column 1: INSERT needs INTO and the name of a sink. Write INSERT INTO sink SELECT …

-- SET of an unquoted name
SET checkpoint = '/data';
--> MS-SQL-PARSE at line 1, column 5: unexpected "checkpoint", expected a setting as SET 'name' = 'value'.

-- a stream without a query
CREATE STREAM matched;
--> MS-SQL-PARSE at line 1, column 22: unexpected end of the text, expected AS and a query.

-- a sink followed by a query without AS
CREATE SINK out SELECT a FROM s;
--> MS-SQL-PARSE at line 1, column 17: unexpected "SELECT", expected AS and a query.

-- a column list after INSERT INTO
INSERT INTO shipped (a) SELECT a FROM s;
--> MS-SQL-STATEMENT at line 1, column 21: INSERT INTO has no list of columns. Name the columns of the query with AS.

-- a keyword as the name of a sink
CREATE SINK having WITH ('connector' = 'console') AS SELECT a FROM s;
--> MS-SQL-PARSE at line 1, column 13: unexpected "having", expected the name of the sink. Put a name that is a keyword in backticks: `having`.

-- a keyword as the name of a column
CREATE SOURCE s (select STRING);
--> MS-SQL-PARSE at line 1, column 18: unexpected "select", expected a column. Put a name that is a keyword in backticks: `select`.

-- a keyword as the name of a table
SELECT a FROM where;
--> MS-SQL-PARSE at line 1, column 15: unexpected "where", expected the name of a table. Put a name that is a keyword in backticks: `where`.
