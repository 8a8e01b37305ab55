-- intervals without INTERVAL
SELECT customer_id, count(*) AS n FROM orders WINDOW SLIDING(SIZE 1 HOUR, SLIDE 10 MINUTES) GROUP BY customer_id
--> select
-->   k0 AS customer_id : STRING
-->   a0 AS n : BIGINT
-->   aggregate, windows of 1h every 10m, emit final
-->     key orders.customer_id AS k0 : STRING
-->     call count(*) AS a0 : BIGINT
-->     input orders, time event_time, used none

-- hopping windows
SELECT count(*) AS n FROM orders WINDOW HOPPING (SIZE 1 HOUR, ADVANCE BY 10 MINUTES)
--> MS-SQL-STATEMENT at line 1, column 41: there are no HOPPING windows. Write WINDOW SLIDING(SIZE INTERVAL '1' HOUR, SLIDE INTERVAL '10' MINUTE).

-- a window that does not exist
SELECT count(*) AS n FROM orders WINDOW ROLLING (SIZE 1 HOUR)
--> MS-SQL-PARSE at line 1, column 41: unexpected "ROLLING", expected TUMBLING, SLIDING or SESSION.

-- GRACE PERIOD
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES GRACE PERIOD 1 HOUR ON o.order_id = s.order_id
--> MS-SQL-STATEMENT at line 1, column 67: a join has no GRACE PERIOD. Declare how late rows may be in the sources: WATERMARK FOR ts AS ts - INTERVAL 1 HOUR.

-- EMIT ON WINDOW CLOSE
SELECT count(*) AS n FROM orders WINDOW TUMBLING(1 HOUR) EMIT ON WINDOW CLOSE
--> MS-SQL-STATEMENT at line 1, column 63: unexpected "ON" after EMIT. Write EMIT FINAL for results of closed windows, or EMIT CHANGES for every change.

-- columns of a window without underscores
SELECT window_start, count(*) AS n FROM orders WINDOW TUMBLING(1 HOUR)
--> MS-PLAN-UNKNOWN-COLUMN at line 1, column 8: orders has no column window_start. Did you mean _WINDOW_START?

-- functions that are columns
SELECT order_id, PROCTIME() AS p FROM orders
--> MS-PLAN-FUNCTION at line 1, column 18: Spark has no function PROCTIME. Write _PROCESSING_TIME.

-- functions of windows
SELECT TUMBLE_START(event_time, INTERVAL '1' HOUR), count(*) AS n FROM orders WINDOW TUMBLING(1 HOUR)
--> MS-PLAN-FUNCTION at line 1, column 8: Spark has no function TUMBLE_START. Write _WINDOW_START.

-- LATERAL VIEW
SELECT id, x FROM events LATERAL VIEW explode(xs) y AS x
--> MS-PLAN-NOT-YET at line 1, column 39: LATERAL VIEW cannot be run yet. Write explode(…) in the select list: SELECT id, explode(items) AS item FROM …

-- UNNEST
SELECT id, x FROM events CROSS JOIN UNNEST(xs) AS u(x)
--> MS-PLAN-NOT-YET at line 1, column 37: a FROM item that is neither a name nor a query cannot be run yet. Write explode(…) in the select list: SELECT id, explode(items) AS item FROM …

-- FETCH FIRST
SELECT order_id FROM orders WINDOW TUMBLING(1 HOUR) ORDER BY total FETCH FIRST 2 ROWS ONLY
--> select
-->   order_id AS order_id : STRING
-->   first 2, emit final, due ordered._window_end
-->     partition ordered._window_end
-->     order ordered._order_0 ASC
-->     input ordered, time _order_time - 5s, used order_id
-->       select over orders
-->         orders.order_id AS order_id : STRING
-->         orders.total AS _order_0 : DOUBLE
-->         orders._window_start AS _window_start : TIMESTAMP  <- window
-->         orders._window_end AS _window_end : TIMESTAMP  <- window
-->         orders.event_time AS _order_time : TIMESTAMP  <- event time
-->         select over orders
-->           orders.order_id AS order_id : STRING
-->           orders.total AS total : DOUBLE
-->           orders.event_time AS event_time : TIMESTAMP  <- event time
-->           timestamp_micros(unix_micros(orders.event_time) - pmod(unix_micros(orders.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->           timestamp_micros(unix_micros(orders.event_time) - pmod(unix_micros(orders.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->           source orders

-- ORDER BY ALL
SELECT order_id FROM orders WINDOW TUMBLING(1 HOUR) ORDER BY ALL LIMIT 2
--> MS-PLAN-ORDER at line 1, column 53: ORDER BY ALL is not supported. List the columns.

-- ROWS of a window with numbers
SELECT count(*) AS n FROM orders WINDOW TUMBLING(10)
--> MS-PLAN-WINDOW at line 1, column 50: the size of the window has no fixed length. Use weeks, days, hours, minutes, seconds or milliseconds, written as a constant.
