-- ORDER BY
SELECT * FROM orders ORDER BY total
--> MS-PLAN-ORDER at line 1, column 22: the rows of a stream have no end, so they cannot be sorted. Add LIMIT. For the first rows of each key or window, write SELECT … FROM (SELECT *, row_number() OVER (PARTITION BY … ORDER BY …) AS n FROM …) WHERE n <= 3.

-- LIMIT
SELECT * FROM orders LIMIT 5
--> MS-PLAN-ORDER at line 1, column 22: LIMIT without ORDER BY selects any rows. Add ORDER BY. For the first rows of each key or window, write SELECT … FROM (SELECT *, row_number() OVER (PARTITION BY … ORDER BY …) AS n FROM …) WHERE n <= 3.

-- UNION
SELECT order_id FROM orders UNION SELECT order_id FROM shipments
--> MS-PLAN-UNION at line 1, column 42: UNION removes duplicates, which needs every row in state. Write UNION ALL, and SELECT DISTINCT over it if duplicates must be removed.

-- LATERAL VIEW
SELECT id, x FROM events LATERAL VIEW explode(xs) y AS x
--> MS-PLAN-NOT-YET at line 1, column 39: LATERAL VIEW cannot be run yet. Write explode(…) in the select list: SELECT id, explode(items) AS item FROM …

-- TABLESAMPLE
SELECT * FROM orders TABLESAMPLE (10 PERCENT)
--> MS-PLAN-NOT-YET at line 1, column 35: TABLESAMPLE cannot be run yet.

-- values in FROM
SELECT * FROM VALUES (1, 2) AS v(a, b)
--> MS-PLAN-NOT-YET at line 1, column 15: a FROM item that is neither a name nor a query cannot be run yet.

-- a table function in FROM
SELECT * FROM range(10) AS r
--> MS-PLAN-NOT-YET at line 1, column 15: a function in FROM cannot be run yet.

-- ROLLUP
SELECT customer_id, count(*) AS n FROM orders GROUP BY ROLLUP (customer_id)
--> MS-PLAN-NOT-YET at line 1, column 47: ROLLUP cannot be run yet.

-- a processing-time window for a join
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id WINDOW TUMBLING(INTERVAL 1 HOUR) ON PROCTIME()
--> MS-PLAN-NOT-YET at line 1, column 77: a join of processing-time windows cannot be run yet.

-- late rows of a window join cannot get another window
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id WINDOW TUMBLING(INTERVAL 1 HOUR) WITH ('late.policy' = 'reassign', 'late.budget' = '1m')
--> MS-PLAN-NOT-YET at line 1, column 116: 'late.policy' = 'reassign' of a window join cannot be run yet. Keep windows open for longer with 'window.lateness', or use side_output.

-- windows over a join of other windows
SELECT o.order_id FROM orders o WINDOW TUMBLING(INTERVAL 1 HOUR) JOIN shipments s WINDOW SLIDING(SIZE INTERVAL 1 HOUR, SLIDE INTERVAL 30 MINUTES) ON o.order_id = s.order_id JOIN events e WINDOW TUMBLING(INTERVAL 1 HOUR) ON e.s = s.carrier
--> MS-PLAN-NOT-YET at line 1, column 188: a window over a join of other windows cannot be run yet.
