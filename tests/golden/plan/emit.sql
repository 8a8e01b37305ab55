-- CHANGES of a window
SELECT customer_id, count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id EMIT CHANGES
--> mode retract
--> select
-->   k0 AS customer_id : STRING
-->   a0 AS n : BIGINT
-->   aggregate, tumbling windows of 1h, emit changes
-->     key orders.customer_id AS k0 : STRING
-->     call count(*) AS a0 : BIGINT
-->     input orders, time event_time, used none

-- upsert
SELECT customer_id, _window_start, count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id EMIT CHANGES WITH ('output.mode' = 'upsert')
--> mode upsert
--> select
-->   k0 AS customer_id : STRING
-->   _window_start AS _window_start : TIMESTAMP
-->   a0 AS n : BIGINT
-->   aggregate, tumbling windows of 1h, emit changes
-->     key orders.customer_id AS k0 : STRING
-->     call count(*) AS a0 : BIGINT
-->     input orders, time event_time, used none

-- retract of rows that stay shows their kind
SELECT order_id FROM orders WITH ('output.mode' = 'retract')
--> mode retract
--> select over orders
-->   orders.order_id AS order_id : STRING
-->   source orders

-- an aggregate over rows that can be retracted
SELECT n, count(*) AS m FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id WITH ('state.ttl' = 'forever')) x GROUP BY n WITH ('state.ttl' = 'forever')
--> mode retract
--> select
-->   k0 AS n : BIGINT
-->   a0 AS m : BIGINT
-->   aggregate, emit changes
-->     key x.n AS k0 : BIGINT
-->     call count(*) AS a0 : BIGINT
-->     over changes
-->     input x, time None, used none
-->       select
-->         k0 AS customer_id : STRING
-->         a0 AS n : BIGINT
-->         aggregate, emit changes
-->           key orders.customer_id AS k0 : STRING
-->           call count(*) AS a0 : BIGINT
-->           input orders, time event_time, used none

-- EMIT FINAL over a query that has it
SELECT n FROM (SELECT customer_id, count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id) x WHERE n > 1 EMIT FINAL
--> select over x
-->   x.n AS n : BIGINT
-->   where x.n > 1
-->   select
-->     k0 AS customer_id : STRING
-->     a0 AS n : BIGINT
-->     aggregate, tumbling windows of 1h, emit final
-->       key orders.customer_id AS k0 : STRING
-->       call count(*) AS a0 : BIGINT
-->       input orders, time event_time, used none

-- EMIT FINAL without a window
SELECT order_id FROM orders EMIT FINAL
--> MS-PLAN-EMIT-FINAL at line 1, column 29: EMIT FINAL emits results when their window closes, and this query has no window. Write EMIT CHANGES, or remove EMIT.

-- EMIT FINAL of an aggregate without a window
SELECT count(*) AS n FROM orders EMIT FINAL
--> MS-PLAN-EMIT-FINAL at line 1, column 34: EMIT FINAL emits results when their window closes, and this query has no window. Write EMIT CHANGES, or remove EMIT.

-- EMIT FINAL of DISTINCT
SELECT DISTINCT customer_id FROM orders EMIT FINAL WITH ('state.ttl' = '1d')
--> MS-PLAN-EMIT-FINAL at line 1, column 41: EMIT FINAL emits results when their window closes, and this query has no window. Write EMIT CHANGES, or remove EMIT.

-- EMIT FINAL over changes
SELECT n FROM (SELECT count(*) AS n FROM orders) x EMIT FINAL
--> MS-PLAN-EMIT-FINAL at line 1, column 52: EMIT FINAL emits results when their window closes, and this query has no window. Write EMIT CHANGES, or remove EMIT.

-- append of rows that can be retracted
SELECT count(*) AS n FROM orders WITH ('output.mode' = 'append')
--> MS-PLAN-RETRACT at line 1, column 40: the query retracts rows, and 'output.mode' = 'append' cannot represent retractions. Set 'retract' or 'upsert', or use EMIT FINAL with a WINDOW and no 'window.lateness'.

-- append of a window that fires again
SELECT count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) WITH ('output.mode' = 'append', 'window.lateness' = '1m')
--> MS-PLAN-RETRACT at line 1, column 73: the query retracts rows, and 'output.mode' = 'append' cannot represent retractions. Set 'retract' or 'upsert', or use EMIT FINAL with a WINDOW and no 'window.lateness'.

-- a mode inside
SELECT n FROM (SELECT count(*) AS n FROM orders WITH ('output.mode' = 'upsert')) x
--> MS-PROP-UNUSED at line 1, column 55: 'output.mode' is set on an inner query. It defines how the sink is written: set it on the outermost query.

-- max over rows that can be retracted
SELECT max(n) AS m FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id WITH ('state.ttl' = '1d')) x
--> MS-PLAN-RETRACT at line 1, column 8: x retracts rows, and max does not support retraction. Write EMIT FINAL in the query of x, with a WINDOW and no 'window.lateness', or use one of count, count_distinct, sum, avg, stddev_samp, stddev_pop, var_samp, var_pop, collect_list, collect_set, bool_and, bool_or.

-- a join with rows that can be retracted
SELECT o.order_id FROM orders o JOIN (SELECT customer_id, count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id EMIT CHANGES) x WITHIN 5 MINUTES ON o.customer_id = x.customer_id
--> MS-PLAN-RETRACT at line 1, column 38: x retracts rows, which a join by event time does not support. Write EMIT FINAL in the query of x, with a WINDOW and no 'window.lateness', or join without a bound and with 'state.ttl' = 'forever'.

-- DISTINCT of rows that can be retracted
SELECT DISTINCT n FROM (SELECT count(*) AS n FROM orders) x WITH ('state.ttl' = 'forever')
--> MS-PLAN-RETRACT at line 1, column 24: x retracts rows, which DISTINCT does not support. Write EMIT FINAL in the query of x, with a WINDOW and no 'window.lateness'.

-- reassigned late rows
SELECT count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) WITH ('late.policy' = 'reassign', 'late.budget' = '30s')
--> select
-->   a0 AS n : BIGINT
-->   aggregate, tumbling windows of 1h, emit final
-->     call count(*) AS a0 : BIGINT
-->     late reassign: rows up to 30s late get the watermark as time, others are dropped
-->     input orders, time event_time, used none

-- reassigned late rows of a join
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id) WITH ('late.policy' = 'reassign', 'late.budget' = '30s', 'engine' = 'native')
--> MS-PLAN-ENGINE at line 1, column 33: the native engine cannot run this join: Spark drops late rows, so they cannot get another time. Remove 'engine', or set it to 'columnar'.

-- reassign without a budget
SELECT count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) WITH ('late.policy' = 'reassign')
--> MS-PLAN-LATE-BUDGET at line 1, column 73: 'late.policy' = 'reassign' needs a maximum lateness. Add 'late.budget' = '1m'; rows that are later are dropped.

-- a budget without reassign
SELECT count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) WITH ('late.budget' = '30s')
--> MS-PROP-UNUSED at line 1, column 73: 'late.budget' limits the lateness of reassigned rows, and late rows are not reassigned. Add 'late.policy' = 'reassign'.

-- a time to live that is none
SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id WITH ('state.ttl' = 'long')
--> MS-PROP-VALUE at line 1, column 88: 'state.ttl' cannot be 'long'. Use a duration such as 5m, 24h or 7d, or forever.

-- a time to live without a watermark
SELECT user_id, count(*) AS n FROM clicks GROUP BY user_id WITH ('state.ttl' = '1d')
--> MS-PLAN-NO-WATERMARK at line 1, column 66: 'state.ttl' depends on the watermark, and clicks has no event time. Declare a watermark in the source and select its column in clicks, or write 'state.ttl' = 'forever'.

-- a list over retractions
SELECT collect_list(n) AS l FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id WITH ('state.ttl' = 'forever')) x
--> mode retract
--> select
-->   a0 AS l : ARRAY<BIGINT>
-->   aggregate, emit changes
-->     call collect_list(x.n) AS a0 : ARRAY<BIGINT>
-->     over changes
-->     input x, time None, used none
-->       select
-->         k0 AS customer_id : STRING
-->         a0 AS n : BIGINT
-->         aggregate, emit changes
-->           key orders.customer_id AS k0 : STRING
-->           call count(*) AS a0 : BIGINT
-->           input orders, time event_time, used none

-- over groups that expire without retraction
SELECT n, count(*) AS m FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id WITH ('state.ttl' = '1d')) x GROUP BY n WITH ('state.ttl' = 'forever')
--> MS-PLAN-RETRACT at line 1, column 30: groups of x expire after 'state.ttl' without a retraction, so a group that reappears would count twice. Write 'state.ttl' = 'forever' in the query of x, or give it a WINDOW.

-- the first rows of groups that expire
SELECT customer_id, n FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id WITH ('state.ttl' = '1d')) x QUALIFY ROW_NUMBER() OVER (ORDER BY n DESC) <= 10 WITH ('state.ttl' = 'forever')
--> MS-PLAN-RETRACT at line 1, column 28: groups of x expire after 'state.ttl' without a retraction, so a group that reappears would count twice. Write 'state.ttl' = 'forever' in the query of x, or give it a WINDOW.

-- sessions of rows that can be retracted
SELECT count(*) AS m FROM (SELECT customer_id, count(*) AS n, _window_start, _window_end FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id EMIT CHANGES) x WINDOW SESSION(GAP INTERVAL 1 HOUR)
--> MS-PLAN-RETRACT at line 1, column 27: x retracts rows, and a session window cannot shrink. Write EMIT FINAL in the query of x, with a WINDOW and no 'window.lateness', or use a TUMBLING or SLIDING window here.

-- sessions of results that are final
SELECT count(*) AS m FROM (SELECT customer_id, count(*) AS n, _window_start, _window_end FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id EMIT FINAL) x WINDOW SESSION(GAP INTERVAL 1 HOUR)
--> select
-->   a0 AS m : BIGINT
-->   aggregate, sessions with a gap of 1h, emit final
-->     call count(*) AS a0 : BIGINT
-->     input x, time _window_time, used none
-->       select
-->         k0 AS customer_id : STRING
-->         a0 AS n : BIGINT
-->         _window_start AS _window_start : TIMESTAMP  <- window
-->         _window_end AS _window_end : TIMESTAMP  <- window
-->         _window_time AS _window_time : TIMESTAMP  <- event time
-->         aggregate, tumbling windows of 1h, emit final
-->           key orders.customer_id AS k0 : STRING
-->           call count(*) AS a0 : BIGINT
-->           input orders, time event_time, used none

-- windows of rows that can be retracted
SELECT count(*) AS m FROM (SELECT customer_id, count(*) AS n, _window_start, _window_end FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id EMIT CHANGES) x WINDOW TUMBLING(INTERVAL 1 DAY) WITH ('late.policy' = 'drop')
--> select
-->   a0 AS m : BIGINT
-->   aggregate, tumbling windows of 1d, emit final
-->     call count(*) AS a0 : BIGINT
-->     over changes
-->     input x, time _window_time, used none
-->       select
-->         k0 AS customer_id : STRING
-->         a0 AS n : BIGINT
-->         _window_start AS _window_start : TIMESTAMP  <- window
-->         _window_end AS _window_end : TIMESTAMP  <- window
-->         _window_time AS _window_time : TIMESTAMP  <- event time
-->         aggregate, tumbling windows of 1h, emit changes
-->           key orders.customer_id AS k0 : STRING
-->           call count(*) AS a0 : BIGINT
-->           input orders, time event_time, used none

-- reassigned late retractions
SELECT count(*) AS m FROM (SELECT customer_id, count(*) AS n, _window_start, _window_end FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id EMIT CHANGES) x WINDOW TUMBLING(INTERVAL 1 DAY) WITH ('late.policy' = 'reassign', 'late.budget' = '30s')
--> MS-PLAN-RETRACT at line 1, column 210: x retracts rows, and with 'late.policy' = 'reassign' a late retraction would be processed as a new row. Remove 'late.policy', or write EMIT FINAL in the query of x, with a WINDOW and no 'window.lateness'.

-- retracted late rows to a side output
SELECT count(*) AS m FROM (SELECT customer_id, count(*) AS n, _window_start, _window_end FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id EMIT CHANGES) x WINDOW TUMBLING(INTERVAL 1 DAY) WITH ('late.policy' = 'side_output')
--> MS-PLAN-RETRACT at line 1, column 210: x retracts rows, and with 'late.policy' = 'side_output' a late retraction would be processed as a new row. Remove 'late.policy', or write EMIT FINAL in the query of x, with a WINDOW and no 'window.lateness'.

-- late rows that can be retracted, of the first of a window
SELECT customer_id FROM (SELECT customer_id, count(*) AS n, _window_start, _window_end FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id EMIT CHANGES) x QUALIFY ROW_NUMBER() OVER (PARTITION BY _window_end ORDER BY n) <= 3 EMIT FINAL WITH ('late.policy' = 'side_output')
--> MS-PLAN-RETRACT at line 1, column 256: x retracts rows, and with 'late.policy' = 'side_output' a late retraction would be processed as a new row. Remove 'late.policy', or write EMIT FINAL in the query of x, with a WINDOW and no 'window.lateness'.

-- every and some of rows that can be retracted
SELECT every(n > 1) AS e, bool_or(n > 5) AS s FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id WITH ('state.ttl' = 'forever')) x
--> mode retract
--> select
-->   a0 AS e : BOOLEAN
-->   a1 AS s : BOOLEAN
-->   aggregate, emit changes
-->     call bool_and(x.n > 1) AS a0 : BOOLEAN
-->     call bool_or(x.n > 5) AS a1 : BOOLEAN
-->     over changes
-->     input x, time None, used none
-->       select
-->         k0 AS customer_id : STRING
-->         a0 AS n : BIGINT
-->         aggregate, emit changes
-->           key orders.customer_id AS k0 : STRING
-->           call count(*) AS a0 : BIGINT
-->           input orders, time event_time, used none

-- random values in a result that changes
SELECT count(*) * rand() AS n FROM orders
--> MS-PLAN-RETRACT at line 1, column 1: rand() is evaluated again when a row is retracted, with another result. Compute it in a query below, where rows are not retracted, or write EMIT FINAL with a WINDOW and no 'window.lateness'.

-- random values in a result that is final
SELECT count(*) * rand() AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR)
--> select
-->   a0 * rand() AS n
-->   aggregate, tumbling windows of 1h, emit final
-->     call count(*) AS a0 : BIGINT
-->     input orders, time event_time, used none

-- processing time in a result that changes
SELECT count(*) AS n, current_timestamp() AS at FROM orders
--> MS-PLAN-RETRACT at line 1, column 1: current_timestamp() is evaluated again when a row is retracted, with another result. Compute it in a query below, where rows are not retracted, or write EMIT FINAL with a WINDOW and no 'window.lateness'.

-- processing time in a result with upserts
SELECT count(*) AS n, Now() AS at, unix_timestamp() AS s FROM orders WITH ('output.mode' = 'upsert')
--> mode upsert
--> select
-->   a0 AS n : BIGINT
-->   Now() AS at
-->   unix_timestamp() AS s
-->   aggregate, emit changes
-->     call count(*) AS a0 : BIGINT
-->     input orders, time event_time, used none

-- random values in a result with upserts
SELECT count(*) AS n, uuid() AS id, now() AS at FROM orders WITH ('output.mode' = 'upsert')
--> MS-PLAN-RETRACT at line 1, column 1: uuid() is evaluated again when a row is retracted, with another result. Compute it in a query below, where rows are not retracted, or write EMIT FINAL with a WINDOW and no 'window.lateness'.

-- processing time in HAVING of a result with upserts
SELECT max(event_time) AS t FROM orders HAVING t < now() WITH ('output.mode' = 'upsert')
--> MS-PLAN-RETRACT at line 1, column 1: now() is evaluated again when a row is retracted, with another result. Compute it in a query below, where rows are not retracted, or write EMIT FINAL with a WINDOW and no 'window.lateness'.

-- processing time inside a query with upserts
SELECT n, at FROM (SELECT count(*) AS n, current_date AS at FROM orders) x WITH ('output.mode' = 'upsert')
--> MS-PLAN-RETRACT at line 1, column 20: current_date is evaluated again when a row is retracted, with another result. Compute it in a query below, where rows are not retracted, or write EMIT FINAL with a WINDOW and no 'window.lateness'.

-- random values in WHERE of rows that can be retracted
SELECT n FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id WITH ('state.ttl' = 'forever')) x WHERE n > 5 AND rand(1) < 0.5
--> MS-PLAN-RETRACT at line 1, column 1: rand(1) is evaluated again when a row is retracted, with another result. Compute it in a query below, where rows are not retracted, or write EMIT FINAL with a WINDOW and no 'window.lateness'.

-- random values below an aggregate of rows that can be retracted
SELECT count(*) AS m FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id WITH ('state.ttl' = 'forever')) x WHERE rand() < 0.5
--> MS-PLAN-RETRACT at line 1, column 27: rand() is evaluated again when a row is retracted, with another result. Compute it in a query below, where rows are not retracted, or write EMIT FINAL with a WINDOW and no 'window.lateness'.

-- random values inside an aggregate of rows that can be retracted
SELECT sum(n * rand()) AS m FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id WITH ('state.ttl' = 'forever')) x
--> MS-PLAN-RETRACT at line 1, column 1: rand() is evaluated again when a row is retracted, with another result. Compute it in a query below, where rows are not retracted, or write EMIT FINAL with a WINDOW and no 'window.lateness'.

-- processing time in a key of rows that can be retracted
SELECT count(*) AS m FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id WITH ('state.ttl' = 'forever')) x GROUP BY n, current_date() WITH ('state.ttl' = 'forever')
--> MS-PLAN-RETRACT at line 1, column 1: current_date() is evaluated again when a row is retracted, with another result. Compute it in a query below, where rows are not retracted, or write EMIT FINAL with a WINDOW and no 'window.lateness'.

-- random values in the order of rows that can be retracted
SELECT customer_id FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id WITH ('state.ttl' = 'forever')) x QUALIFY ROW_NUMBER() OVER (ORDER BY rand()) <= 3 WITH ('state.ttl' = 'forever')
--> MS-PLAN-RETRACT at line 1, column 135: rand() is evaluated again when a row is retracted, with another result. Compute it in a query below, where rows are not retracted, or write EMIT FINAL with a WINDOW and no 'window.lateness'.

-- random values and processing time below retractions
SELECT day, sum(r) AS s FROM (SELECT current_date() AS day, rand() AS r FROM orders) x GROUP BY day WITH ('state.ttl' = 'forever')
--> mode retract
--> select
-->   k0 AS day
-->   a0 AS s
-->   aggregate, emit changes
-->     key x.`day` AS k0
-->     call sum(x.r) AS a0
-->     input x, time None, used none
-->       select over orders
-->         current_date() AS day
-->         rand() AS r
-->         source orders

-- a column named like a processing-time function
SELECT n, `current_date` FROM (SELECT count(*) AS n, max(customer_id) AS `current_date` FROM orders) x
--> mode retract
--> select over x
-->   x.n AS n : BIGINT
-->   x.`current_date` AS current_date : STRING
-->   select
-->     a0 AS n : BIGINT
-->     a1 AS current_date : STRING
-->     aggregate, emit changes
-->       call count(*) AS a0 : BIGINT
-->       call max(orders.customer_id) AS a1 : STRING
-->       input orders, time event_time, used none
