-- the first of each partition, with their number
SELECT * FROM (SELECT order_id, total, ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY total DESC, order_id NULLS LAST) AS rn FROM orders WHERE total > 1) WHERE rn <= 3 WITH ('state.ttl' = '1d')
--> mode retract
--> select over _query
-->   _query.order_id AS order_id : STRING
-->   _query.total AS total : DOUBLE
-->   _query.rn AS rn : INT
-->   select
-->     order_id AS order_id : STRING
-->     total AS total : DOUBLE
-->     rn AS rn : INT
-->     first 3, emit changes
-->       partition orders.customer_id
-->       order orders.total DESC, orders.order_id ASC NULLS LAST
-->       number rn
-->       ttl 1d
-->       input orders, time event_time - 5s, used order_id, total
-->         select over orders
-->           orders.order_id AS order_id : STRING
-->           orders.customer_id AS customer_id : STRING
-->           orders.total AS total : DOUBLE
-->           orders.event_time AS event_time : TIMESTAMP  <- event time
-->           where orders.total > 1
-->           source orders

-- the number is carried only if it is used
SELECT order_id FROM (SELECT order_id, total, ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY total DESC) AS rn FROM orders) t WHERE t.rn = 1 AND total > 3 WITH ('state.ttl' = '1d')
--> mode retract
--> select over t
-->   t.order_id AS order_id : STRING
-->   where t.total > 3
-->   select
-->     order_id AS order_id : STRING
-->     total AS total : DOUBLE
-->     first 1, emit changes
-->       partition orders.customer_id
-->       order orders.total DESC
-->       ttl 1d
-->       input orders, time event_time, used order_id, total

-- less than, the other way round, with WITH inside
SELECT order_id FROM (SELECT order_id, ROW_NUMBER() OVER (ORDER BY total DESC) AS rn FROM orders WITH ('state.ttl' = '1d')) t WHERE 11 > rn
--> mode retract
--> select over t
-->   t.order_id AS order_id : STRING
-->   select
-->     order_id AS order_id : STRING
-->     first 10, emit changes
-->       partition none
-->       order orders.total DESC
-->       ttl 1d
-->       input orders, time event_time, used order_id

-- one row number
SELECT order_id FROM (SELECT order_id, ROW_NUMBER() OVER (ORDER BY total) AS rn FROM orders) t WHERE rn = 2 WITH ('state.ttl' = '1d')
--> mode retract
--> select over t
-->   t.order_id AS order_id : STRING
-->   where t.rn = 2
-->   select
-->     order_id AS order_id : STRING
-->     rn AS rn : INT
-->     first 2, emit changes
-->       partition none
-->       order orders.total ASC
-->       number rn
-->       ttl 1d
-->       input orders, time event_time, used order_id

-- a WITH name
WITH r AS (SELECT *, ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY total DESC) AS rn FROM orders) SELECT order_id, rn FROM r WHERE rn BETWEEN 1 AND 5 WITH ('state.ttl' = '1d')
--> mode retract
--> select over r
-->   r.order_id AS order_id : STRING
-->   r.rn AS rn : INT
-->   select
-->     order_id AS order_id : STRING
-->     customer_id AS customer_id : STRING
-->     total AS total : DOUBLE
-->     event_time AS event_time : TIMESTAMP
-->     rn AS rn : INT
-->     first 5, emit changes
-->       partition orders.customer_id
-->       order orders.total DESC
-->       number rn
-->       ttl 1d
-->       input orders, time event_time, used order_id, customer_id, total, event_time

-- QUALIFY
SELECT order_id, total FROM orders QUALIFY ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY total DESC) <= 2 WITH ('state.ttl' = 'forever')
--> mode retract
--> select
-->   order_id AS order_id : STRING
-->   total AS total : DOUBLE
-->   first 2, emit changes
-->     partition orders.customer_id
-->     order orders.total DESC
-->     input orders, time event_time, used order_id, total

-- QUALIFY by the name
SELECT order_id, ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY total DESC) AS n FROM orders QUALIFY n <= 2 AND total > 1 WITH ('state.ttl' = 'forever')
--> mode retract
--> select
-->   order_id AS order_id : STRING
-->   n AS n : INT
-->   where total > 1
-->   first 2, emit changes
-->     partition orders.customer_id
-->     order orders.total DESC
-->     number n
-->     input orders, time event_time, used order_id, total

-- of each window, once it closes
SELECT customer_id, n, rn, _window_end FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY _window_start, _window_end ORDER BY n DESC) AS rn FROM (SELECT customer_id, _window_start, _window_end, count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id) a) b WHERE rn <= 3
--> select over b
-->   b.customer_id AS customer_id : STRING
-->   b.n AS n : BIGINT
-->   b.rn AS rn : INT
-->   b._window_end AS _window_end : TIMESTAMP
-->   select
-->     customer_id AS customer_id : STRING
-->     _window_start AS _window_start : TIMESTAMP  <- window
-->     _window_end AS _window_end : TIMESTAMP  <- window
-->     n AS n : BIGINT
-->     rn AS rn : INT
-->     first 3, emit final, due a._window_end
-->       partition a._window_start, a._window_end
-->       order a.n DESC
-->       number rn
-->       input a, time _window_time, used customer_id, _window_start, _window_end, n
-->         select
-->           k0 AS customer_id : STRING
-->           _window_start AS _window_start : TIMESTAMP  <- window
-->           _window_end AS _window_end : TIMESTAMP  <- window
-->           a0 AS n : BIGINT
-->           _window_time AS _window_time : TIMESTAMP  <- event time
-->           aggregate, tumbling windows of 1h, emit final
-->             key orders.customer_id AS k0 : STRING
-->             call count(*) AS a0 : BIGINT
-->             input orders, time event_time, used none

-- of each window of rows
SELECT order_id, total FROM (SELECT order_id, total, ROW_NUMBER() OVER (PARTITION BY _window_end ORDER BY total DESC) AS rn FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR)) b WHERE rn <= 3 WITH ('late.policy' = 'side_output')
--> select over b
-->   b.order_id AS order_id : STRING
-->   b.total AS total : DOUBLE
-->   select
-->     order_id AS order_id : STRING
-->     total AS total : DOUBLE
-->     first 3, emit final, due orders._window_end
-->       partition orders._window_end
-->       order orders.total DESC
-->       late side_output: late rows go to the output late
-->       input orders, time event_time - 5s, used order_id, customer_id, total, event_time, _window_start, _window_end
-->         select over orders
-->           orders.order_id AS order_id : STRING
-->           orders.customer_id AS customer_id : STRING
-->           orders.total AS total : DOUBLE
-->           orders.event_time AS event_time : TIMESTAMP  <- event time
-->           timestamp_micros(unix_micros(orders.event_time) - pmod(unix_micros(orders.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->           timestamp_micros(unix_micros(orders.event_time) - pmod(unix_micros(orders.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->           source orders

-- of each window, as it changes
SELECT order_id, total FROM (SELECT order_id, total, ROW_NUMBER() OVER (PARTITION BY _window_end ORDER BY total DESC) AS rn FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR)) b WHERE rn <= 3 EMIT CHANGES WITH ('state.ttl' = '2h')
--> mode retract
--> select over b
-->   b.order_id AS order_id : STRING
-->   b.total AS total : DOUBLE
-->   select
-->     order_id AS order_id : STRING
-->     total AS total : DOUBLE
-->     first 3, emit changes
-->       partition orders._window_end
-->       order orders.total DESC
-->       ttl 2h
-->       input orders, time event_time - 5s, used order_id, total
-->         select over orders
-->           orders.order_id AS order_id : STRING
-->           orders.total AS total : DOUBLE
-->           orders.event_time AS event_time : TIMESTAMP  <- event time
-->           timestamp_micros(unix_micros(orders.event_time) - pmod(unix_micros(orders.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->           timestamp_micros(unix_micros(orders.event_time) - pmod(unix_micros(orders.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->           source orders

-- over rows that can be retracted
SELECT customer_id, n FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id WITH ('state.ttl' = 'forever')) x QUALIFY ROW_NUMBER() OVER (ORDER BY n DESC) <= 10 WITH ('state.ttl' = 'forever')
--> mode retract
--> select
-->   customer_id AS customer_id : STRING
-->   n AS n : BIGINT
-->   first 10, emit changes
-->     partition none
-->     order x.n DESC
-->     over changes
-->     input x, time None, used customer_id, n
-->       select
-->         k0 AS customer_id : STRING
-->         a0 AS n : BIGINT
-->         aggregate, emit changes
-->           key orders.customer_id AS k0 : STRING
-->           call count(*) AS a0 : BIGINT
-->           input orders, time event_time, used none

-- a named window
SELECT order_id FROM orders WINDOW w AS (PARTITION BY customer_id ORDER BY total) QUALIFY row_number() OVER w = 1 WITH ('state.ttl' = '1d')
--> mode retract
--> select
-->   order_id AS order_id : STRING
-->   first 1, emit changes
-->     partition orders.customer_id
-->     order orders.total ASC
-->     ttl 1d
-->     input orders, time event_time, used order_id

-- over a join
SELECT o.order_id, s.weight FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id QUALIFY ROW_NUMBER() OVER (PARTITION BY o.customer_id ORDER BY s.weight) <= 2 WITH ('state.ttl' = '1d')
--> mode retract
--> select
-->   order_id AS order_id : STRING
-->   weight AS weight : DOUBLE
-->   first 2, emit changes
-->     partition joined.customer_id
-->     order joined.weight ASC
-->     ttl 1d
-->     input joined, time event_time - 5m, used order_id, weight
-->       select
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         o.order_id AS order_id : STRING
-->         s.weight AS weight : DOUBLE
-->         o.customer_id AS customer_id : STRING
-->         inner join [-5m, 5m]
-->           key o.order_id = s.order_id
-->           left o, time event_time, used order_id, customer_id, event_time
-->           right s, time event_time, used weight

-- no limit
SELECT row_number() OVER (PARTITION BY customer_id ORDER BY event_time) AS n FROM orders
--> MS-PLAN-TOP-N at line 1, column 8: ROW_NUMBER() has no limit, so the state would keep every row forever. Limit the row number: WHERE n <= 10 in the outer query, where n is its alias, or QUALIFY ROW_NUMBER() OVER (…) <= 10.

-- a filter that is no limit
SELECT order_id FROM (SELECT order_id, ROW_NUMBER() OVER (ORDER BY total) AS rn FROM orders) t WHERE rn > 2 WITH ('state.ttl' = '1d')
--> MS-PLAN-TOP-N at line 1, column 40: ROW_NUMBER() has no limit, so the state would keep every row forever. Limit the row number: WHERE n <= 10 in the outer query, where n is its alias, or QUALIFY ROW_NUMBER() OVER (…) <= 10.

-- no row
SELECT order_id FROM (SELECT order_id, ROW_NUMBER() OVER (ORDER BY total) AS rn FROM orders) t WHERE rn < 1 WITH ('state.ttl' = '1d')
--> MS-PLAN-TOP-N at line 1, column 102: ROW_NUMBER() starts at 1, so no row passes the filter. Select at least one row.

-- no order
SELECT order_id FROM orders QUALIFY ROW_NUMBER() OVER (PARTITION BY customer_id) <= 1 WITH ('state.ttl' = '1d')
--> MS-PLAN-TOP-N at line 1, column 37: ROW_NUMBER() has no ORDER BY, so its result is undefined. Add ORDER BY to OVER.

-- no time to live
SELECT order_id FROM orders QUALIFY ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY total) <= 1
--> MS-PLAN-UNBOUNDED at line 1, column 37: the state would keep rows of every partition of orders forever. Add WITH ('state.ttl' = '1d'), or 'forever' if the state may grow without bound.

-- a time to live of windows
SELECT order_id FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) QUALIFY ROW_NUMBER() OVER (PARTITION BY _window_end ORDER BY total) <= 1 WITH ('state.ttl' = '1d')
--> MS-PROP-UNUSED at line 1, column 141: a Top-N of a window does not use 'state.ttl': its windows expire when they close. Remove it.

-- EMIT FINAL without a window
SELECT order_id FROM orders QUALIFY ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY total) <= 1 EMIT FINAL WITH ('state.ttl' = '1d')
--> MS-PLAN-EMIT-FINAL at line 1, column 102: EMIT FINAL emits results when their window closes, and this query has no window. Write EMIT CHANGES, or remove EMIT.

-- another ranking
SELECT order_id FROM orders QUALIFY RANK() OVER (PARTITION BY customer_id ORDER BY total) <= 1
--> MS-PLAN-OVER at line 1, column 37: there is no window function RANK over streams. Supported: ROW_NUMBER() OVER (PARTITION BY … ORDER BY …) with a filter such as <= 10, and aggregates OVER (PARTITION BY … ORDER BY the event time ROWS BETWEEN 10 PRECEDING AND CURRENT ROW).

-- natively
SELECT order_id FROM orders QUALIFY ROW_NUMBER() OVER (ORDER BY total) <= 1 WITH ('state.ttl' = '1d', 'engine' = 'native')
--> MS-PLAN-ENGINE at line 1, column 37: the native engine cannot run this query: Spark has no first rows of a partition for streams. Remove 'engine', or set it to 'columnar'.

-- results of the first ones of a window keep its time
SELECT _window_end, sum(n) AS s FROM (SELECT n, _window_start, _window_end FROM (SELECT customer_id, _window_start, _window_end, count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id) a QUALIFY ROW_NUMBER() OVER (PARTITION BY _window_end ORDER BY n DESC) <= 3) b GROUP BY _window_start, _window_end
--> select
-->   _window_end AS _window_end : TIMESTAMP
-->   a0 AS s : BIGINT
-->   aggregate, windows of the query below, emit final
-->     call sum(b.n) AS a0 : BIGINT
-->     given b._window_start to b._window_end
-->     input b, time _window_time, used none
-->       select
-->         n AS n : BIGINT
-->         _window_start AS _window_start : TIMESTAMP  <- window
-->         _window_end AS _window_end : TIMESTAMP  <- window
-->         _window_time AS _window_time : TIMESTAMP  <- event time
-->         first 3, emit final, due a._window_end
-->           partition a._window_end
-->           order a.n DESC
-->           input a, time _window_time, used _window_start, _window_end, n, _window_time
-->             select
-->               k0 AS customer_id : STRING
-->               _window_start AS _window_start : TIMESTAMP  <- window
-->               _window_end AS _window_end : TIMESTAMP  <- window
-->               a0 AS n : BIGINT
-->               _window_time AS _window_time : TIMESTAMP  <- event time
-->               aggregate, tumbling windows of 1h, emit final
-->                 key orders.customer_id AS k0 : STRING
-->                 call count(*) AS a0 : BIGINT
-->                 input orders, time event_time, used none

-- the first of all rows need no time to live
SELECT order_id FROM orders QUALIFY ROW_NUMBER() OVER (ORDER BY total) <= 5
--> mode retract
--> select
-->   order_id AS order_id : STRING
-->   first 5, emit changes
-->     partition none
-->     order orders.total ASC
-->     input orders, time event_time, used order_id

-- by the start of sessions only
SELECT * FROM (SELECT customer_id, n, _window_start, _window_end, ROW_NUMBER() OVER (PARTITION BY _window_start ORDER BY n DESC) AS rn FROM (SELECT customer_id, count(*) AS n, _window_start, _window_end FROM orders WINDOW SESSION(GAP INTERVAL 1 HOUR) GROUP BY customer_id)) WHERE rn <= 1
--> MS-PLAN-WINDOW at line 1, column 141: start and end identify a session window, and PARTITION BY has only the start. Partition by the end, or by both.
