-- a time column
SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id WINDOW TUMBLING (event_time, INTERVAL '1' HOUR)
--> select
-->   k0 AS customer_id : STRING
-->   a0 AS n : BIGINT
-->   aggregate, tumbling windows of 1h, emit final
-->     key orders.customer_id AS k0 : STRING
-->     call count(*) AS a0 : BIGINT
-->     input orders, time event_time, used none

-- a time column, before GROUP BY
SELECT customer_id, count(*) AS n FROM orders WINDOW SLIDING (orders.event_time, SIZE INTERVAL 1 HOUR, SLIDE INTERVAL 30 MINUTE) GROUP BY customer_id
--> select
-->   k0 AS customer_id : STRING
-->   a0 AS n : BIGINT
-->   aggregate, windows of 1h every 30m, emit final
-->     key orders.customer_id AS k0 : STRING
-->     call count(*) AS a0 : BIGINT
-->     input orders, time event_time, used none

-- a time column of a session
SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id WINDOW SESSION (_event_time, INTERVAL 1 HOUR)
--> select
-->   k0 AS customer_id : STRING
-->   a0 AS n : BIGINT
-->   aggregate, sessions with a gap of 1h, emit final
-->     key orders.customer_id AS k0 : STRING
-->     call count(*) AS a0 : BIGINT
-->     input orders, time event_time, used none

-- a time column without an aggregate
SELECT order_id, _window_start FROM orders WINDOW TUMBLING (event_time, INTERVAL 1 HOUR)
--> select over orders
-->   orders.order_id AS order_id : STRING
-->   orders._window_start AS _window_start : TIMESTAMP
-->   select over orders
-->     orders.order_id AS order_id : STRING
-->     orders.event_time AS event_time : TIMESTAMP  <- event time
-->     timestamp_micros(unix_micros(orders.event_time) - pmod(unix_micros(orders.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->     timestamp_micros(unix_micros(orders.event_time) - pmod(unix_micros(orders.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->     source orders

-- a time column of a window join
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id WINDOW TUMBLING (event_time, INTERVAL 1 HOUR)
--> select
-->   o.order_id AS order_id : STRING
-->   inner join [0s, 0s] of tumbling windows of 1h and tumbling windows of 1h
-->     key o.order_id = s.order_id
-->     key o._window_start = s._window_start
-->     left o, time _window_time moved by event_time - 5s, used order_id
-->       select over o
-->         o.order_id AS order_id : STRING
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->         source orders
-->     right s, time _window_time moved by event_time - 10s, used none
-->       select over s
-->         s.order_id AS order_id : STRING
-->         s.event_time AS event_time : TIMESTAMP  <- event time
-->         timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->         source shipments

-- a time column of one side
SELECT o.order_id FROM orders o WINDOW TUMBLING (o.event_time, INTERVAL 1 HOUR) JOIN shipments s WINDOW TUMBLING (s.event_time, INTERVAL 1 HOUR) ON o.order_id = s.order_id
--> select
-->   o.order_id AS order_id : STRING
-->   inner join [0s, 0s] of tumbling windows of 1h and tumbling windows of 1h
-->     key o.order_id = s.order_id
-->     key o._window_start = s._window_start
-->     left o, time _window_time moved by event_time - 5s, used order_id
-->       select over o
-->         o.order_id AS order_id : STRING
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->         source orders
-->     right s, time _window_time moved by event_time - 10s, used none
-->       select over s
-->         s.order_id AS order_id : STRING
-->         s.event_time AS event_time : TIMESTAMP  <- event time
-->         timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->         source shipments

-- a time column of an aggregate over a join
SELECT o.customer_id, count(*) AS n FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id GROUP BY o.customer_id WINDOW TUMBLING (s.event_time, INTERVAL 1 HOUR)
--> select
-->   k0 AS customer_id : STRING
-->   a0 AS n : BIGINT
-->   aggregate, tumbling windows of 1h, emit final
-->     key joined.customer_id AS k0 : STRING
-->     call count(*) AS a0 : BIGINT
-->     input joined, time event_time - 5m, used none
-->       select
-->         s.event_time AS event_time : TIMESTAMP  <- event time
-->         o.customer_id AS customer_id : STRING
-->         inner join [-5m, 5m]
-->           key o.order_id = s.order_id
-->           left o, time event_time, used customer_id
-->           right s, time event_time, used event_time

-- a time column of an aggregate over a table join
SELECT c.region, count(*) AS n FROM orders o JOIN customers c ON o.customer_id = c.id GROUP BY c.region WINDOW TUMBLING (event_time, INTERVAL 1 HOUR)
--> select
-->   k0 AS region : STRING
-->   a0 AS n : BIGINT
-->   aggregate, tumbling windows of 1h, emit final
-->     key joined.region AS k0 : STRING
-->     call count(*) AS a0 : BIGINT
-->     input joined, time event_time - 5s, used none
-->       select
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         c.region AS region : STRING
-->         inner lookup join with customers c
-->           key o.customer_id = id
-->           used region
-->           left o, time event_time, used event_time

-- a time column that is not the event time
SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id WINDOW TUMBLING (total, INTERVAL '1' HOUR)
--> MS-PLAN-WINDOW at line 1, column 85: total is not the event time of orders: windows use event_time. Write WINDOW TUMBLING(event_time, …), or declare WATERMARK FOR another column.

-- a time column that does not exist
SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id WINDOW TUMBLING (evnt_time, INTERVAL '1' HOUR)
--> MS-PLAN-UNKNOWN-COLUMN at line 1, column 85: orders has no column evnt_time. Did you mean event_time?

-- a time column of a stream without event time
SELECT user_id, count(*) AS n FROM clicks GROUP BY user_id WINDOW TUMBLING (at, INTERVAL '1' HOUR)
--> MS-PLAN-NO-WATERMARK at line 1, column 36: clicks has no watermark, so its rows would never expire from state. Declare WATERMARK FOR at AS at - INTERVAL 5 SECONDS in clicks.

-- a time column and processing time
SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id WINDOW TUMBLING (event_time, INTERVAL '1' HOUR) ON PROCTIME()
--> MS-PLAN-WINDOW at line 1, column 85: the window has both the time column event_time and ON PROCTIME(). Remove one of them.

-- only a time column
SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id WINDOW TUMBLING (event_time)
--> MS-PLAN-WINDOW at line 1, column 68: TUMBLING has no size. Write WINDOW TUMBLING(INTERVAL '1' HOUR).

-- the time column of one side for both
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id WINDOW TUMBLING (o.event_time, INTERVAL 1 HOUR)
--> MS-PLAN-WINDOW at line 1, column 94: o.event_time is not the event time of both sides of the join, and each side has its own. Leave the column out: WINDOW TUMBLING(…).

-- a time column that both sides do not have
SELECT o.order_id FROM orders o JOIN events e ON o.order_id = e.s WINDOW TUMBLING (event_time, INTERVAL 1 HOUR)
--> MS-PLAN-WINDOW at line 1, column 84: event_time is not the event time of both sides of the join, and each side has its own. Leave the column out: WINDOW TUMBLING(…).

-- an ambiguous time column of an aggregate over a join
SELECT o.customer_id, count(*) AS n FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id GROUP BY o.customer_id WINDOW TUMBLING (event_time, INTERVAL 1 HOUR)
--> MS-PLAN-AMBIGUOUS at line 1, column 152: event_time is a column of o and of s. Write o.event_time or s.event_time.

-- another column of an aggregate over a join
SELECT o.customer_id, count(*) AS n FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id GROUP BY o.customer_id WINDOW TUMBLING (o.total, INTERVAL 1 HOUR)
--> MS-PLAN-WINDOW at line 1, column 152: o.total is not the event time of the join: windows use o.event_time or s.event_time. Write WINDOW TUMBLING(o.event_time, …), or declare WATERMARK FOR another column.

-- a time that may be NULL in an aggregate over a join
SELECT o.customer_id, count(*) AS n FROM orders o LEFT JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id GROUP BY o.customer_id WINDOW TUMBLING (s.event_time, INTERVAL 1 HOUR)
--> MS-PLAN-WINDOW at line 1, column 157: s.event_time is not the event time of the join: windows use o.event_time. Write WINDOW TUMBLING(o.event_time, …), or declare WATERMARK FOR another column.
