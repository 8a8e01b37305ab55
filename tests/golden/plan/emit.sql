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
SELECT customer_id, count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id EMIT CHANGES WITH ('output.mode' = 'upsert')
--> mode upsert
--> select
-->   k0 AS customer_id : STRING
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

-- an aggregate over rows that are taken back
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
--> MS-PLAN-EMIT-FINAL at line 1, column 29: EMIT FINAL waits for a window to close, and this query has no window. Write EMIT CHANGES, or leave EMIT out.

-- EMIT FINAL of an aggregate without a window
SELECT count(*) AS n FROM orders EMIT FINAL
--> MS-PLAN-EMIT-FINAL at line 1, column 34: EMIT FINAL waits for a window to close, and this query has no window. Write EMIT CHANGES, or leave EMIT out.

-- EMIT FINAL of DISTINCT
SELECT DISTINCT customer_id FROM orders EMIT FINAL WITH ('state.ttl' = '1d')
--> MS-PLAN-EMIT-FINAL at line 1, column 41: EMIT FINAL waits for a window to close, and this query has no window. Write EMIT CHANGES, or leave EMIT out.

-- EMIT FINAL over changes
SELECT n FROM (SELECT count(*) AS n FROM orders) x EMIT FINAL
--> MS-PLAN-EMIT-FINAL at line 1, column 52: EMIT FINAL waits for a window to close, and this query has no window. Write EMIT CHANGES, or leave EMIT out.

-- append of rows that are taken back
SELECT count(*) AS n FROM orders WITH ('output.mode' = 'append')
--> MS-PLAN-RETRACT at line 1, column 40: the query takes rows back, and 'output.mode' = 'append' cannot say so. Write 'retract' or 'upsert', or EMIT FINAL with a WINDOW and no 'window.lateness'.

-- append of a window that fires again
SELECT count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) WITH ('output.mode' = 'append', 'window.lateness' = '1m')
--> MS-PLAN-RETRACT at line 1, column 73: the query takes rows back, and 'output.mode' = 'append' cannot say so. Write 'retract' or 'upsert', or EMIT FINAL with a WINDOW and no 'window.lateness'.

-- a mode inside
SELECT n FROM (SELECT count(*) AS n FROM orders WITH ('output.mode' = 'upsert')) x
--> MS-PROP-UNUSED at line 1, column 55: 'output.mode' stands on a query inside another. It says how the sink is written: put it on the outermost query.

-- max over rows that are taken back
SELECT max(n) AS m FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id WITH ('state.ttl' = '1d')) x
--> MS-PLAN-RETRACT at line 1, column 8: x takes rows back, and max cannot forget a row. Write EMIT FINAL in the query of x, with a WINDOW and no 'window.lateness', or use one of count, count_distinct, sum, avg, collect_list, collect_set, stddev_samp, stddev_pop, var_samp, var_pop.

-- a join with rows that are taken back
SELECT o.order_id FROM orders o JOIN (SELECT customer_id, count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id EMIT CHANGES) x WITHIN 5 MINUTES ON o.customer_id = x.customer_id
--> MS-PLAN-RETRACT at line 1, column 38: x takes rows back, and a join cannot follow that. Write EMIT FINAL in the query of x, with a WINDOW and no 'window.lateness'.

-- DISTINCT of rows that are taken back
SELECT DISTINCT n FROM (SELECT count(*) AS n FROM orders) x WITH ('state.ttl' = 'forever')
--> MS-PLAN-RETRACT at line 1, column 24: x takes rows back, and DISTINCT cannot follow that. Write EMIT FINAL in the query of x, with a WINDOW and no 'window.lateness'.

-- reassigned late rows
SELECT count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) WITH ('late.policy' = 'reassign', 'late.budget' = '30s')
--> select
-->   a0 AS n : BIGINT
-->   aggregate, tumbling windows of 1h, emit final
-->     call count(*) AS a0 : BIGINT
-->     late reassign: rows up to 30s late get the watermark as their time, others go
-->     input orders, time event_time, used none

-- reassigned late rows of a join
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id) WITH ('late.policy' = 'reassign', 'late.budget' = '30s', 'engine' = 'native')
--> MS-PLAN-ENGINE at line 1, column 33: the native engine cannot run this join: Spark drops late rows before they can get another time. Leave 'engine' out, or try 'columnar'.

-- reassign without a budget
SELECT count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) WITH ('late.policy' = 'reassign')
--> MS-PLAN-LATE-BUDGET at line 1, column 73: 'late.policy' = 'reassign' does not say how late a row may be. Add 'late.budget' = '1m'; rows that are later still are dropped.

-- a budget without reassign
SELECT count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) WITH ('late.budget' = '30s')
--> MS-PROP-UNUSED at line 1, column 73: 'late.budget' says how late a row may be to be reassigned, and late rows are not. Add 'late.policy' = 'reassign'.

-- a time to live that is none
SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id WITH ('state.ttl' = 'long')
--> MS-PROP-VALUE at line 1, column 88: 'state.ttl' cannot be 'long'. It takes a duration such as 5m, 24h or 7d, or forever.

-- a time to live without a watermark
SELECT user_id, count(*) AS n FROM clicks GROUP BY user_id WITH ('state.ttl' = '1d')
--> MS-PLAN-NO-WATERMARK at line 1, column 66: 'state.ttl' goes by the watermark, and clicks has no event time. Declare a watermark in the source and select its column in clicks, or write 'state.ttl' = 'forever'.

-- a list over rows that are taken back is as long as what is below
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

-- over groups that are let go without being taken back
SELECT n, count(*) AS m FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id WITH ('state.ttl' = '1d')) x GROUP BY n WITH ('state.ttl' = 'forever')
--> MS-PLAN-RETRACT at line 1, column 30: x lets groups go after 'state.ttl' without taking them back, so one that comes again would count twice. Write 'state.ttl' = 'forever' in the query of x, or give it a WINDOW.

-- the first rows of groups that are let go
SELECT customer_id, n FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id WITH ('state.ttl' = '1d')) x QUALIFY ROW_NUMBER() OVER (ORDER BY n DESC) <= 10 WITH ('state.ttl' = 'forever')
--> MS-PLAN-RETRACT at line 1, column 28: x lets groups go after 'state.ttl' without taking them back, so one that comes again would count twice. Write 'state.ttl' = 'forever' in the query of x, or give it a WINDOW.

-- sessions of rows that are taken back
SELECT count(*) AS m FROM (SELECT customer_id, count(*) AS n, _window_start, _window_end FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id EMIT CHANGES) x WINDOW SESSION(GAP INTERVAL 1 HOUR)

-- sessions of results that are told once
SELECT count(*) AS m FROM (SELECT customer_id, count(*) AS n, _window_start, _window_end FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id EMIT FINAL) x WINDOW SESSION(GAP INTERVAL 1 HOUR)

-- windows of rows that are taken back
SELECT count(*) AS m FROM (SELECT customer_id, count(*) AS n, _window_start, _window_end FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id EMIT CHANGES) x WINDOW TUMBLING(INTERVAL 1 DAY) WITH ('late.policy' = 'drop')

-- reassigned late rows that are taken back
SELECT count(*) AS m FROM (SELECT customer_id, count(*) AS n, _window_start, _window_end FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id EMIT CHANGES) x WINDOW TUMBLING(INTERVAL 1 DAY) WITH ('late.policy' = 'reassign', 'late.budget' = '30s')

-- late rows that are taken back, put out
SELECT count(*) AS m FROM (SELECT customer_id, count(*) AS n, _window_start, _window_end FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id EMIT CHANGES) x WINDOW TUMBLING(INTERVAL 1 DAY) WITH ('late.policy' = 'side_output')

-- late rows that are taken back, of the first of a window
SELECT customer_id FROM (SELECT customer_id, count(*) AS n, _window_start, _window_end FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id EMIT CHANGES) x QUALIFY ROW_NUMBER() OVER (PARTITION BY _window_end ORDER BY n) <= 3 EMIT FINAL WITH ('late.policy' = 'side_output')

-- every and some of rows that are taken back
SELECT every(n > 1) AS e, bool_or(n > 5) AS s FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id WITH ('state.ttl' = 'forever')) x

-- chance in a result that changes
SELECT count(*) * rand() AS n FROM orders

-- chance in a result that is told once
SELECT count(*) * rand() AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR)

-- the clock in a result that changes
SELECT count(*) AS n, current_timestamp() AS at FROM orders

-- the clock in a result of which the new value is written
SELECT count(*) AS n, Now() AS at, unix_timestamp() AS s FROM orders WITH ('output.mode' = 'upsert')

-- chance in a result of which the new value is written
SELECT count(*) AS n, uuid() AS id, now() AS at FROM orders WITH ('output.mode' = 'upsert')

-- the clock in HAVING of a result of which the new value is written
SELECT max(event_time) AS t FROM orders HAVING t < now() WITH ('output.mode' = 'upsert')

-- the clock inside a query of which the new value is written
SELECT n, at FROM (SELECT count(*) AS n, current_date AS at FROM orders) x WITH ('output.mode' = 'upsert')

-- chance in WHERE of rows that are taken back
SELECT n FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id WITH ('state.ttl' = 'forever')) x WHERE n > 5 AND rand(1) < 0.5

-- chance below an aggregate of rows that are taken back
SELECT count(*) AS m FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id WITH ('state.ttl' = 'forever')) x WHERE rand() < 0.5

-- chance inside an aggregate of rows that are taken back
SELECT sum(n * rand()) AS m FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id WITH ('state.ttl' = 'forever')) x

-- the clock in a key of rows that are taken back
SELECT count(*) AS m FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id WITH ('state.ttl' = 'forever')) x GROUP BY n, current_date() WITH ('state.ttl' = 'forever')

-- chance in the order of rows that are taken back
SELECT customer_id FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id WITH ('state.ttl' = 'forever')) x QUALIFY ROW_NUMBER() OVER (ORDER BY rand()) <= 3 WITH ('state.ttl' = 'forever')

-- chance and the clock below what takes rows back
SELECT day, sum(r) AS s FROM (SELECT current_date() AS day, rand() AS r FROM orders) x GROUP BY day WITH ('state.ttl' = 'forever')

-- a column that is called as a function of the clock
SELECT n, `current_date` FROM (SELECT count(*) AS n, max(customer_id) AS `current_date` FROM orders) x
