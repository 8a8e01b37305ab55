-- only a table
SELECT * FROM customers
--> MS-PLAN-TABLE at line 1, column 15: customers is a table, and a query needs a stream first in FROM. Join it to a stream: FROM orders o JOIN customers ON …, or declare customers as a SOURCE to read it as a stream.

-- a table on the left
SELECT c.id FROM customers c JOIN orders o ON c.id = o.customer_id
--> MS-PLAN-TABLE at line 1, column 18: customers is a table, and a query needs a stream first in FROM. Join it to a stream: FROM orders o JOIN customers ON …, or declare customers as a SOURCE to read it as a stream.

-- a query over a table
SELECT o.order_id FROM orders o JOIN (SELECT * FROM customers WHERE active) c ON c.id = o.customer_id
--> MS-PLAN-TABLE at line 1, column 53: customers is a table; a stream can be joined with it, but not with a query over it. Join customers itself, and filter its rows in ON: JOIN customers c ON c.id = o.customer_id AND c.active.

-- RIGHT
SELECT c.id FROM orders o RIGHT JOIN customers c ON c.id = o.customer_id
--> MS-PLAN-TABLE at line 1, column 27: a RIGHT JOIN emits unmatched rows of customers, and a matching row may still arrive at any time. Write JOIN or LEFT JOIN.

-- FULL
SELECT c.id FROM orders o FULL OUTER JOIN customers c ON c.id = o.customer_id
--> MS-PLAN-TABLE at line 1, column 27: a FULL JOIN emits unmatched rows of customers, and a matching row may still arrive at any time. Write JOIN or LEFT JOIN.

-- CROSS
SELECT c.id FROM orders o CROSS JOIN customers c
--> MS-PLAN-CROSS-JOIN at line 1, column 27: a CROSS JOIN has no key to look up rows of the table. Write JOIN … ON with an equality of both sides.

-- as of the row's time
SELECT c.id FROM orders o JOIN customers FOR SYSTEM_TIME AS OF o.event_time AS c ON c.id = o.customer_id
--> MS-PLAN-NO-WATERMARK at line 1, column 32: customers has no WATERMARK, so only its current rows are known. Write FOR SYSTEM_TIME AS OF PROCTIME(), or declare WATERMARK FOR column AS column in customers to make its rows versions.

-- a stream as it is now
SELECT o.order_id FROM orders o JOIN shipments FOR SYSTEM_TIME AS OF PROCTIME() AS s ON s.order_id = o.order_id
--> MS-PLAN-TABLE at line 1, column 38: AS OF PROCTIME() reads the current rows of a table, and shipments is a stream. Declare shipments as a TABLE without WATERMARK, or write FOR SYSTEM_TIME AS OF with the event time of the other side.

-- a query as it is now
SELECT o.order_id FROM orders o JOIN (SELECT order_id, event_time FROM shipments) FOR SYSTEM_TIME AS OF PROCTIME() AS s ON s.order_id = o.order_id
--> MS-SQL-PARSE at line 1, column 83: unexpected "FOR".

-- versions as of now
CREATE TABLE rates (currency STRING, rate DOUBLE, t TIMESTAMP, PRIMARY KEY (currency), WATERMARK FOR t AS t); CREATE SINK x AS
SELECT o.order_id FROM orders o JOIN rates FOR SYSTEM_TIME AS OF PROCTIME() AS r ON r.currency = o.customer_id
--> MS-PLAN-TABLE at line 2, column 38: the table rates is versioned, and its versions are valid at event times. Write FOR SYSTEM_TIME AS OF with the event time of the other side.

-- PROCTIME with an argument
SELECT o.order_id FROM orders o JOIN customers FOR SYSTEM_TIME AS OF PROCTIME(1) AS c ON c.id = o.customer_id
--> MS-PLAN-TABLE at line 1, column 38: PROCTIME takes no arguments. Write FOR SYSTEM_TIME AS OF PROCTIME().

-- no key
SELECT o.order_id FROM orders o JOIN customers c ON c.tier = 3
--> MS-PLAN-NO-KEY at line 1, column 33: the join of orders and customers has no key. Add an equality to ON, such as o.id = c.id.

-- a function of the table's column
SELECT o.order_id FROM orders o JOIN customers c ON lower(c.id) = o.customer_id
--> MS-PLAN-NO-KEY at line 1, column 53: the join of orders and customers has no key. Compare a column of c, and apply functions only to the other side.

-- a function of the table's column, left
SELECT o.order_id FROM orders o LEFT JOIN customers c ON upper(o.order_id) = lower(c.id)
--> MS-PLAN-NO-KEY at line 1, column 58: the join of orders and customers has no key. Compare a column of c, and apply functions only to the other side.

-- several rows of a key: no primary key
SELECT o.order_id FROM orders o LEFT JOIN regions r ON r.region = o.customer_id AND r.tax < o.total
--> MS-PLAN-TABLE at line 1, column 85: ON of the LEFT JOIN with regions has a predicate that is neither a key nor a comparison with a constant, and a row may match several rows: regions has no primary key. Declare PRIMARY KEY (…) in regions, or write JOIN.

-- several rows of a key: part of it
SELECT o.order_id FROM orders o LEFT ANTI JOIN taxes t ON t.region = o.customer_id AND t.tax < o.total
--> MS-PLAN-TABLE at line 1, column 88: ON of the ANTI JOIN with taxes has a predicate that is neither a key nor a comparison with a constant, and a row may match several rows: ON has no equality with year, which is part of its primary key. Add an equality with t.`year`.

-- several rows of a key: another column
SELECT o.order_id FROM orders o LEFT SEMI JOIN customers c ON c.region = o.customer_id AND c.tier < o.total
--> MS-PLAN-TABLE at line 1, column 92: ON of the SEMI JOIN with customers has a predicate that is neither a key nor a comparison with a constant, and a row may match several rows: ON has no equality with id, which is part of its primary key. Add an equality with c.id.

-- a column that is not there
SELECT c.age FROM orders o JOIN customers c ON c.id = o.customer_id
--> MS-PLAN-UNKNOWN-COLUMN at line 1, column 8: c has no column age. Known: id, region, tier, active.

-- the event time of a table
SELECT c._event_time FROM orders o JOIN customers c ON c.id = o.customer_id
--> MS-PLAN-NO-WATERMARK at line 1, column 8: c has no watermark, so there is no event time. Declare WATERMARK FOR column AS column - INTERVAL 5 SECONDS.

-- WITHIN
SELECT o.order_id FROM orders o JOIN customers c WITHIN 5 MINUTES ON c.id = o.customer_id
--> MS-PLAN-WITHIN at line 1, column 33: WITHIN bounds event times, and the table customers has none. Remove it.

-- bounds
SELECT o.order_id FROM orders o JOIN customers c ON c.id = o.customer_id WITH ('join.upper_bound' = '1h')
--> MS-PROP-UNUSED at line 1, column 80: 'join.upper_bound' bounds event times, and the table customers has none. Remove it.

-- retention
SELECT o.order_id FROM orders o JOIN customers c ON c.id = o.customer_id WITH ('join.retention' = '1h')
--> MS-PROP-UNUSED at line 1, column 80: 'join.retention' applies to a join of streams, and this query has none. Set it on the query with the join.

-- a window of the table
SELECT o.order_id FROM orders o JOIN customers c WINDOW TUMBLING(INTERVAL 1 HOUR) ON c.id = o.customer_id
--> MS-PLAN-WINDOW at line 1, column 50: a reference table has no event time for windows. Remove WINDOW, or add a window join in an outer query.

-- late rows
SELECT o.order_id FROM orders o JOIN customers c ON c.id = o.customer_id WITH ('late.policy' = 'side_output')
--> MS-PROP-UNUSED at line 1, column 80: 'late.policy' does not apply to a join with a table: it is stateless. Remove it.

-- a time to live
SELECT o.order_id FROM orders o JOIN customers c ON c.id = o.customer_id WITH ('state.ttl' = '1h')
--> MS-PROP-UNUSED at line 1, column 80: a join with a table does not use 'state.ttl': it is stateless. Remove it.

-- a limit
SELECT o.order_id FROM orders o JOIN customers c ON c.id = o.customer_id WITH ('state.max_rows' = '10')
--> MS-PROP-UNUSED at line 1, column 80: 'state.max_rows' does not apply to a join with a table: it is stateless. Remove it.

-- EMIT FINAL
SELECT o.order_id FROM orders o JOIN customers c ON c.id = o.customer_id EMIT FINAL
--> MS-PLAN-EMIT-FINAL at line 1, column 74: EMIT FINAL emits results when their window closes, and this query has no window. Write EMIT CHANGES, or remove EMIT.

-- another type
SELECT o.order_id FROM orders o JOIN customers c ON c.id = o.customer_id WITH ('join.type' = 'interval')
--> MS-PROP-UNUSED at line 1, column 94: 'join.type' is 'interval', but the type of the join is 'lookup'. Remove it.

-- lookup without a table
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id) WITH ('join.type' = 'lookup')
--> MS-PROP-UNUSED at line 1, column 104: 'join.type' is 'lookup', but the type of the join is 'interval'. Join a table without WATERMARK, or remove it.

-- retractions and a lookup table
SELECT v.n FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id EMIT CHANGES WITH ('state.ttl' = 'forever')) v JOIN customers c ON c.id = v.customer_id
--> MS-PLAN-RETRACT at line 1, column 132: v retracts rows, and customers may have changed since the row was joined, so the retraction would not match the emitted row. Join customers in a subquery without retractions, or broadcast it and read it once ('table.mode' = 'broadcast', without 'refresh.interval' and 'refresh.on').

-- retractions and a refreshed table
SELECT v.n FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id EMIT CHANGES WITH ('state.ttl' = 'forever')) v JOIN regions r ON r.region = v.customer_id
--> MS-PLAN-RETRACT at line 1, column 132: v retracts rows, and regions may have changed since the row was joined, so the retraction would not match the emitted row. Join regions in a subquery without retractions, or broadcast it and read it once ('table.mode' = 'broadcast', without 'refresh.interval' and 'refresh.on').

-- no event time for the next join
SELECT k.user_id FROM clicks k JOIN regions r ON r.region = k.user_id JOIN shipments s WITHIN 5 MINUTES ON s.order_id = k.user_id
--> MS-PLAN-NO-WATERMARK at line 1, column 23: clicks has no watermark, so its rows would never expire from state. Declare WATERMARK FOR at AS at - INTERVAL 5 SECONDS in clicks.

-- one name for two
SELECT c.id FROM orders c JOIN customers c ON c.id = c.customer_id
--> MS-PLAN-DUPLICATE-NAME at line 1, column 32: both sides of the join are named c. Use aliases.

-- a query over a table, with a filter of two terms
SELECT o.order_id FROM orders o LEFT JOIN (SELECT id, region FROM customers WHERE tier > 1 OR customers.active) AS c ON o.customer_id = c.id
--> MS-PLAN-TABLE at line 1, column 67: customers is a table; a stream can be joined with it, but not with a query over it. Join customers itself, and filter its rows in ON: LEFT JOIN customers c ON o.customer_id = c.id AND (c.tier > 1 OR c.active).

-- a query over a table that computes
SELECT o.order_id FROM orders o JOIN (SELECT id, upper(region) AS region FROM customers) c ON o.customer_id = c.id
--> MS-PLAN-TABLE at line 1, column 79: customers is a table; a stream can be joined with it, but not with a query over it. Join customers itself, and filter its rows in ON: JOIN customers c ON ….

-- a query over a table without an alias
SELECT o.order_id FROM orders o JOIN (SELECT id FROM customers) ON o.customer_id = id
--> MS-PLAN-TABLE at line 1, column 54: customers is a table; a stream can be joined with it, but not with a query over it. Join customers itself, and filter its rows in ON: JOIN customers ON o.customer_id = id.

-- a table that is not there
SELECT o.order_id FROM orders o JOIN costumers c ON o.customer_id = c.id
--> MS-PLAN-UNKNOWN-TABLE at line 1, column 38: costumers is neither a stream nor a table of this job. Did you mean customers? Known, too: orders, shipments, clicks, events, regions, taxes.

-- a name that is like none
SELECT o.order_id FROM orders o JOIN xyz x ON o.customer_id = x.id
--> MS-PLAN-UNKNOWN-TABLE at line 1, column 38: xyz is neither a stream nor a table of this job. Known: orders, shipments, clicks, events, customers, regions, taxes.
