-- GROUP BY
SELECT customer_id FROM orders GROUP BY customer_id
--> MS-PLAN-NOT-YET at line 1, column 32: GROUP BY cannot be run yet.

-- an aggregate
SELECT sum(total) FROM orders
--> MS-PLAN-NOT-YET at line 1, column 8: the aggregate sum cannot be run yet.

-- an aggregate that sqlglot does not know
SELECT try_sum(total) AS s FROM orders
--> MS-PLAN-NOT-YET at line 1, column 8: the aggregate try_sum cannot be run yet.

-- an aggregate inside an expression
SELECT 1 + max_by(order_id, total) AS x FROM orders
--> MS-PLAN-NOT-YET at line 1, column 12: the aggregate max_by cannot be run yet.

-- DISTINCT
SELECT DISTINCT customer_id FROM orders
--> MS-PLAN-NOT-YET at line 1, column 1: DISTINCT cannot be run yet.

-- DISTINCT ON
SELECT DISTINCT ON (customer_id) customer_id FROM orders
--> MS-PLAN-NOT-YET at line 1, column 21: DISTINCT cannot be run yet.

-- ORDER BY
SELECT * FROM orders ORDER BY total
--> MS-PLAN-NOT-YET at line 1, column 22: ORDER BY cannot be run yet.

-- LIMIT
SELECT * FROM orders LIMIT 5
--> MS-PLAN-NOT-YET at line 1, column 22: LIMIT cannot be run yet.

-- UNION
SELECT order_id FROM orders UNION ALL SELECT order_id FROM shipments
--> MS-PLAN-NOT-YET at line 1, column 1: UNION cannot be run yet.

-- a window
SELECT customer_id FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR)
--> MS-PLAN-NOT-YET at line 1, column 32: WINDOW TUMBLING cannot be run yet.

-- a window join
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id WINDOW SESSION(GAP INTERVAL 1 HOUR)
--> MS-PLAN-NOT-YET at line 1, column 77: WINDOW SESSION cannot be run yet.

-- a window function
SELECT row_number() OVER (PARTITION BY customer_id ORDER BY event_time) AS n FROM orders
--> MS-PLAN-NOT-YET at line 1, column 8: a window function (OVER) cannot be run yet.

-- a temporal join
SELECT * FROM orders o JOIN shipments FOR SYSTEM_TIME AS OF o.event_time AS s ON o.order_id = s.order_id
--> MS-PLAN-NOT-YET at line 1, column 29: a temporal join (AS OF) cannot be run yet.

-- a lookup join
SELECT * FROM orders o JOIN shipments FOR SYSTEM_TIME AS OF PROCTIME() AS s ON o.order_id = s.order_id
--> MS-PLAN-NOT-YET at line 1, column 29: a lookup join (AS OF PROCTIME()) cannot be run yet.

-- a scalar subquery
SELECT (SELECT max(total) FROM orders) AS m FROM orders
--> MS-PLAN-NOT-YET at line 1, column 8: a subquery inside an expression cannot be run yet.

-- a subquery in a filter
SELECT * FROM orders WHERE order_id IN (SELECT order_id FROM shipments)
--> MS-PLAN-NOT-YET at line 1, column 48: a subquery inside an expression cannot be run yet.

-- three streams
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id JOIN clicks c ON c.user_id = o.customer_id
--> MS-PLAN-NOT-YET at line 1, column 77: a join of more than two streams cannot be run yet.

-- a join over a joined view
WITH j AS (SELECT o.order_id, o.event_time FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id)
SELECT j.order_id FROM j JOIN shipments s WITHIN 5 MINUTES ON j.order_id = s.order_id
--> MS-PLAN-NOT-YET at line 2, column 24: a join of more than two streams cannot be run yet.

-- another system column
SELECT _offset FROM orders
--> MS-PLAN-NOT-YET at line 1, column 8: the system column _offset cannot be run yet.

-- a star without some columns
SELECT * EXCEPT (total) FROM orders
--> MS-PLAN-NOT-YET at line 1, column 8: * EXCEPT cannot be run yet.

-- LATERAL VIEW
SELECT id, x FROM events LATERAL VIEW explode(xs) y AS x
--> MS-PLAN-NOT-YET at line 1, column 39: LATERAL VIEW cannot be run yet.

-- TABLESAMPLE
SELECT * FROM orders TABLESAMPLE (10 PERCENT)
--> MS-PLAN-NOT-YET at line 1, column 35: TABLESAMPLE cannot be run yet.

-- values in FROM
SELECT * FROM VALUES (1, 2) AS v(a, b)
--> MS-PLAN-NOT-YET at line 1, column 15: a FROM item that is neither a name nor a query cannot be run yet.

-- a table function in FROM
SELECT * FROM range(10) AS r
--> MS-PLAN-NOT-YET at line 1, column 15: a function in FROM cannot be run yet.

-- EMIT FINAL without a window
SELECT order_id FROM orders EMIT FINAL
--> MS-PLAN-EMIT-FINAL at line 1, column 29: EMIT FINAL waits for a window to close, and this query has no window. Write EMIT CHANGES, or leave EMIT out.

-- a join of another type
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id WITH ('join.type' = 'window')
--> MS-PLAN-NOT-YET at line 1, column 97: a window join cannot be run yet.

-- reassigned late rows
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id WITH ('late.policy' = 'reassign')
--> MS-PLAN-NOT-YET at line 1, column 100: 'late.policy' = 'reassign' cannot be run yet.

-- a time to live
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id WITH ('state.ttl' = '1d')
--> MS-PLAN-NOT-YET at line 1, column 83: 'state.ttl' = '1d' cannot be run yet.

-- retractions
SELECT order_id FROM orders WITH ('output.mode' = 'retract')
--> MS-PLAN-NOT-YET at line 1, column 35: 'output.mode' = 'retract' cannot be run yet.
