-- a tumbling window
SELECT k, count(*) FROM s WINDOW TUMBLING(INTERVAL '1' HOUR) GROUP BY k EMIT FINAL
--> query
-->   select k, count(*)
-->   from s
-->     window tumbling 1h
-->   GROUP BY k
-->   emit final

-- a sliding window of a join
SELECT * FROM a JOIN b ON a.k = b.k WINDOW SLIDING(SIZE INTERVAL '1' HOUR, SLIDE INTERVAL '5' MINUTE)
--> query
-->   select *
-->   from a
-->   join b
-->     on a.k = b.k
-->   window sliding SIZE 1h, SLIDE 5m

-- a session window of a join, then GROUP BY
SELECT a.k FROM a JOIN b ON a.k = b.k WINDOW SESSION(GAP INTERVAL 30 MINUTES) GROUP BY a.k EMIT FINAL
--> query
-->   select a.k
-->   from a
-->   join b
-->     on a.k = b.k
-->   GROUP BY a.k
-->   window session GAP 30m
-->   emit final

-- a window after GROUP BY
SELECT k FROM s GROUP BY k WINDOW TUMBLING(INTERVAL 1 HOUR)
--> query
-->   select k
-->   from s
-->   GROUP BY k
-->   window tumbling 1h

-- a window a side
SELECT * FROM a WINDOW TUMBLING(INTERVAL 1 HOUR) JOIN b y WINDOW SLIDING(SIZE INTERVAL 1 HOUR, SLIDE INTERVAL 1 MINUTE) ON a.k = y.k
--> query
-->   select *
-->   from a
-->     window tumbling 1h
-->   join b as y
-->     window sliding SIZE 1h, SLIDE 1m
-->     on a.k = y.k

-- a named window of Spark stays one
SELECT row_number() OVER w AS n FROM s WINDOW w AS (PARTITION BY k)
--> query
-->   select row_number() OVER w AS n
-->   from s

-- a window not closed
SELECT k FROM s WINDOW TUMBLING(INTERVAL '1' HOUR GROUP BY k
--> MS-SQL-PARSE at line 1, column 51: unexpected "GROUP BY", expected ).

-- an offset inside and after
SELECT k FROM s WINDOW SLIDING(SIZE INTERVAL 1 HOUR, SLIDE INTERVAL 5 MINUTES, OFFSET INTERVAL 1 MINUTE) GROUP BY k
--> query
-->   select k
-->   from s
-->     window sliding SIZE 1h, SLIDE 5m, OFFSET 1m
-->   GROUP BY k

-- an offset after
SELECT k FROM s WINDOW TUMBLING(INTERVAL 1 DAY) OFFSET INTERVAL 6 HOURS GROUP BY k LIMIT 5 OFFSET 3
--> query
-->   select k
-->   from s
-->     window tumbling 1d, OFFSET 6h
-->   GROUP BY k
-->   LIMIT 5

-- by processing time
SELECT k FROM s x WINDOW TUMBLING(INTERVAL 10 SECONDS) ON PROCTIME() GROUP BY k EMIT FINAL
--> query
-->   select k
-->   from s as x
-->     window tumbling 10s on processing time
-->   GROUP BY k
-->   emit final

-- by processing time, on a side of a join
SELECT * FROM a JOIN b WINDOW TUMBLING(INTERVAL 10 SECONDS) ON PROCTIME() ON a.k = b.k
--> query
-->   select *
-->   from a
-->   join b
-->     window tumbling 10s on processing time
-->     on a.k = b.k

-- QUALIFY and a named window
SELECT k FROM s WINDOW w AS (PARTITION BY k ORDER BY t) QUALIFY row_number() OVER w <= 3 WITH ('state.ttl' = '1d')
--> query
-->   select k
-->   from s
-->   QUALIFY row_number() OVER w <= 3
-->   with state.ttl = 1d

-- a window of another name
SELECT k FROM s WINDOW HOPPING(INTERVAL 1 HOUR) GROUP BY k
--> MS-SQL-STATEMENT at line 1, column 24: there are no HOPPING windows. Write WINDOW SLIDING(SIZE INTERVAL '1' HOUR, SLIDE INTERVAL '10' MINUTE).
