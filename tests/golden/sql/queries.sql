-- EMIT CHANGES
SELECT a FROM s EMIT CHANGES
--> query
-->   select a
-->   from s
-->   emit changes

-- EMIT FINAL before properties
SELECT a FROM s EMIT FINAL WITH ('late.policy' = 'drop')
--> query
-->   select a
-->   from s
-->   emit final
-->   with late.policy = drop

-- properties before EMIT
SELECT a FROM s WITH ('late.policy' = 'drop', 'state.ttl' = '1d') EMIT CHANGES
--> query
-->   select a
-->   from s
-->   emit changes
-->   with late.policy = drop
-->   with state.ttl = 1d

-- emit as the name of a column
SELECT emit, within FROM s WHERE emit = 1
--> query
-->   select emit, within
-->   from s
-->   WHERE emit = 1

-- emit as a quoted alias
SELECT a FROM s `emit` EMIT CHANGES
--> query
-->   select a
-->   from s as emit
-->   emit changes

-- properties after every other clause
SELECT k, count(*) FROM s WHERE a > 1 GROUP BY k HAVING count(*) > 2 ORDER BY k LIMIT 5 EMIT CHANGES WITH ('engine' = 'native')
--> query
-->   select k, count(*)
-->   from s
-->   WHERE a > 1
-->   GROUP BY k
-->   HAVING count(*) > 2
-->   ORDER BY k
-->   LIMIT 5
-->   emit changes
-->   with engine = native

-- DISTINCT ON
SELECT DISTINCT ON (k) k, v FROM s
--> query
-->   select distinct on (k) k, v
-->   from s

-- UNION
SELECT a FROM s UNION ALL SELECT b FROM t
--> query
-->   union
-->     select a
-->     from s
-->     select b
-->     from t

-- a query in FROM keeps its own clauses
SELECT * FROM (SELECT k FROM s EMIT CHANGES WITH ('engine' = 'native')) x EMIT FINAL
--> query
-->   select *
-->   from query as x
-->     select k
-->     from s
-->     emit changes
-->     with engine = native
-->   emit final

-- WITH before and after
WITH x AS (SELECT k FROM s WITH ('state.ttl' = '1d')) SELECT k FROM x WITH ('engine' = 'native')
--> query
-->   with x as
-->     select k
-->     from s
-->     with state.ttl = 1d
-->   select k
-->   from x
-->   with engine = native

-- comments and line breaks inside an expression
SELECT a -- the first
       + /* and */ b AS c FROM s
--> query
-->   select a + b AS c
-->   from s

-- EMIT of something else
SELECT a FROM s EMIT SOMETIMES
--> MS-SQL-PARSE at line 1, column 22: unexpected "SOMETIMES", expected CHANGES or FINAL after EMIT.

-- EMIT twice
SELECT a FROM s EMIT CHANGES EMIT FINAL
--> MS-SQL-PARSE at line 1, column 30: unexpected "EMIT": EMIT is specified twice.

-- a parenthesis not closed
SELECT a FROM s
WHERE (a = 1
--> MS-SQL-PARSE at line 2, column 13: unexpected end of the text, expected ).

-- a string not closed
SELECT a FROM s
WHERE a = 'x
--> MS-SQL-PARSE at line 2, column 11: a string, a quoted name or a comment is not closed. Close the one that starts here.

-- a comment not closed
SELECT a /* FROM s
--> MS-SQL-PARSE at line 1, column 10: a string, a quoted name or a comment is not closed. Close the one that starts here.

-- a word too many
SELECT a b c FROM s
--> MS-SQL-PARSE at line 1, column 12: unexpected "c".

-- a missing table
SELECT a FROM
--> MS-SQL-PARSE at line 1, column 14: unexpected end of the text, expected the name of a table.

-- a missing condition
SELECT a FROM s WHERE
--> MS-SQL-PARSE at line 1, column 22: unexpected end of the text.

-- a property without a value
SELECT a FROM s WITH ('engine')
--> MS-SQL-PARSE at line 1, column 31: unexpected ")", expected =.

-- only DISTINCT
SELECT DISTINCT k, v FROM s
--> query
-->   select distinct k, v
-->   from s
