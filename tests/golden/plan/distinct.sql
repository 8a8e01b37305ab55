-- DISTINCT
SELECT DISTINCT customer_id, upper(order_id) AS o FROM orders WITH ('state.ttl' = '1d')
--> select
-->   customer_id AS customer_id : STRING
-->   upper(order_id) AS o
-->   deduplicate by orders.customer_id, upper(orders.order_id), within 1d
-->     input orders, time event_time, used order_id, customer_id

-- DISTINCT ON
SELECT DISTINCT ON (order_id, upper(customer_id)) order_id, total, event_time FROM orders o WHERE total > 1 WITH ('state.ttl' = '1h', 'late.policy' = 'side_output')
--> select
-->   order_id AS order_id : STRING
-->   total AS total : DOUBLE
-->   event_time AS event_time : TIMESTAMP  <- event time
-->   deduplicate by o.order_id, upper(o.customer_id), within 1h
-->     late side_output: late rows go to the output late
-->     input o, time event_time - 5s, used order_id, customer_id, total, event_time
-->       select over o
-->         o.order_id AS order_id : STRING
-->         o.customer_id AS customer_id : STRING
-->         o.total AS total : DOUBLE
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         where o.total > 1
-->         source orders

-- a star
SELECT DISTINCT * FROM orders WITH ('state.ttl' = '1h')
--> select
-->   order_id AS order_id : STRING
-->   customer_id AS customer_id : STRING
-->   total AS total : DOUBLE
-->   event_time AS event_time : TIMESTAMP  <- event time
-->   deduplicate by orders.order_id, orders.customer_id, orders.total, orders.event_time, within 1h
-->     input orders, time event_time, used order_id, customer_id, total, event_time

-- for ever, without a watermark
SELECT DISTINCT user_id FROM clicks WITH ('state.ttl' = 'forever', 'engine' = 'native')
--> MS-PLAN-ENGINE at line 1, column 1: the native engine cannot run this query: Spark has no DISTINCT with 'state.ttl' over streams. Remove 'engine', or set it to 'columnar'.

-- over a join
SELECT DISTINCT ON (o.order_id) o.order_id, s.carrier FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id) WITH ('state.ttl' = '1h')
--> select
-->   order_id AS order_id : STRING
-->   carrier AS carrier : STRING
-->   deduplicate by joined.order_id, within 1h
-->     input joined, time event_time - 5m, used order_id, carrier
-->       select
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         o.order_id AS order_id : STRING
-->         s.carrier AS carrier : STRING
-->         inner join [-5m, 5m]
-->           key o.order_id = s.order_id
-->           left o, time event_time, used order_id, event_time
-->           right s, time event_time, used carrier

-- counted once each
SELECT customer_id, count(*) AS n FROM (SELECT DISTINCT ON (order_id) customer_id, event_time FROM orders WITH ('state.ttl' = '1h')) x WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id
--> select
-->   k0 AS customer_id : STRING
-->   a0 AS n : BIGINT
-->   aggregate, tumbling windows of 1h, emit final
-->     key x.customer_id AS k0 : STRING
-->     call count(*) AS a0 : BIGINT
-->     input x, time event_time, used none
-->       select
-->         customer_id AS customer_id : STRING
-->         event_time AS event_time : TIMESTAMP  <- event time
-->         deduplicate by orders.order_id, within 1h
-->           input orders, time event_time, used customer_id, event_time

-- without a limit
SELECT DISTINCT customer_id FROM orders
--> MS-PLAN-UNBOUNDED at line 1, column 1: the state would keep every row of orders forever. Add WITH ('state.ttl' = '1d'), or 'forever' if the state may grow without bound.

-- keys without a limit
SELECT DISTINCT ON (order_id) customer_id FROM orders
--> MS-PLAN-UNBOUNDED at line 1, column 1: the state would keep every key of orders forever. Add WITH ('state.ttl' = '1d'), or 'forever' if the state may grow without bound.

-- an unknown key
SELECT DISTINCT ON (order) customer_id FROM orders WITH ('state.ttl' = '1h')
--> MS-PLAN-UNKNOWN-COLUMN at line 1, column 21: orders has no column order. Did you mean order_id?

-- late rows where rows have no time
SELECT DISTINCT user_id FROM clicks WITH ('state.ttl' = 'forever', 'late.policy' = 'drop')
--> MS-PROP-UNUSED at line 1, column 68: 'late.policy' does not apply to DISTINCT without an event time: its rows have no event time. Remove it.

-- natively for a while
SELECT DISTINCT customer_id FROM orders WITH ('state.ttl' = '1h', 'engine' = 'native')
--> MS-PLAN-ENGINE at line 1, column 1: the native engine cannot run this query: Spark has no DISTINCT with 'state.ttl' over streams. Remove 'engine', or set it to 'columnar'.

-- natively, any row of a key
SELECT DISTINCT ON (user_id) user_id, at FROM clicks WITH ('state.ttl' = 'forever', 'engine' = 'native')
--> MS-PLAN-ENGINE at line 1, column 1: the native engine cannot run this query: Spark has no DISTINCT with 'state.ttl' over streams. Remove 'engine', or set it to 'columnar'.

-- no key
SELECT DISTINCT ON () order_id FROM orders WITH ('state.ttl' = '2d')
--> MS-PLAN-GROUP at line 1, column 1: DISTINCT ON has no key. Write DISTINCT ON (column, …).

-- a variable that hides a column
SELECT DISTINCT filter(xs, a -> a > events.a) AS f FROM events WITH ('state.ttl' = '1d')
--> MS-PLAN-AMBIGUOUS at line 1, column 28: the lambda's variable a hides the column a. Give the variable another name.
