-- the last rows
SELECT order_id, total, avg(total) OVER (PARTITION BY customer_id ORDER BY event_time ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) AS mean FROM orders WITH ('state.ttl' = '1d')
--> select
-->   order_id AS order_id : STRING
-->   total AS total : DOUBLE
-->   a0 AS mean : DOUBLE
-->   rows over 3 before
-->     partition orders.customer_id
-->     call avg(orders.total) AS a0 : DOUBLE
-->     ttl 1d
-->     input orders, time event_time, used order_id, total

-- several calls, an expression, a named window, a filter before and one after
SELECT event_time, total - min(total) OVER w AS d, count(*) OVER w AS c FROM orders WHERE total > 0 WINDOW w AS (PARTITION BY customer_id ORDER BY event_time ROWS 3 PRECEDING) QUALIFY c > 1 AND max(total) OVER w < 5 WITH ('state.ttl' = '1d')
--> select
-->   event_time AS event_time : TIMESTAMP  <- event time
-->   total - a0 AS d
-->   a1 AS c : BIGINT
-->   where a1 > 1 AND a2 < 5
-->   rows over 3 before
-->     partition orders.customer_id
-->     call min(orders.total) AS a0 : DOUBLE
-->     call count(*) AS a1 : BIGINT
-->     call max(orders.total) AS a2 : DOUBLE
-->     ttl 1d
-->     input orders, time event_time - 5s, used total, event_time
-->       select over orders
-->         orders.customer_id AS customer_id : STRING
-->         orders.total AS total : DOUBLE
-->         orders.event_time AS event_time : TIMESTAMP  <- event time
-->         where orders.total > 0
-->         source orders

-- all rows before
SELECT order_id, sum(total) OVER (ORDER BY _EVENT_TIME ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS s FROM orders
--> select
-->   order_id AS order_id : STRING
-->   a0 AS s : DOUBLE
-->   rows over all before
-->     partition none
-->     call sum(orders.total) AS a0 : DOUBLE
-->     input orders, time event_time, used order_id

-- an aggregate over it, in time
SELECT count(*) AS n FROM (SELECT event_time, sum(total) OVER (PARTITION BY customer_id ORDER BY event_time ROWS 1 PRECEDING) AS s FROM orders WITH ('state.ttl' = '1d')) x WHERE s > 5 WINDOW TUMBLING(INTERVAL 1 HOUR)
--> select
-->   a0 AS n : BIGINT
-->   aggregate, tumbling windows of 1h, emit final
-->     call count(*) AS a0 : BIGINT
-->     input x, time event_time, used none
-->       select over x
-->         x.event_time AS event_time : TIMESTAMP  <- event time
-->         where x.s > 5
-->         select
-->           event_time AS event_time : TIMESTAMP  <- event time
-->           a0 AS s : DOUBLE
-->           rows over 1 before
-->             partition orders.customer_id
-->             call sum(orders.total) AS a0 : DOUBLE
-->             ttl 1d
-->             input orders, time event_time, used event_time

-- no time to live
SELECT sum(total) OVER (PARTITION BY customer_id ORDER BY event_time ROWS 1 PRECEDING) AS s FROM orders
--> MS-PLAN-UNBOUNDED at line 1, column 1: the state would keep rows of every partition of orders forever. Add WITH ('state.ttl' = '1d'), or 'forever' if the state may grow without bound.

-- another order
SELECT sum(total) OVER (PARTITION BY customer_id ORDER BY total ROWS 1 PRECEDING) AS s FROM orders WITH ('state.ttl' = '1d')
--> MS-PLAN-OVER at line 1, column 8: the window is not ordered by event time, ascending. Write OVER (PARTITION BY … ORDER BY event_time ROWS BETWEEN 10 PRECEDING AND CURRENT ROW), with the same window for all; compute other windows in a subquery.

-- backwards
SELECT sum(total) OVER (PARTITION BY customer_id ORDER BY event_time DESC ROWS 1 PRECEDING) AS s FROM orders WITH ('state.ttl' = '1d')
--> MS-PLAN-OVER at line 1, column 8: the window is not ordered by event time, ascending. Write OVER (PARTITION BY … ORDER BY event_time ROWS BETWEEN 10 PRECEDING AND CURRENT ROW), with the same window for all; compute other windows in a subquery.

-- a range
SELECT sum(total) OVER (PARTITION BY customer_id ORDER BY event_time RANGE BETWEEN INTERVAL 1 HOUR PRECEDING AND CURRENT ROW) AS s FROM orders WITH ('state.ttl' = '1d')
--> MS-PLAN-OVER at line 1, column 8: the window has no ROWS frame. Write OVER (PARTITION BY … ORDER BY event_time ROWS BETWEEN 10 PRECEDING AND CURRENT ROW), with the same window for all; compute other windows in a subquery.

-- no frame
SELECT sum(total) OVER (PARTITION BY customer_id ORDER BY event_time) AS s FROM orders WITH ('state.ttl' = '1d')
--> MS-PLAN-OVER at line 1, column 8: the window has no ROWS frame. Write OVER (PARTITION BY … ORDER BY event_time ROWS BETWEEN 10 PRECEDING AND CURRENT ROW), with the same window for all; compute other windows in a subquery.

-- rows to come
SELECT sum(total) OVER (ORDER BY event_time ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS s FROM orders WITH ('state.ttl' = '1d')
--> MS-PLAN-OVER at line 1, column 8: the frame does not end at the current row. Write OVER (PARTITION BY … ORDER BY event_time ROWS BETWEEN 10 PRECEDING AND CURRENT ROW), with the same window for all; compute other windows in a subquery.

-- two windows
SELECT sum(total) OVER (ORDER BY event_time ROWS 1 PRECEDING) AS s, sum(total) OVER (ORDER BY event_time ROWS 2 PRECEDING) AS r FROM orders WITH ('state.ttl' = '1d')
--> MS-PLAN-OVER at line 1, column 69: the window functions of the query have different windows. Write OVER (PARTITION BY … ORDER BY event_time ROWS BETWEEN 10 PRECEDING AND CURRENT ROW), with the same window for all; compute other windows in a subquery.

-- another window function
SELECT lag(total) OVER (PARTITION BY customer_id ORDER BY event_time) AS s FROM orders WITH ('state.ttl' = '1d')
--> MS-PLAN-OVER at line 1, column 8: there is no window function LAG over streams. Supported: ROW_NUMBER() OVER (PARTITION BY … ORDER BY …) with a filter such as <= 10, and aggregates OVER (PARTITION BY … ORDER BY the event time ROWS BETWEEN 10 PRECEDING AND CURRENT ROW).

-- a window that is not there
SELECT sum(total) OVER v AS s FROM orders WINDOW w AS (ORDER BY event_time ROWS 1 PRECEDING) WITH ('state.ttl' = '1d')
--> MS-PLAN-OVER at line 1, column 8: the query has no window v. Known: w.

-- distinct
SELECT count(DISTINCT total) OVER (ORDER BY event_time ROWS 1 PRECEDING) AS s FROM orders WITH ('state.ttl' = '1d')
--> MS-PLAN-AGGREGATE at line 1, column 8: count_distinct is not supported with OVER. Use GROUP BY with a WINDOW.

-- in WHERE
SELECT order_id FROM orders WHERE sum(total) OVER (ORDER BY event_time ROWS 1 PRECEDING) > 1 WITH ('state.ttl' = '1d')
--> MS-PLAN-OVER at line 1, column 35: a window function (OVER) is only allowed in the select list and in QUALIFY. Compute it in a query in FROM, and use its column here.

-- no watermark
SELECT count(*) OVER (ORDER BY at ROWS 1 PRECEDING) AS s FROM clicks WITH ('state.ttl' = '1d')
--> MS-PLAN-NO-WATERMARK at line 1, column 63: clicks has no watermark, so its rows would never expire from state. Declare WATERMARK FOR at AS at - INTERVAL 5 SECONDS in clicks.

-- QUALIFY of nothing
SELECT order_id FROM orders QUALIFY total > 1
--> MS-PLAN-OVER at line 1, column 29: QUALIFY needs a window function, and this query has none. Write WHERE, or QUALIFY ROW_NUMBER() OVER (PARTITION BY … ORDER BY …) <= 10.

-- beside ROW_NUMBER()
SELECT sum(total) OVER (ORDER BY event_time ROWS 1 PRECEDING) AS s, ROW_NUMBER() OVER (ORDER BY event_time) AS n FROM orders WITH ('state.ttl' = '1d')
--> MS-PLAN-ONE-OPERATOR at line 1, column 69: the query has both ROW_NUMBER() and an aggregate with OVER. Compute one of them in a subquery.

-- over a join, and all columns of a side
SELECT o.*, count(*) OVER (PARTITION BY o.order_id ORDER BY o.event_time ROWS 1 PRECEDING) AS n FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id) WITH ('state.ttl' = '2d')
--> select
-->   order_id AS order_id : STRING
-->   customer_id AS customer_id : STRING
-->   total AS total : DOUBLE
-->   event_time AS event_time : TIMESTAMP  <- event time
-->   a0 AS n : BIGINT
-->   rows over 1 before
-->     partition joined.order_id
-->     call count(*) AS a0 : BIGINT
-->     ttl 2d
-->     input joined, time event_time - 5m, used event_time, order_id, customer_id, total
-->       select
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         o.order_id AS order_id : STRING
-->         o.customer_id AS customer_id : STRING
-->         o.total AS total : DOUBLE
-->         inner join [-5m, 5m]
-->           key o.order_id = s.order_id
-->           left o, time event_time, used order_id, customer_id, total, event_time
-->           right s, time event_time, used none

-- a column that has the name of a call
SELECT a0, a0 + sum(a0) OVER (ORDER BY t ROWS 1 PRECEDING) AS s FROM (SELECT a AS a0, t FROM events) x
--> select
-->   a0 AS a0 : INT
-->   a0 + a0_ AS s
-->   rows over 1 before
-->     partition none
-->     call sum(x.a0) AS a0_ : BIGINT
-->     input x, time t, used a0
-->       select over events
-->         events.a AS a0 : INT
-->         events.t AS t : TIMESTAMP  <- event time
-->         source events
