-- the first groups of each window
SELECT customer_id, count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id ORDER BY n DESC, customer_id LIMIT 3
--> select
-->   customer_id AS customer_id : STRING
-->   n AS n : BIGINT
-->   first 3, emit final, due timestamp_micros(unix_micros(ordered._window_time) + 1)
-->     partition timestamp_micros(unix_micros(ordered._window_time) + 1)
-->     order ordered.n DESC, ordered.customer_id ASC
-->     input ordered, time _window_time, used customer_id, n
-->       select
-->         k0 AS customer_id : STRING
-->         a0 AS n : BIGINT
-->         _window_time AS _window_time : TIMESTAMP  <- event time
-->         aggregate, tumbling windows of 1h, emit final
-->           key orders.customer_id AS k0 : STRING
-->           call count(*) AS a0 : BIGINT
-->           input orders, time event_time, used none

-- by an aggregate that is not selected, with the window
SELECT customer_id, _window_start, _window_end FROM orders WINDOW SLIDING(SIZE INTERVAL 1 HOUR, SLIDE INTERVAL 30 MINUTES) GROUP BY customer_id HAVING count(*) > 1 ORDER BY sum(total) DESC NULLS LAST LIMIT 3
--> select
-->   customer_id AS customer_id : STRING
-->   _window_start AS _window_start : TIMESTAMP  <- window
-->   _window_end AS _window_end : TIMESTAMP  <- window
-->   first 3, emit final, due ordered._window_end
-->     partition ordered._window_end
-->     order ordered._order_0 DESC
-->     input ordered, time _window_time, used customer_id, _window_start, _window_end
-->       select
-->         k0 AS customer_id : STRING
-->         _window_start AS _window_start : TIMESTAMP  <- window
-->         _window_end AS _window_end : TIMESTAMP  <- window
-->         a0 AS _order_0 : DOUBLE
-->         _window_time AS _window_time : TIMESTAMP  <- event time
-->         where a1 > 1
-->         aggregate, windows of 1h every 30m, emit final
-->           key orders.customer_id AS k0 : STRING
-->           call sum(orders.total) AS a0 : DOUBLE
-->           call count(*) AS a1 : BIGINT
-->           input orders, time event_time, used none

-- with the time of the window
SELECT customer_id, count(*) AS n, _window_time AS t FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id ORDER BY 2 LIMIT 1
--> select
-->   customer_id AS customer_id : STRING
-->   n AS n : BIGINT
-->   t AS t : TIMESTAMP  <- event time
-->   first 1, emit final, due timestamp_micros(unix_micros(ordered.t) + 1)
-->     partition timestamp_micros(unix_micros(ordered.t) + 1)
-->     order ordered.n ASC
-->     input ordered, time t, used customer_id, n, t
-->       select
-->         k0 AS customer_id : STRING
-->         a0 AS n : BIGINT
-->         _window_time AS t : TIMESTAMP  <- event time
-->         aggregate, tumbling windows of 1h, emit final
-->           key orders.customer_id AS k0 : STRING
-->           call count(*) AS a0 : BIGINT
-->           input orders, time event_time, used none

-- rows of each window
SELECT order_id, total FROM orders WHERE total > 1 WINDOW TUMBLING(INTERVAL 1 HOUR) ORDER BY total DESC LIMIT 2
--> select
-->   order_id AS order_id : STRING
-->   total AS total : DOUBLE
-->   first 2, emit final, due ordered._window_end
-->     partition ordered._window_end
-->     order ordered.total DESC
-->     input ordered, time _order_time - 5s, used order_id, total
-->       select over orders
-->         orders.order_id AS order_id : STRING
-->         orders.total AS total : DOUBLE
-->         orders._window_start AS _window_start : TIMESTAMP  <- window
-->         orders._window_end AS _window_end : TIMESTAMP  <- window
-->         orders.event_time AS _order_time : TIMESTAMP  <- event time
-->         where orders.total > 1
-->         select over orders
-->           orders.order_id AS order_id : STRING
-->           orders.total AS total : DOUBLE
-->           orders.event_time AS event_time : TIMESTAMP  <- event time
-->           timestamp_micros(unix_micros(orders.event_time) - pmod(unix_micros(orders.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->           timestamp_micros(unix_micros(orders.event_time) - pmod(unix_micros(orders.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->           source orders

-- the result of another query
SELECT * FROM (SELECT customer_id, _window_start, _window_end, sum(total) AS total FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id) ORDER BY total - 1 LIMIT 5
--> select
-->   customer_id AS customer_id : STRING
-->   _window_start AS _window_start : TIMESTAMP  <- window
-->   _window_end AS _window_end : TIMESTAMP  <- window
-->   total AS total : DOUBLE
-->   first 5, emit final, due ordered._window_end
-->     partition ordered._window_end
-->     order ordered.total - 1 ASC
-->     input ordered, time _window_time, used customer_id, _window_start, _window_end, total
-->       select over _query
-->         _query.customer_id AS customer_id : STRING
-->         _query._window_start AS _window_start : TIMESTAMP  <- window
-->         _query._window_end AS _window_end : TIMESTAMP  <- window
-->         _query.total AS total : DOUBLE
-->         _query._window_time AS _window_time : TIMESTAMP  <- event time
-->         select
-->           k0 AS customer_id : STRING
-->           _window_start AS _window_start : TIMESTAMP  <- window
-->           _window_end AS _window_end : TIMESTAMP  <- window
-->           a0 AS total : DOUBLE
-->           _window_time AS _window_time : TIMESTAMP  <- event time
-->           aggregate, tumbling windows of 1h, emit final
-->             key orders.customer_id AS k0 : STRING
-->             call sum(orders.total) AS a0 : DOUBLE
-->             input orders, time event_time, used none

-- fewer columns than the other query
SELECT customer_id FROM (SELECT customer_id, sum(total) AS s FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id) a ORDER BY a.s LIMIT 5
--> select
-->   customer_id AS customer_id : STRING
-->   first 5, emit final, due timestamp_micros(unix_micros(ordered._window_time) + 1)
-->     partition timestamp_micros(unix_micros(ordered._window_time) + 1)
-->     order ordered._order_0 ASC
-->     input ordered, time _window_time, used customer_id
-->       select over a
-->         a.customer_id AS customer_id : STRING
-->         a.s AS _order_0 : DOUBLE
-->         a._window_time AS _window_time : TIMESTAMP  <- event time
-->         select
-->           k0 AS customer_id : STRING
-->           a0 AS s : DOUBLE
-->           _window_time AS _window_time : TIMESTAMP  <- event time
-->           aggregate, tumbling windows of 1h, emit final
-->             key orders.customer_id AS k0 : STRING
-->             call sum(orders.total) AS a0 : DOUBLE
-->             input orders, time event_time, used none

-- pairs of a window join
SELECT o.order_id, o.total FROM orders o JOIN shipments s ON o.order_id = s.order_id WINDOW TUMBLING(INTERVAL 1 HOUR) ORDER BY o.total DESC LIMIT 2
--> select
-->   order_id AS order_id : STRING
-->   total AS total : DOUBLE
-->   first 2, emit final, due timestamp_micros(unix_micros(ordered._window_time) + 1)
-->     partition timestamp_micros(unix_micros(ordered._window_time) + 1)
-->     order ordered._order_0 DESC
-->     input ordered, time _window_time, used order_id, total
-->       select
-->         o.order_id AS order_id : STRING
-->         o.total AS total : DOUBLE
-->         o.total AS _order_0 : DOUBLE
-->         o._window_time AS _window_time : TIMESTAMP  <- event time
-->         inner join [0s, 0s] of tumbling windows of 1h and tumbling windows of 1h
-->           key o.order_id = s.order_id
-->           key o._window_start = s._window_start
-->           left o, time _window_time moved by event_time - 5s, used order_id, total, _window_time
-->             select over o
-->               o.order_id AS order_id : STRING
-->               o.total AS total : DOUBLE
-->               o.event_time AS event_time : TIMESTAMP  <- event time
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->               source orders
-->           right s, time _window_time moved by event_time - 10s, used _window_time
-->             select over s
-->               s.order_id AS order_id : STRING
-->               s.event_time AS event_time : TIMESTAMP  <- event time
-->               timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->               source shipments

-- results that change after the window
SELECT customer_id, count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id ORDER BY n LIMIT 1 WITH ('window.lateness' = '10m')
--> select
-->   customer_id AS customer_id : STRING
-->   n AS n : BIGINT
-->   first 1, emit final, due timestamp_micros(unix_micros(ordered._window_time) + 1)
-->     partition timestamp_micros(unix_micros(ordered._window_time) + 1)
-->     order ordered.n ASC
-->     over changes
-->     input ordered, time _window_time - 10m, used customer_id, n
-->       select
-->         k0 AS customer_id : STRING
-->         a0 AS n : BIGINT
-->         _window_time AS _window_time : TIMESTAMP  <- event time
-->         aggregate, tumbling windows of 1h, emit final
-->           key orders.customer_id AS k0 : STRING
-->           call count(*) AS a0 : BIGINT
-->           lateness 10m
-->           input orders, time event_time, used none

-- distinct rows
SELECT DISTINCT customer_id, _window_start, _window_end FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) ORDER BY customer_id LIMIT 1 WITH ('state.ttl' = '1d')
--> MS-PLAN-ORDER at line 1, column 111: ORDER BY … LIMIT selects the first rows of each window when it closes, and this query has no window of event time. Add WINDOW TUMBLING(INTERVAL '1' HOUR). For the first rows of each key or window, write SELECT … FROM (SELECT *, row_number() OVER (PARTITION BY … ORDER BY …) AS n FROM …) WHERE n <= 3.

-- an order of distinct rows by another column
SELECT DISTINCT customer_id, _window_start, _window_end FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) ORDER BY total LIMIT 1 WITH ('state.ttl' = '1d')
--> MS-PLAN-ORDER at line 1, column 111: ORDER BY of SELECT DISTINCT has an expression that is not selected. Select it, or order by selected columns.

-- no window
SELECT * FROM orders ORDER BY total LIMIT 3
--> MS-PLAN-ORDER at line 1, column 31: ORDER BY … LIMIT selects the first rows of each window when it closes, and this query has no window of event time. Add WINDOW TUMBLING(INTERVAL '1' HOUR). For the first rows of each key or window, write SELECT … FROM (SELECT *, row_number() OVER (PARTITION BY … ORDER BY …) AS n FROM …) WHERE n <= 3.

-- no window of event time
SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id ORDER BY n LIMIT 3 WITH ('state.ttl' = '1d')
--> MS-PLAN-ORDER at line 1, column 77: ORDER BY … LIMIT selects the first rows of each window when it closes, and this query has no window of event time. Add WINDOW TUMBLING(INTERVAL '1' HOUR). For the first rows of each key or window, write SELECT … FROM (SELECT *, row_number() OVER (PARTITION BY … ORDER BY …) AS n FROM …) WHERE n <= 3.

-- sessions
SELECT customer_id, count(*) AS n FROM orders WINDOW SESSION(INTERVAL 1 HOUR) GROUP BY customer_id ORDER BY n LIMIT 3
--> MS-PLAN-ORDER at line 1, column 109: the session windows of each key are its own, so there are no rows to order. Use a TUMBLING or SLIDING window. For the first rows of each key or window, write SELECT … FROM (SELECT *, row_number() OVER (PARTITION BY … ORDER BY …) AS n FROM …) WHERE n <= 3.

-- no limit
SELECT * FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) ORDER BY total
--> MS-PLAN-ORDER at line 1, column 55: the rows of a stream have no end, so they cannot be sorted. Add LIMIT. For the first rows of each key or window, write SELECT … FROM (SELECT *, row_number() OVER (PARTITION BY … ORDER BY …) AS n FROM …) WHERE n <= 3.

-- no order
SELECT * FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) LIMIT 3
--> MS-PLAN-ORDER at line 1, column 55: LIMIT without ORDER BY selects any rows. Add ORDER BY. For the first rows of each key or window, write SELECT … FROM (SELECT *, row_number() OVER (PARTITION BY … ORDER BY …) AS n FROM …) WHERE n <= 3.

-- a limit that is no number
SELECT * FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) ORDER BY total LIMIT 0
--> MS-PLAN-ORDER at line 1, column 70: LIMIT is not a number of rows. Write a whole number from 1 to 1,000,000.

-- a limit that is an expression
SELECT * FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) ORDER BY total LIMIT 1 + 1
--> MS-PLAN-ORDER at line 1, column 70: LIMIT is not a number of rows. Write a whole number from 1 to 1,000,000.

-- a column by a wrong number
SELECT order_id FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) ORDER BY 2 LIMIT 1
--> MS-PLAN-ORDER at line 1, column 71: ORDER BY 2 is not the number of a column. Write a number from 1 to 1, or an expression.

-- an unknown column
SELECT order_id FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) ORDER BY totall LIMIT 1
--> MS-PLAN-UNKNOWN-COLUMN at line 1, column 71: orders has no column totall. Did you mean total?

-- changes before the window closes
SELECT customer_id, count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id ORDER BY n LIMIT 3 EMIT CHANGES
--> MS-PLAN-ORDER at line 1, column 120: ORDER BY … LIMIT emits rows when their window closes, EMIT CHANGES before. Remove EMIT CHANGES. For the first rows of each key or window, write SELECT … FROM (SELECT *, row_number() OVER (PARTITION BY … ORDER BY …) AS n FROM …) WHERE n <= 3.

-- rows to skip
SELECT order_id FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) ORDER BY total LIMIT 1 OFFSET 2
--> MS-PLAN-NOT-YET at line 1, column 85: OFFSET cannot be run yet.

-- properties of the query without ORDER BY, limits also of the first rows
SELECT customer_id, count(*) AS n FROM orders WINDOW TUMBLING(1 HOUR) GROUP BY customer_id ORDER BY n LIMIT 1 WITH ('late.policy' = 'side_output', 'state.max_rows' = '10')
--> select
-->   customer_id AS customer_id : STRING
-->   n AS n : BIGINT
-->   first 1, emit final, due timestamp_micros(unix_micros(ordered._window_time) + 1)
-->     partition timestamp_micros(unix_micros(ordered._window_time) + 1)
-->     order ordered.n ASC
-->     limit 10 rows, then the job stops
-->     input ordered, time _window_time, used customer_id, n
-->       select
-->         k0 AS customer_id : STRING
-->         a0 AS n : BIGINT
-->         _window_time AS _window_time : TIMESTAMP  <- event time
-->         aggregate, tumbling windows of 1h, emit final
-->           key orders.customer_id AS k0 : STRING
-->           call count(*) AS a0 : BIGINT
-->           late side_output: late rows go to the output late
-->           limit 10 rows, then the job stops
-->           input orders, time event_time, used order_id, customer_id, total, event_time

-- properties of the first rows
SELECT order_id FROM orders WINDOW TUMBLING(1 HOUR) ORDER BY total LIMIT 1 WITH ('late.policy' = 'side_output', 'state.max_rows' = '10')
--> select
-->   order_id AS order_id : STRING
-->   first 1, emit final, due ordered._window_end
-->     partition ordered._window_end
-->     order ordered._order_0 ASC
-->     late side_output: late rows go to the output late
-->     limit 10 rows, then the job stops
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

-- properties that first rows do not use
SELECT order_id FROM orders WINDOW TUMBLING(1 HOUR) ORDER BY total LIMIT 1 WITH ('state.ttl' = '1h')
--> MS-PROP-UNUSED at line 1, column 82: a Top-N of a window does not use 'state.ttl': its windows expire when they close. Remove it.

-- rows with columns of a table
SELECT o.order_id, c.region FROM orders o JOIN customers c ON c.id = o.customer_id WINDOW TUMBLING(1 HOUR) ORDER BY c.tier, o.total DESC LIMIT 2
--> select
-->   order_id AS order_id : STRING
-->   region AS region : STRING
-->   first 2, emit final, due ordered._window_end
-->     partition ordered._window_end
-->     order ordered._order_0 ASC, ordered._order_1 DESC
-->     input ordered, time _order_time - 5s, used order_id, region
-->       select
-->         o.order_id AS order_id : STRING
-->         c.region AS region : STRING
-->         c.tier AS _order_0 : INT
-->         o.total AS _order_1 : DOUBLE
-->         o._window_start AS _window_start : TIMESTAMP  <- window
-->         o._window_end AS _window_end : TIMESTAMP  <- window
-->         o.event_time AS _order_time : TIMESTAMP  <- event time
-->         inner lookup join with customers c
-->           key o.customer_id = id
-->           used region, tier
-->           left o, time event_time - 5s, used order_id, total, _window_start, _window_end, event_time
-->             select over o
-->               o.order_id AS order_id : STRING
-->               o.customer_id AS customer_id : STRING
-->               o.total AS total : DOUBLE
-->               o.event_time AS event_time : TIMESTAMP  <- event time
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->               source orders

-- all columns
SELECT order_id FROM orders WINDOW TUMBLING(1 HOUR) ORDER BY * LIMIT 2
--> MS-PLAN-ORDER at line 1, column 53: ORDER BY * is not supported. List the columns.
