-- a scalar subquery of the same stream
SELECT order_id FROM orders WHERE total > 1.5 * (SELECT avg(total) FROM orders)
--> MS-PLAN-SUBQUERY at line 1, column 49: a query inside an expression has no single value while its stream continues. For the value at the time of each row, write SELECT … FROM (SELECT *, avg(total) OVER (ORDER BY _EVENT_TIME ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS avg_total FROM orders) WHERE total > 1.5 * avg_total.

-- the suggested rewrite
SELECT order_id FROM (SELECT *, avg(total) OVER (ORDER BY _EVENT_TIME ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS avg_total FROM orders) WHERE total > 1.5 * avg_total
--> select over _query
-->   _query.order_id AS order_id : STRING
-->   where _query.total > 1.5 * _query.avg_total
-->   select
-->     order_id AS order_id : STRING
-->     customer_id AS customer_id : STRING
-->     total AS total : DOUBLE
-->     event_time AS event_time : TIMESTAMP  <- event time
-->     a0 AS avg_total : DOUBLE
-->     rows over all before
-->       partition none
-->       call avg(orders.total) AS a0 : DOUBLE
-->       input orders, time event_time, used order_id, customer_id, total, event_time

-- of another stream
SELECT order_id FROM orders WHERE total > (SELECT avg(weight) FROM shipments)
--> MS-PLAN-SUBQUERY at line 1, column 43: a query inside an expression has no single value while its stream continues. Add its value to every row in a query in FROM: join a windowed aggregate, or write agg(x) OVER (ORDER BY _EVENT_TIME ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW).

-- in the select list
SELECT (SELECT max(total) FROM orders) AS m FROM orders
--> MS-PLAN-SUBQUERY at line 1, column 8: a query inside an expression has no single value while its stream continues. Add its value to every row in a query in FROM: join a windowed aggregate, or write agg(x) OVER (ORDER BY _EVENT_TIME ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW).

-- IN
SELECT * FROM orders WHERE order_id IN (SELECT order_id FROM shipments)
--> MS-PLAN-SUBQUERY at line 1, column 48: a query inside an expression has no single value while its stream continues. Write LEFT SEMI JOIN … ON …, or LEFT ANTI JOIN for NOT IN, with a time bound.

-- EXISTS
SELECT * FROM orders o WHERE EXISTS (SELECT 1 FROM shipments s WHERE s.order_id = o.order_id)
--> MS-PLAN-SUBQUERY at line 1, column 45: a query inside an expression has no single value while its stream continues. Write LEFT SEMI JOIN … ON …, or LEFT ANTI JOIN for NOT EXISTS, with a time bound.

-- joins over joins
WITH j AS (SELECT o.order_id, o.event_time FROM orders o JOIN shipments s ON o.order_id = s.order_id AND s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL 1 HOUR)
SELECT j.order_id FROM j JOIN shipments s WITHIN 5 MINUTES ON j.order_id = s.order_id
--> select
-->   j.order_id AS order_id : STRING
-->   inner join [-5m, 5m]
-->     key j.order_id = s.order_id
-->     left j, time event_time - 1h, used order_id
-->       select
-->         o.order_id AS order_id : STRING
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         inner join [0s, 1h]
-->           key o.order_id = s.order_id
-->           left o, time event_time, used order_id, event_time
-->           right s, time event_time, used none
-->     right s, time event_time, used none

-- a join of results
SELECT a.n, b.n AS m FROM (SELECT customer_id, count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id) a JOIN (SELECT carrier, count(*) AS n FROM shipments WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY carrier) b ON a.customer_id = b.carrier AND a._EVENT_TIME = b._EVENT_TIME
--> select
-->   a.n AS n : BIGINT
-->   b.n AS m : BIGINT
-->   inner join [0s, 0s]
-->     key a.customer_id = b.carrier
-->     left a, time _window_time, used n
-->       select
-->         k0 AS customer_id : STRING
-->         a0 AS n : BIGINT
-->         _window_time AS _window_time : TIMESTAMP  <- event time
-->         aggregate, tumbling windows of 1h, emit final
-->           key orders.customer_id AS k0 : STRING
-->           call count(*) AS a0 : BIGINT
-->           input orders, time event_time, used none
-->     right b, time _window_time, used n
-->       select
-->         k0 AS carrier : STRING
-->         a0 AS n : BIGINT
-->         _window_time AS _window_time : TIMESTAMP  <- event time
-->         aggregate, tumbling windows of 1h, emit final
-->           key shipments.carrier AS k0 : STRING
-->           call count(*) AS a0 : BIGINT
-->           input shipments, time event_time, used none

-- a join of what is there once
SELECT x.order_id FROM (SELECT DISTINCT ON (order_id) order_id, event_time FROM orders WITH ('state.ttl' = '1h')) x JOIN shipments s WITHIN 5 MINUTES ON x.order_id = s.order_id
--> select
-->   x.order_id AS order_id : STRING
-->   inner join [-5m, 5m]
-->     key x.order_id = s.order_id
-->     left x, time event_time, used order_id
-->       select
-->         order_id AS order_id : STRING
-->         event_time AS event_time : TIMESTAMP  <- event time
-->         deduplicate by orders.order_id, within 1h
-->           input orders, time event_time, used order_id, event_time
-->     right s, time event_time, used none

-- a column of Kafka
SELECT _Offset FROM orders
--> MS-PLAN-SYSTEM-COLUMN at line 1, column 8: _Offset is a system column of records and changes, and the source orders does not have it. Remove it.

-- the arrival time of rows of no file
SELECT order_id FROM orders WHERE _TIMESTAMP > TIMESTAMP '2026-01-01'
--> select over orders
-->   orders.order_id AS order_id : STRING
-->   where orders._timestamp > TIMESTAMP '2026-01-01'
-->   select over orders
-->     orders.order_id AS order_id : STRING
-->     orders.event_time AS event_time : TIMESTAMP  <- event time
-->     current_timestamp() AS _timestamp : TIMESTAMP
-->     source orders

-- the kind of a row
SELECT _op FROM (SELECT count(*) AS n FROM orders) x
--> MS-PLAN-NOT-YET at line 1, column 8: the system column _op cannot be run yet.

-- native and two operators
SELECT count(*) AS n FROM (SELECT DISTINCT order_id, event_time FROM orders WITH ('state.ttl' = '1h')) x WINDOW TUMBLING(INTERVAL 1 HOUR) WITH ('engine' = 'native')
--> MS-PLAN-ENGINE at line 1, column 1: the native engine cannot run this query: there are several stateful operators, and Spark's do not pass on their watermarks. Remove 'engine', or set it to 'columnar'.

-- native and changes
SELECT count(*) AS n FROM orders WITH ('engine' = 'native')
--> MS-PLAN-ENGINE at line 1, column 1: the native engine cannot run this query: Spark emits changed rows without the old values. Remove 'engine', or set it to 'columnar'.

-- native and first
SELECT first(total) AS f FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) WITH ('engine' = 'native')
--> MS-PLAN-ENGINE at line 1, column 1: the native engine cannot run this query: Spark's own first uses arrival order, not event time. Remove 'engine', or set it to 'columnar'.

-- native and lateness
SELECT count(*) AS f FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) WITH ('engine' = 'native', 'window.lateness' = '1m')
--> MS-PLAN-ENGINE at line 1, column 1: the native engine cannot run this query: Spark drops late rows, and does not update an emitted window. Remove 'engine', or set it to 'columnar'.

-- native
SELECT order_id, count(*) AS n FROM orders WINDOW SESSION(GAP INTERVAL 1 HOUR) GROUP BY order_id WITH ('engine' = 'native')
--> select
-->   k0 AS order_id : STRING
-->   a0 AS n : BIGINT
-->   aggregate, sessions with a gap of 1h, emit final
-->     key orders.order_id AS k0 : STRING
-->     call count(*) AS a0 : BIGINT
-->     input orders, time event_time, used none

-- native and one session of all
SELECT count(*) AS n FROM orders WINDOW SESSION(GAP INTERVAL 1 HOUR) WITH ('engine' = 'native')
--> MS-PLAN-ENGINE at line 1, column 1: the native engine cannot run this query: Spark has no sessions without a key. Remove 'engine', or set it to 'columnar'.

-- with aliases
SELECT order_id FROM orders o WHERE o.total > (SELECT avg(x.total) FROM orders x)
--> MS-PLAN-SUBQUERY at line 1, column 47: a query inside an expression has no single value while its stream continues. For the value at the time of each row, write SELECT … FROM (SELECT *, avg(total) OVER (ORDER BY _EVENT_TIME ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS avg_total FROM orders) WHERE total > avg_total.

-- a query in FROM without an alias that has no event time
SELECT count(*) AS n FROM (SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id WINDOW SESSION(GAP INTERVAL '30' MINUTES) EMIT CHANGES) WINDOW TUMBLING(INTERVAL '1' HOUR)
--> MS-PLAN-NO-WATERMARK at line 1, column 27: the query in FROM (line 1, column 27) joins sessions before they close, so its rows have no event time. Write EMIT FINAL in the query in FROM (line 1, column 27).

-- an unknown column of a query in FROM without an alias
SELECT total FROM (SELECT order_id FROM orders)
--> MS-PLAN-UNKNOWN-COLUMN at line 1, column 8: the query in FROM (line 1, column 19) has no column total. Known: order_id.

-- an unknown alias beside it
SELECT _q.total FROM (SELECT order_id FROM orders)
--> MS-PLAN-UNKNOWN-TABLE at line 1, column 8: _q is neither a table nor a column of this query.

-- a column of it and of another
SELECT s.weight FROM (SELECT order_id, event_time FROM orders) JOIN shipments s ON order_id = s.order_id
--> MS-PLAN-AMBIGUOUS at line 1, column 84: order_id is a column of the query in FROM (line 1, column 22) and of s. Write s.order_id, or give the query in FROM (line 1, column 22) an alias.

-- a column of two of them
SELECT 1 FROM (SELECT order_id, event_time FROM orders) JOIN (SELECT order_id, event_time FROM shipments) ON order_id = 1
--> MS-PLAN-AMBIGUOUS at line 1, column 110: order_id is a column of the query in FROM (line 1, column 15) and of the query in FROM (line 1, column 62). Give the query in FROM (line 1, column 15) an alias, or give the query in FROM (line 1, column 62) an alias.

-- a join with it that has no bound
SELECT s.weight FROM (SELECT order_id AS id, event_time AS at FROM orders) JOIN shipments s ON id = s.order_id
--> MS-PLAN-UNBOUNDED at line 1, column 76: the join of the query in FROM (line 1, column 22) and shipments has no time bound, so its state would grow forever. Add AND s.event_time BETWEEN at AND at + INTERVAL 24 HOURS to ON, or JOIN shipments s WITHIN INTERVAL 5 MINUTES ON …, or a WINDOW clause after ON, or WITH ('state.ttl' = '1d').

-- a join with it that has no key
SELECT s.weight FROM (SELECT order_id AS id, event_time AS at FROM orders) JOIN shipments s WITHIN INTERVAL 5 MINUTES ON s.weight > 1
--> MS-PLAN-NO-KEY at line 1, column 76: the join of the query in FROM (line 1, column 22) and shipments has no key. Add an equality of both sides to ON, such as id = s.id.

-- two columns of one name, one of it
SELECT s.order_id, * FROM shipments s JOIN (SELECT order_id, event_time AS at FROM orders) WITHIN INTERVAL 5 MINUTES ON s.carrier = order_id
--> MS-PLAN-AMBIGUOUS at line 1, column 133: order_id is a column of s and of the query in FROM (line 1, column 44). Write s.order_id, or give the query in FROM (line 1, column 44) an alias.

-- IN of a table
SELECT o.order_id FROM orders o WHERE o.customer_id IN (SELECT id FROM customers)
--> MS-PLAN-SUBQUERY at line 1, column 64: a query inside an expression has no single value while its stream continues. Write LEFT SEMI JOIN customers ON o.customer_id = customers.id; a table needs no time bound.

-- NOT IN of a table, filtered
SELECT order_id FROM orders WHERE total > 1 AND customer_id NOT IN (SELECT id FROM customers c WHERE tier > 1 OR c.active)
--> MS-PLAN-SUBQUERY at line 1, column 76: a query inside an expression has no single value while its stream continues. Write LEFT ANTI JOIN customers c ON orders.customer_id = c.id AND (c.tier > 1 OR c.active); a table needs no time bound.

-- EXISTS of a table
SELECT o.order_id FROM orders o WHERE EXISTS (SELECT 1 FROM customers c WHERE c.id = o.customer_id)
--> MS-PLAN-SUBQUERY at line 1, column 54: a query inside an expression has no single value while its stream continues. Write LEFT SEMI JOIN customers c ON c.id = o.customer_id; a table needs no time bound.

-- NOT EXISTS of a table
SELECT o.order_id FROM orders o WHERE NOT EXISTS (SELECT 1 FROM customers c WHERE c.id = o.customer_id)
--> MS-PLAN-SUBQUERY at line 1, column 58: a query inside an expression has no single value while its stream continues. Write LEFT ANTI JOIN customers c ON c.id = o.customer_id; a table needs no time bound.

-- IN of an expression over a table
SELECT o.order_id FROM orders o WHERE o.customer_id IN (SELECT upper(id) FROM customers)
--> MS-PLAN-SUBQUERY at line 1, column 64: a query inside an expression has no single value while its stream continues. Write LEFT SEMI JOIN customers ON …, or LEFT ANTI JOIN for NOT IN; a table needs no time bound.
