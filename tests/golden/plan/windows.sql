-- sliding
SELECT count(*) AS n FROM orders WINDOW SLIDING(SIZE INTERVAL 1 HOUR, SLIDE INTERVAL 5 MINUTES)
--> select
-->   a0 AS n : BIGINT
-->   aggregate, windows of 1h every 5m, emit final
-->     call count(*) AS a0 : BIGINT
-->     input orders, time event_time, used none

-- sliding, by position
SELECT count(*) AS n FROM orders WINDOW SLIDING(INTERVAL 1 HOUR, INTERVAL 5 MINUTES)
--> select
-->   a0 AS n : BIGINT
-->   aggregate, windows of 1h every 5m, emit final
-->     call count(*) AS a0 : BIGINT
-->     input orders, time event_time, used none

-- a session, after GROUP BY
SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id WINDOW SESSION(GAP INTERVAL 30 MINUTES)
--> select
-->   k0 AS customer_id : STRING
-->   a0 AS n : BIGINT
-->   aggregate, sessions with a gap of 30m, emit final
-->     key orders.customer_id AS k0 : STRING
-->     call count(*) AS a0 : BIGINT
-->     input orders, time event_time, used none

-- an offset inside
SELECT count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 DAY, OFFSET INTERVAL 6 HOURS)
--> select
-->   a0 AS n : BIGINT
-->   aggregate, tumbling windows of 1d, offset 6h, emit final
-->     call count(*) AS a0 : BIGINT
-->     input orders, time event_time, used none

-- an offset after
SELECT count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 DAY) OFFSET INTERVAL 6 HOURS GROUP BY order_id
--> select
-->   a0 AS n : BIGINT
-->   aggregate, tumbling windows of 1d, offset 6h, emit final
-->     key orders.order_id AS k0 : STRING
-->     call count(*) AS a0 : BIGINT
-->     input orders, time event_time, used none

-- by processing time, on a stream without a watermark
SELECT user_id, count(*) AS n FROM clicks WINDOW TUMBLING(INTERVAL 10 SECONDS) ON PROCTIME() GROUP BY user_id
--> select
-->   k0 AS user_id : STRING
-->   a0 AS n : BIGINT
-->   aggregate, tumbling windows of 10s by the clock, emit final
-->     key clicks.user_id AS k0 : STRING
-->     call count(*) AS a0 : BIGINT
-->     input clicks, time None, used none

-- a window of a query in FROM
SELECT k, count(*) AS n FROM (SELECT customer_id AS k, event_time AS at FROM orders) x WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY k
--> select
-->   k0 AS k : STRING
-->   a0 AS n : BIGINT
-->   aggregate, tumbling windows of 1h, emit final
-->     key x.k AS k0 : STRING
-->     call count(*) AS a0 : BIGINT
-->     input x, time at - 5s, used none
-->       select over orders
-->         orders.customer_id AS k : STRING
-->         orders.event_time AS at : TIMESTAMP  <- event time
-->         source orders

-- rows get their tumbling window
SELECT order_id, event_time, _window_start, _WINDOW_END AS until FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) OFFSET INTERVAL 5 MINUTES WHERE total > 1
--> select over orders
-->   orders.order_id AS order_id : STRING
-->   orders.event_time AS event_time : TIMESTAMP  <- event time
-->   orders._window_start AS _window_start : TIMESTAMP  <- window
-->   orders._window_end AS until : TIMESTAMP  <- window
-->   where orders.total > 1
-->   select over orders
-->     orders.order_id AS order_id : STRING
-->     orders.total AS total : DOUBLE
-->     orders.event_time AS event_time : TIMESTAMP  <- event time
-->     timestamp_micros(unix_micros(orders.event_time) - pmod(unix_micros(orders.event_time) - 300000000, 3600000000)) AS _window_start : TIMESTAMP  <- window
-->     timestamp_micros(unix_micros(orders.event_time) - pmod(unix_micros(orders.event_time) - 300000000, 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->     source orders

-- rows get their sliding windows
SELECT order_id, _window_start, _window_end FROM orders o WINDOW SLIDING(SIZE INTERVAL 15 MINUTES, SLIDE INTERVAL 5 MINUTES)
--> select over o
-->   o.order_id AS order_id : STRING
-->   o._window_start AS _window_start : TIMESTAMP  <- window
-->   o._window_end AS _window_end : TIMESTAMP  <- window
-->   select over o
-->     o.order_id AS order_id : STRING
-->     o.event_time AS event_time : TIMESTAMP  <- event time
-->     o._window_start AS _window_start : TIMESTAMP  <- window
-->     timestamp_micros(unix_micros(o._window_start) + 900000000) AS _window_end : TIMESTAMP  <- window
-->     select over o
-->       o.order_id AS order_id : STRING
-->       o.event_time AS event_time : TIMESTAMP  <- event time
-->       explode_outer(o._window_starts) AS _window_start : TIMESTAMP
-->       select over o
-->         o.order_id AS order_id : STRING
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         transform(sequence(0, 2), _nth -> timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 300000000) - _nth * 300000000L)) AS _window_starts
-->         source orders

-- an aggregate by the windows of rows below
SELECT customer_id, _window_start, count(*) AS n FROM (SELECT customer_id, event_time, _window_start, _window_end FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR)) x GROUP BY customer_id, _window_start, _window_end
--> select
-->   k0 AS customer_id : STRING
-->   _window_start AS _window_start : TIMESTAMP
-->   a0 AS n : BIGINT
-->   aggregate, windows of the query below, emit final
-->     key x.customer_id AS k0 : STRING
-->     call count(*) AS a0 : BIGINT
-->     given x._window_start to x._window_end
-->     input x, time event_time - 5s, used none
-->       select over orders
-->         orders.customer_id AS customer_id : STRING
-->         orders.event_time AS event_time : TIMESTAMP  <- event time
-->         orders._window_start AS _window_start : TIMESTAMP  <- window
-->         orders._window_end AS _window_end : TIMESTAMP  <- window
-->         select over orders
-->           orders.customer_id AS customer_id : STRING
-->           orders.event_time AS event_time : TIMESTAMP  <- event time
-->           timestamp_micros(unix_micros(orders.event_time) - pmod(unix_micros(orders.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->           timestamp_micros(unix_micros(orders.event_time) - pmod(unix_micros(orders.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->           source orders

-- an aggregate by the windows of results below, without their time selected
SELECT _window_start, _window_end, max(n) AS most FROM (SELECT customer_id, _window_start, _window_end, count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id) x GROUP BY _window_start, _window_end
--> select
-->   _window_start AS _window_start : TIMESTAMP  <- window
-->   _window_end AS _window_end : TIMESTAMP  <- window
-->   a0 AS most : BIGINT
-->   aggregate, windows of the query below, emit final
-->     call max(x.n) AS a0 : BIGINT
-->     given x._window_start to x._window_end
-->     input x, time _window_time, used none
-->       select
-->         k0 AS customer_id : STRING
-->         _window_start AS _window_start : TIMESTAMP  <- window
-->         _window_end AS _window_end : TIMESTAMP  <- window
-->         a0 AS n : BIGINT
-->         _window_time AS _window_time : TIMESTAMP  <- event time
-->         aggregate, tumbling windows of 1h, emit final
-->           key orders.customer_id AS k0 : STRING
-->           call count(*) AS a0 : BIGINT
-->           input orders, time event_time, used none

-- renamed and passed on by a query between
SELECT b, sum(n) AS s FROM (SELECT ws AS a, we AS b, n FROM (SELECT _window_start AS ws, _window_end AS we, count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id) x) y GROUP BY b
--> select
-->   _window_end AS b : TIMESTAMP
-->   a0 AS s : BIGINT
-->   aggregate, windows of the query below, emit final
-->     call sum(y.n) AS a0 : BIGINT
-->     given y.a to y.b
-->     input y, time _window_time, used none
-->       select over x
-->         x.ws AS a : TIMESTAMP  <- window
-->         x.we AS b : TIMESTAMP  <- window
-->         x.n AS n : BIGINT
-->         x._window_time AS _window_time : TIMESTAMP  <- event time
-->         select
-->           _window_start AS ws : TIMESTAMP  <- window
-->           _window_end AS we : TIMESTAMP  <- window
-->           a0 AS n : BIGINT
-->           _window_time AS _window_time : TIMESTAMP  <- event time
-->           aggregate, tumbling windows of 1h, emit final
-->             key orders.customer_id AS k0 : STRING
-->             call count(*) AS a0 : BIGINT
-->             input orders, time event_time, used none

-- a greater window over the results of a smaller one
SELECT _window_start, sum(n) AS s FROM (SELECT customer_id, count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 MINUTE) GROUP BY customer_id) x WINDOW TUMBLING(INTERVAL 1 HOUR)
--> select
-->   _window_start AS _window_start : TIMESTAMP
-->   a0 AS s : BIGINT
-->   aggregate, tumbling windows of 1h, emit final
-->     call sum(x.n) AS a0 : BIGINT
-->     input x, time _window_time, used none
-->       select
-->         k0 AS customer_id : STRING
-->         a0 AS n : BIGINT
-->         _window_time AS _window_time : TIMESTAMP  <- event time
-->         aggregate, tumbling windows of 1m, emit final
-->           key orders.customer_id AS k0 : STRING
-->           call count(*) AS a0 : BIGINT
-->           input orders, time event_time, used none

-- the window's time by its system names
SELECT n, _event_time AS a, _window_time AS b FROM (SELECT count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 MINUTE)) x WHERE _EVENT_TIME > TIMESTAMP '2026-01-01'
--> select over x
-->   x.n AS n : BIGINT
-->   x._window_time AS a : TIMESTAMP  <- event time
-->   x._window_time AS b : TIMESTAMP
-->   where x._window_time > TIMESTAMP '2026-01-01'
-->   select
-->     a0 AS n : BIGINT
-->     _window_time AS _window_time : TIMESTAMP  <- event time
-->     aggregate, tumbling windows of 1m, emit final
-->       call count(*) AS a0 : BIGINT
-->       input orders, time event_time, used none

-- allowed lateness
SELECT customer_id, count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id WITH ('window.lateness' = '5m')
--> mode retract
--> select
-->   k0 AS customer_id : STRING
-->   a0 AS n : BIGINT
-->   aggregate, tumbling windows of 1h, emit final
-->     key orders.customer_id AS k0 : STRING
-->     call count(*) AS a0 : BIGINT
-->     lateness 5m
-->     input orders, time event_time, used none

-- window.lateness delays the watermark above
SELECT k, count(*) AS n FROM (SELECT customer_id AS k, sum(total) AS s FROM orders WINDOW TUMBLING(INTERVAL 1 MINUTE) GROUP BY customer_id WITH ('window.lateness' = '5m')) x WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY k
--> select
-->   k0 AS k : STRING
-->   a0 AS n : BIGINT
-->   aggregate, tumbling windows of 1h, emit final
-->     key x.k AS k0 : STRING
-->     call count(*) AS a0 : BIGINT
-->     over changes
-->     input x, time _window_time - 5m, used none
-->       select
-->         k0 AS k : STRING
-->         a0 AS s : DOUBLE
-->         _window_time AS _window_time : TIMESTAMP  <- event time
-->         aggregate, tumbling windows of 1m, emit final
-->           key orders.customer_id AS k0 : STRING
-->           call sum(orders.total) AS a0 : DOUBLE
-->           lateness 5m
-->           input orders, time event_time, used none

-- late rows
SELECT customer_id, count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id WITH ('late.policy' = 'side_output', 'state.max_rows' = '100', 'state.on_limit' = 'evict')
--> select
-->   k0 AS customer_id : STRING
-->   a0 AS n : BIGINT
-->   aggregate, tumbling windows of 1h, emit final
-->     key orders.customer_id AS k0 : STRING
-->     call count(*) AS a0 : BIGINT
-->     late side_output: late rows go to the output late
-->     limit 100 rows, then the oldest rows are evicted and counted
-->     input orders, time event_time, used order_id, customer_id, total, event_time

-- a size of nothing
SELECT count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 0 HOURS)
--> MS-PLAN-WINDOW at line 1, column 50: the size of the window is 0s; it must be longer than 0s. Write WINDOW TUMBLING(INTERVAL '1' HOUR).

-- a negative size
SELECT count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL '-1' HOUR)
--> MS-PLAN-WINDOW at line 1, column 50: the size of the window is -1h; it must be longer than 0s. Write WINDOW TUMBLING(INTERVAL '1' HOUR).

-- a month
SELECT count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 MONTH)
--> MS-PLAN-WINDOW at line 1, column 50: the size of the window has no fixed length. Use weeks, days, hours, minutes, seconds or milliseconds, written as a constant.

-- no slide
SELECT count(*) AS n FROM orders WINDOW SLIDING(SIZE INTERVAL 1 HOUR)
--> MS-PLAN-WINDOW at line 1, column 34: SLIDING has no slide. Write WINDOW SLIDING(SIZE INTERVAL '1' HOUR, SLIDE INTERVAL '5' MINUTE).

-- an argument of another window
SELECT count(*) AS n FROM orders WINDOW TUMBLING(GAP INTERVAL 1 HOUR)
--> MS-PLAN-WINDOW at line 1, column 50: TUMBLING has no such argument. Write WINDOW TUMBLING(INTERVAL '1' HOUR).

-- a slide that does not divide
SELECT count(*) AS n FROM orders WINDOW SLIDING(SIZE INTERVAL 1 HOUR, SLIDE INTERVAL 7 MINUTES)
--> MS-PLAN-WINDOW at line 1, column 71: the slide 7m does not divide the size 1h, so windows would not consist of whole panes. The nearest slide that does is 6m 40s.

-- a slide longer than the size
SELECT count(*) AS n FROM orders WINDOW SLIDING(SIZE INTERVAL 1 HOUR, SLIDE INTERVAL 2 HOURS)
--> MS-PLAN-WINDOW at line 1, column 71: the slide 2h is longer than the size 1h, so rows between windows would be lost. Use a slide of 1h or less.

-- a session without a gap
SELECT count(*) AS n FROM orders WINDOW SESSION(GAP INTERVAL 0 SECONDS)
--> MS-PLAN-WINDOW at line 1, column 49: the gap of the window is 0s; it must be longer than 0s. Write WINDOW SESSION(GAP INTERVAL '30' MINUTE).

-- an offset of a session
SELECT count(*) AS n FROM orders WINDOW SESSION(GAP INTERVAL 5 SECONDS, OFFSET INTERVAL 1 SECOND)
--> MS-PLAN-WINDOW at line 1, column 73: a session begins with its first row, so it has no offset.

-- an offset beyond the slide
SELECT count(*) AS n FROM orders WINDOW SLIDING(SIZE INTERVAL 1 HOUR, SLIDE INTERVAL 10 MINUTES, OFFSET INTERVAL 25 MINUTES)
--> MS-PLAN-WINDOW at line 1, column 98: the offset is 25m; it must be 0s or more, and less than the slide 10m. 5m gives the same windows.

-- no watermark
SELECT user_id, count(*) AS n FROM clicks WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY user_id
--> MS-PLAN-NO-WATERMARK at line 1, column 36: clicks has no watermark, so its rows would never expire from state. Declare WATERMARK FOR at AS at - INTERVAL 5 SECONDS in clicks.

-- a query that loses the time
SELECT k, count(*) AS n FROM (SELECT customer_id AS k FROM orders) x WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY k
--> MS-PLAN-NO-WATERMARK at line 1, column 30: x does not carry the event time of its input. Select the event-time column there, unchanged; it may have another name.

-- a window over results without one
SELECT sum(n) AS s FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id WITH ('state.ttl' = '1d')) x WINDOW TUMBLING(INTERVAL 1 HOUR)
--> MS-PLAN-NO-WATERMARK at line 1, column 25: x can retract rows at any time, so its rows have no event time. Give the query of x a WINDOW.

-- a session without an aggregate
SELECT order_id FROM orders WINDOW SESSION(GAP INTERVAL 5 MINUTES)
--> MS-PLAN-WINDOW at line 1, column 29: the end of a session is only available in an aggregate, and this query has none. Add GROUP BY and aggregates, or use TUMBLING or SLIDING windows of event time.

-- one column of a session
SELECT _window_start, count(*) AS n FROM (SELECT customer_id, _window_start, _window_end FROM orders WINDOW SESSION(GAP INTERVAL 5 MINUTES) GROUP BY customer_id) x GROUP BY _window_start
--> MS-PLAN-WINDOW at line 1, column 42: start and end identify a session window, and GROUP BY has only one of them. Group by both.

-- a window specified twice
SELECT count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY order_id WINDOW TUMBLING(INTERVAL 1 HOUR)
--> MS-PLAN-WINDOW at line 1, column 85: there are two WINDOW clauses. Remove one of them.

-- a window column where there is no window
SELECT _window_start FROM orders
--> MS-PLAN-WINDOW-COLUMN at line 1, column 8: _window_start exists only after windows are assigned, which is not the case here. Add WINDOW to the query; HAVING is evaluated after windows, WHERE before.

-- a window column in WHERE of its own query
SELECT count(*) AS n FROM orders WHERE _window_start > TIMESTAMP '2026-01-01' WINDOW TUMBLING(INTERVAL 1 HOUR)
--> MS-PLAN-WINDOW-COLUMN at line 1, column 40: _window_start exists only after windows are assigned, which is not the case here. Add WINDOW to the query; HAVING is evaluated after windows, WHERE before.

-- lateness without a window
SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id WITH ('state.ttl' = '1d', 'window.lateness' = '1m')
--> MS-PROP-UNUSED at line 1, column 94: 'window.lateness' applies to event-time windows, and this query has none. Remove it.

-- late rows without a window
SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id WITH ('state.ttl' = '1d', 'late.policy' = 'drop')
--> MS-PROP-UNUSED at line 1, column 94: 'late.policy' does not apply to an aggregate without a window: no row is late. Remove it.

-- a time to live of windows
SELECT count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) WITH ('state.ttl' = '1d')
--> MS-PROP-UNUSED at line 1, column 73: a windowed query does not use 'state.ttl': its windows expire when they close. Remove it.

-- late rows of processing-time windows
SELECT count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) ON PROCTIME() WITH ('late.policy' = 'drop')
--> MS-PROP-UNUSED at line 1, column 87: 'late.policy' does not apply to a query with processing-time windows: no row is late. Remove it.
