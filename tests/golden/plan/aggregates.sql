-- a tumbling window
SELECT customer_id, COUNT(*) AS n, SUM(total) AS s FROM orders WINDOW TUMBLING(INTERVAL '1' HOUR) GROUP BY customer_id EMIT FINAL
--> select
-->   k0 AS customer_id : STRING
-->   a0 AS n : BIGINT
-->   a1 AS s : DOUBLE
-->   aggregate, tumbling windows of 1h, emit final
-->     key orders.customer_id AS k0 : STRING
-->     call count(*) AS a0 : BIGINT
-->     call sum(orders.total) AS a1 : DOUBLE
-->     input orders, time event_time, used none

-- window columns in any letter case, listed in GROUP BY or not
SELECT _Window_Start AS begins, _WINDOW_END, customer_id, count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id, _window_start
--> select
-->   _window_start AS begins : TIMESTAMP  <- window
-->   _window_end AS _WINDOW_END : TIMESTAMP  <- window
-->   k0 AS customer_id : STRING
-->   a0 AS n : BIGINT
-->   aggregate, tumbling windows of 1h, emit final
-->     key orders.customer_id AS k0 : STRING
-->     call count(*) AS a0 : BIGINT
-->     input orders, time event_time, used none

-- an expression over aggregates, each distinct call once
SELECT customer_id, round(sum(total) / count(*), 2) AS mean, sum( total ) AS s, count(1) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id
--> select
-->   k0 AS customer_id : STRING
-->   round(a0 / a1, 2) AS mean
-->   a0 AS s : DOUBLE
-->   a1 AS n : BIGINT
-->   aggregate, tumbling windows of 1h, emit final
-->     key orders.customer_id AS k0 : STRING
-->     call sum(orders.total) AS a0 : DOUBLE
-->     call count(*) AS a1 : BIGINT
-->     input orders, time event_time, used none

-- keys by alias
SELECT upper(customer_id) AS who, count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY who
--> select
-->   k0 AS who
-->   a0 AS n : BIGINT
-->   aggregate, tumbling windows of 1h, emit final
-->     key upper(orders.customer_id) AS k0
-->     call count(*) AS a0 : BIGINT
-->     input orders, time event_time, used none

-- keys by number
SELECT customer_id, total > 5 AS big, count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY 1, 2
--> select
-->   k0 AS customer_id : STRING
-->   k1 AS big
-->   a0 AS n : BIGINT
-->   aggregate, tumbling windows of 1h, emit final
-->     key orders.customer_id AS k0 : STRING
-->     key orders.total > 5 AS k1
-->     call count(*) AS a0 : BIGINT
-->     input orders, time event_time, used none

-- a name is a column before it is an alias
SELECT upper(customer_id) AS total, count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY total, upper(customer_id)
--> select
-->   k1 AS total
-->   a0 AS n : BIGINT
-->   aggregate, tumbling windows of 1h, emit final
-->     key orders.total AS k0 : DOUBLE
-->     key upper(orders.customer_id) AS k1
-->     call count(*) AS a0 : BIGINT
-->     input orders, time event_time, used none

-- GROUP BY ALL
SELECT customer_id, _window_end, count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY ALL
--> select
-->   k0 AS customer_id : STRING
-->   _window_end AS _window_end : TIMESTAMP
-->   a0 AS n : BIGINT
-->   aggregate, tumbling windows of 1h, emit final
-->     key orders.customer_id AS k0 : STRING
-->     call count(*) AS a0 : BIGINT
-->     input orders, time event_time, used none

-- a key inside an expression, spelt in another way
SELECT concat(UPPER( o.customer_id ), '!') AS who, count(*) AS n FROM orders o WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY upper(customer_id)
--> select
-->   concat(k0, '!') AS who
-->   a0 AS n : BIGINT
-->   aggregate, tumbling windows of 1h, emit final
-->     key upper(o.customer_id) AS k0
-->     call count(*) AS a0 : BIGINT
-->     input o, time event_time, used none

-- a struct as a key, and a field of it
SELECT payload.kind, payload.inner.x AS x, count(*) AS n FROM events WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY payload.kind, payload
--> select
-->   k0 AS kind
-->   k1.inner.x AS x
-->   a0 AS n : BIGINT
-->   aggregate, tumbling windows of 1h, emit final
-->     key events.payload.kind AS k0
-->     key events.payload AS k1 : STRUCT<kind: STRING, inner: STRUCT<x: INT>>
-->     call count(*) AS a0 : BIGINT
-->     input events, time t, used none

-- HAVING by aggregate, key and alias
SELECT customer_id, count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id HAVING n > 2 AND (max(total) < 9 OR customer_id = 'x') AND _window_start > TIMESTAMP '2026-01-01'
--> select
-->   k0 AS customer_id : STRING
-->   a0 AS n : BIGINT
-->   where a0 > 2 AND (a1 < 9 OR k0 = 'x') AND _window_start > TIMESTAMP '2026-01-01'
-->   aggregate, tumbling windows of 1h, emit final
-->     key orders.customer_id AS k0 : STRING
-->     call count(*) AS a0 : BIGINT
-->     call max(orders.total) AS a1 : DOUBLE
-->     input orders, time event_time, used none

-- WHERE filters rows below
SELECT customer_id, count(*) AS n FROM orders o WHERE total > 5 WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id
--> select
-->   k0 AS customer_id : STRING
-->   a0 AS n : BIGINT
-->   aggregate, tumbling windows of 1h, emit final
-->     key o.customer_id AS k0 : STRING
-->     call count(*) AS a0 : BIGINT
-->     input o, time event_time - 5s, used none
-->       select over o
-->         o.customer_id AS customer_id : STRING
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         where o.total > 5
-->         source orders

-- FILTER
SELECT count(*) FILTER (WHERE total > 5) AS n, sum(total) FILTER (WHERE customer_id = 'x') AS s, first(total) FILTER (WHERE total > 1) AS f, first(total) FILTER (WHERE total > 1) IGNORE NULLS AS g, max_by(order_id, total) FILTER (WHERE total < 9) AS m FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR)
--> select
-->   a0 AS n : BIGINT
-->   a1 AS s : DOUBLE
-->   a2 AS f : DOUBLE
-->   a3 AS g : DOUBLE
-->   a4 AS m : STRING
-->   aggregate, tumbling windows of 1h, emit final
-->     call count(*) FILTER (WHERE orders.total > 5) AS a0 : BIGINT
-->     call sum(orders.total) FILTER (WHERE orders.customer_id = 'x') AS a1 : DOUBLE
-->     call first(orders.total) FILTER (WHERE orders.total > 1) AS a2 : DOUBLE
-->     call first(CASE WHEN orders.total > 1 THEN orders.total END) IGNORE NULLS AS a3 : DOUBLE
-->     call max_by(orders.order_id, CASE WHEN orders.total < 9 THEN orders.total END) AS a4 : STRING
-->     input orders, time event_time, used none

-- DISTINCT
SELECT count(DISTINCT customer_id) AS n, count(DISTINCT customer_id, total) AS m, max(DISTINCT total) AS x, collect_list(DISTINCT customer_id) AS l FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR)
--> select
-->   a0 AS n : BIGINT
-->   a1 AS m : BIGINT
-->   a2 AS x : DOUBLE
-->   a3 AS l : ARRAY<STRING>
-->   aggregate, tumbling windows of 1h, emit final
-->     call count(DISTINCT orders.customer_id) AS a0 : BIGINT
-->     call count(DISTINCT CASE WHEN orders.customer_id IS NOT NULL AND orders.total IS NOT NULL THEN struct(orders.customer_id, orders.total) END) AS a1 : BIGINT
-->     call max(orders.total) AS a2 : DOUBLE
-->     call collect_set(orders.customer_id) AS a3 : ARRAY<STRING>
-->     input orders, time event_time, used none

-- counting
SELECT count(total) AS n, count(total, customer_id) AS m, count_if(total > 5) AS c FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR)
--> select
-->   a0 AS n : BIGINT
-->   a1 AS m : BIGINT
-->   a2 AS c : BIGINT
-->   aggregate, tumbling windows of 1h, emit final
-->     call count(orders.total) AS a0 : BIGINT
-->     call count(*) FILTER (WHERE orders.total IS NOT NULL AND orders.customer_id IS NOT NULL) AS a1 : BIGINT
-->     call count(*) FILTER (WHERE orders.total > 5) AS a2 : BIGINT
-->     input orders, time event_time, used none

-- first, last and any value
SELECT first(total) AS a, first(total) IGNORE NULLS AS b, first_value(total IGNORE NULLS) AS c, last(total, true) AS d, last_value(total) AS e, any_value(total) AS f FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR)
--> select
-->   a0 AS a : DOUBLE
-->   a1 AS b : DOUBLE
-->   a1 AS c : DOUBLE
-->   a2 AS d : DOUBLE
-->   a3 AS e : DOUBLE
-->   a0 AS f : DOUBLE
-->   aggregate, tumbling windows of 1h, emit final
-->     call first(orders.total) AS a0 : DOUBLE
-->     call first(orders.total) IGNORE NULLS AS a1 : DOUBLE
-->     call last(orders.total) IGNORE NULLS AS a2 : DOUBLE
-->     call last(orders.total) AS a3 : DOUBLE
-->     input orders, time event_time, used none

-- other names of the same
SELECT mean(total) AS a, std(total) AS b, stddev(total) AS c, stddev_pop(total) AS d, variance(total) AS e, var_pop(total) AS f, array_agg(total) AS g, collect_set(total) AS h, bool_and(total > 1) AS i, every(total > 1) AS j, some(total > 1) AS k, any(total > 1) AS l, min_by(order_id, total) AS m FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR)
--> select
-->   a0 AS a : DOUBLE
-->   a1 AS b : DOUBLE
-->   a1 AS c : DOUBLE
-->   a2 AS d : DOUBLE
-->   a3 AS e : DOUBLE
-->   a4 AS f : DOUBLE
-->   a5 AS g : ARRAY<DOUBLE>
-->   a6 AS h : ARRAY<DOUBLE>
-->   a7 AS i : BOOLEAN
-->   a7 AS j : BOOLEAN
-->   a8 AS k : BOOLEAN
-->   a8 AS l : BOOLEAN
-->   a9 AS m : STRING
-->   aggregate, tumbling windows of 1h, emit final
-->     call avg(orders.total) AS a0 : DOUBLE
-->     call stddev_samp(orders.total) AS a1 : DOUBLE
-->     call stddev_pop(orders.total) AS a2 : DOUBLE
-->     call var_samp(orders.total) AS a3 : DOUBLE
-->     call var_pop(orders.total) AS a4 : DOUBLE
-->     call collect_list(orders.total) AS a5 : ARRAY<DOUBLE>
-->     call collect_set(orders.total) AS a6 : ARRAY<DOUBLE>
-->     call bool_and(orders.total > 1) AS a7 : BOOLEAN
-->     call bool_or(orders.total > 1) AS a8 : BOOLEAN
-->     call min_by(orders.order_id, orders.total) AS a9 : STRING
-->     input orders, time event_time, used none

-- sketches
SELECT approx_count_distinct(customer_id) AS a, approx_count_distinct(customer_id, 0.01) AS b, approx_percentile(total, 0.5) AS c, percentile_approx(total, array(0.5, 0.9)) AS d FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR)
--> select
-->   a0 AS a : BIGINT
-->   a1 AS b : BIGINT
-->   a2 AS c : DOUBLE
-->   array(a2, a3) AS d
-->   aggregate, tumbling windows of 1h, emit final
-->     call approx_count_distinct(orders.customer_id) AS a0 : BIGINT
-->     call approx_count_distinct(orders.customer_id, 0.01) AS a1 : BIGINT
-->     call approx_percentile(orders.total, 0.5) AS a2 : DOUBLE
-->     call approx_percentile(orders.total, 0.9) AS a3 : DOUBLE
-->     input orders, time event_time, used none

-- a call under a cast, an index and a field
SELECT sum(a)::INT AS x, collect_list(b)[0] AS y, max(payload).kind AS z FROM events WINDOW TUMBLING(INTERVAL 1 HOUR)
--> select
-->   a0::INT AS x : INT
-->   a1[0] AS y
-->   a2.kind AS z
-->   aggregate, tumbling windows of 1h, emit final
-->     call sum(events.a) AS a0 : BIGINT
-->     call collect_list(events.b) AS a1 : ARRAY<INT>
-->     call max(events.payload) AS a2 : STRUCT<kind: STRING, inner: STRUCT<x: INT>>
-->     input events, time t, used none

-- without a window, with a TTL
SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id WITH ('state.ttl' = '1d')
--> mode retract
--> select
-->   k0 AS customer_id : STRING
-->   a0 AS n : BIGINT
-->   aggregate, emit changes
-->     key orders.customer_id AS k0 : STRING
-->     call count(*) AS a0 : BIGINT
-->     ttl 1d
-->     input orders, time event_time, used none

-- without a window, without expiry
SELECT user_id, count(*) AS n FROM clicks GROUP BY user_id WITH ('state.ttl' = 'Forever')
--> mode retract
--> select
-->   k0 AS user_id : STRING
-->   a0 AS n : BIGINT
-->   aggregate, emit changes
-->     key clicks.user_id AS k0 : STRING
-->     call count(*) AS a0 : BIGINT
-->     input clicks, time None, used none

-- one group needs no limit
SELECT count(*) AS n, avg(total) AS mean FROM orders
--> mode retract
--> select
-->   a0 AS n : BIGINT
-->   a1 AS mean : DOUBLE
-->   aggregate, emit changes
-->     call count(*) AS a0 : BIGINT
-->     call avg(orders.total) AS a1 : DOUBLE
-->     input orders, time event_time, used none

-- a list without a key has unbounded state
SELECT customer_id, collect_list(order_id) AS l FROM orders GROUP BY customer_id
--> MS-PLAN-UNBOUNDED at line 1, column 1: the state would keep every group of orders forever. Add WINDOW TUMBLING(INTERVAL '1' HOUR), or WITH ('state.ttl' = '1d'), or 'forever' if the state may grow without bound.

-- no key and a window
SELECT _window_start, count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR)
--> select
-->   _window_start AS _window_start : TIMESTAMP
-->   a0 AS n : BIGINT
-->   aggregate, tumbling windows of 1h, emit final
-->     call count(*) AS a0 : BIGINT
-->     input orders, time event_time, used none

-- only keys
SELECT customer_id FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id
--> select
-->   k0 AS customer_id : STRING
-->   aggregate, tumbling windows of 1h, emit final
-->     key orders.customer_id AS k0 : STRING
-->     input orders, time event_time, used none

-- over a join, whose columns get names of their own
SELECT o.order_id, s.order_id AS again, max(s.weight) AS w, count(o.total) AS n FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.customer_id = s.carrier WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY o.order_id, s.order_id
--> select
-->   k0 AS order_id : STRING
-->   k1 AS again : STRING
-->   a0 AS w : DOUBLE
-->   a1 AS n : BIGINT
-->   aggregate, tumbling windows of 1h, emit final
-->     key joined.order_id AS k0 : STRING
-->     key joined.s_order_id AS k1 : STRING
-->     call max(joined.weight) AS a0 : DOUBLE
-->     call count(joined.total) AS a1 : BIGINT
-->     input joined, time event_time - 5m, used none
-->       select
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         o.order_id AS order_id : STRING
-->         s.order_id AS s_order_id : STRING
-->         s.weight AS weight : DOUBLE
-->         o.total AS total : DOUBLE
-->         inner join [-5m, 5m]
-->           key o.customer_id = s.carrier
-->           left o, time event_time, used order_id, total, event_time
-->           right s, time event_time, used order_id, weight

-- over a right join, by the time of its right side
SELECT s.carrier, count(*) AS n FROM orders o RIGHT JOIN shipments s ON o.order_id = s.order_id AND s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL 1 HOUR WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY s.carrier
--> select
-->   k0 AS carrier : STRING
-->   a0 AS n : BIGINT
-->   aggregate, tumbling windows of 1h, emit final
-->     key joined.carrier AS k0 : STRING
-->     call count(*) AS a0 : BIGINT
-->     input joined, time event_time, used none
-->       select
-->         s.event_time AS event_time : TIMESTAMP  <- event time
-->         s.carrier AS carrier : STRING
-->         right join [0s, 1h]
-->           key o.order_id = s.order_id
-->           left o, time event_time, used none
-->           right s, time event_time, used carrier, event_time

-- over a full join there is no time
SELECT count(*) AS n FROM orders o FULL JOIN shipments s WITHIN 5 MINUTES USING (order_id) WINDOW TUMBLING(INTERVAL 1 HOUR)
--> MS-PLAN-NO-WATERMARK at line 1, column 36: a FULL JOIN pads either side, so its rows have no event time. Join with LEFT or RIGHT.

-- neither grouped nor aggregated
SELECT customer_id, order_id, count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id
--> MS-PLAN-GROUP at line 1, column 21: order_id is neither a GROUP BY key nor inside an aggregate. Add order_id to GROUP BY, or write any_value(order_id) or max(order_id).

-- no GROUP BY at all
SELECT customer_id, count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR)
--> MS-PLAN-GROUP at line 1, column 8: customer_id is neither a GROUP BY key nor inside an aggregate. Add GROUP BY customer_id, or write any_value(customer_id) or max(customer_id).

-- in HAVING
SELECT customer_id, count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id HAVING total > 5
--> MS-PLAN-GROUP at line 1, column 108: total is neither a GROUP BY key nor inside an aggregate. Add total to GROUP BY, or write any_value(total) or max(total).

-- a star
SELECT * FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id
--> MS-PLAN-GROUP at line 1, column 8: * includes columns that are neither grouped nor aggregated. List the GROUP BY keys and the aggregates.

-- a number that no column has
SELECT customer_id, count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY 3
--> MS-PLAN-GROUP at line 1, column 89: GROUP BY 3 is not a position in the select list. Write a number from 1 to 2, or the key itself.

-- a number of an aggregate
SELECT customer_id, count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY 2
--> MS-PLAN-GROUP at line 1, column 89: 2 is an aggregate, and GROUP BY cannot contain aggregates. Group by other columns, or compute the aggregate in a subquery.

-- an unknown column as a key
SELECT count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY custmer_id
--> MS-PLAN-UNKNOWN-COLUMN at line 1, column 76: orders has no column custmer_id. Did you mean customer_id?

-- an aggregate that there is not
SELECT customer_id, median(total) AS m FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id
--> MS-PLAN-AGGREGATE at line 1, column 21: there is no aggregate median over streams. Supported: count, count_distinct, sum, avg, min, max, stddev_samp, stddev_pop, var_samp, var_pop, first, last, approx_count_distinct, approx_percentile, collect_list, collect_set, bool_and, bool_or, max_by, min_by.

-- an aggregate that only Spark has
SELECT try_sum(total) AS s FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR)
--> MS-PLAN-AGGREGATE at line 1, column 8: there is no aggregate try_sum over streams. Supported: count, count_distinct, sum, avg, min, max, stddev_samp, stddev_pop, var_samp, var_pop, first, last, approx_count_distinct, approx_percentile, collect_list, collect_set, bool_and, bool_or, max_by, min_by.

-- DISTINCT in a sum
SELECT sum(DISTINCT total) AS s FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR)
--> MS-PLAN-AGGREGATE at line 1, column 8: sum does not support DISTINCT. Remove duplicates with SELECT DISTINCT in a subquery.

-- an aggregate of an aggregate
SELECT max(count(*)) AS m FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR)
--> MS-PLAN-AGGREGATE at line 1, column 12: the aggregate count is used where rows are not grouped. Filter groups with HAVING; for nested aggregates, aggregate in a query in FROM.

-- an aggregate in WHERE
SELECT customer_id, count(*) AS n FROM orders WHERE count(*) > 1 WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id
--> MS-PLAN-AGGREGATE at line 1, column 53: the aggregate count is used where rows are not grouped. Filter groups with HAVING; for nested aggregates, aggregate in a query in FROM.

-- a fraction that is none
SELECT approx_percentile(total, 50) AS p FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR)
--> MS-PLAN-AGGREGATE at line 1, column 8: a fraction must be a constant from 0 to 1. Write a number such as 0.5.

-- an accuracy
SELECT approx_percentile(total, 0.5, 100) AS p FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR)
--> MS-PLAN-AGGREGATE at line 1, column 8: approx_percentile has a fixed accuracy. Remove the third argument.

-- DISTINCT and GROUP BY in one query
SELECT DISTINCT customer_id, count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id
--> MS-PLAN-ONE-OPERATOR at line 1, column 1: the query has both GROUP BY or an aggregate and DISTINCT. Compute one of them in a subquery.

-- a list of one group grows without end
SELECT collect_list(order_id) AS l FROM orders
--> MS-PLAN-UNBOUNDED at line 1, column 1: without a window, the state of collect_list would grow forever. Add WINDOW TUMBLING(INTERVAL '1' HOUR), or WITH ('state.ttl' = '1d'), or 'forever' if the state may grow without bound.

-- GROUP BY of nothing is one group
SELECT count(*) AS n FROM orders GROUP BY ()
--> mode retract
--> select
-->   a0 AS n : BIGINT
-->   aggregate, emit changes
-->     call count(*) AS a0 : BIGINT
-->     input orders, time event_time, used none

-- too few arguments
SELECT max_by(total) AS m FROM orders
--> MS-PLAN-AGGREGATE at line 1, column 8: max_by has too few arguments. See its signature in Spark SQL.

-- no fraction
SELECT approx_percentile(total) AS p FROM orders
--> MS-PLAN-AGGREGATE at line 1, column 8: approx_percentile needs a fraction. Write approx_percentile(column, 0.5).

-- DISTINCT of all columns
SELECT count(DISTINCT *) AS n FROM orders
--> MS-PLAN-AGGREGATE at line 1, column 8: count(DISTINCT *) is not supported. List the columns.

-- an ordered aggregate
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY total) AS p FROM orders
--> MS-PLAN-AGGREGATE at line 1, column 8: there is no aggregate percentile_cont over streams. Supported: count, count_distinct, sum, avg, min, max, stddev_samp, stddev_pop, var_samp, var_pop, first, last, approx_count_distinct, approx_percentile, collect_list, collect_set, bool_and, bool_or, max_by, min_by.

-- max_by a struct
SELECT customer_id, max_by(order_id, struct(total, -unix_micros(event_time))) AS best FROM orders WINDOW TUMBLING(INTERVAL '1' HOUR) GROUP BY customer_id
--> MS-PLAN-KEY-TYPE at line 1, column 1: max_by orders by a STRUCT, which the columnar engine does not compare. Order by one number computed from its fields, or take the first row by each of them with ROW_NUMBER() OVER (PARTITION BY customer_id, _window_start ORDER BY total DESC, -unix_micros(event_time) DESC) = 1, or set 'engine' = 'native'.

-- min_by a struct with names, filtered
SELECT customer_id, min_by(order_id, named_struct('a', o.total, 'b', o.order_id)) FILTER (WHERE total > 0) AS best FROM orders o WINDOW TUMBLING(INTERVAL '1' HOUR) GROUP BY customer_id
--> MS-PLAN-KEY-TYPE at line 1, column 1: min_by orders by a STRUCT, which the columnar engine does not compare. Order by one number computed from its fields, or take the first row by each of them with ROW_NUMBER() OVER (PARTITION BY customer_id, _window_start ORDER BY total, order_id) = 1, or set 'engine' = 'native'.

-- max_by a struct in sessions, over another operator
SELECT order_id, max_by(n, struct(n, order_id)) AS best FROM (SELECT order_id, count(*) AS n, _window_time FROM orders WINDOW TUMBLING(INTERVAL '1' HOUR) GROUP BY order_id) WINDOW SESSION(GAP INTERVAL '1' SECOND) GROUP BY order_id
--> MS-PLAN-KEY-TYPE at line 1, column 1: max_by orders by a STRUCT, which the columnar engine does not compare. Order by one number computed from its fields.

-- max_by a struct on the native engine
SELECT customer_id, max_by(order_id, struct(total, order_id)) AS best FROM orders WINDOW TUMBLING(INTERVAL '1' HOUR) GROUP BY customer_id WITH ('engine' = 'native')
--> select
-->   k0 AS customer_id : STRING
-->   a0 AS best : STRING
-->   aggregate, tumbling windows of 1h, emit final
-->     key orders.customer_id AS k0 : STRING
-->     call max_by(orders.order_id, struct(orders.total, orders.order_id)) AS a0 : STRING
-->     input orders, time event_time, used none
