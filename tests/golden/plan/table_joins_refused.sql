-- a table alone
SELECT * FROM customers
--> MS-PLAN-TABLE at line 1, column 15: customers is a table, and a query goes by the rows of a stream as they come. Let a stream stand first: FROM orders o JOIN customers ON …; or declare customers as a SOURCE, to read its rows as they come.

-- a table on the left
SELECT c.id FROM customers c JOIN orders o ON c.id = o.customer_id
--> MS-PLAN-TABLE at line 1, column 18: customers is a table, and a query goes by the rows of a stream as they come. Let a stream stand first: FROM orders o JOIN customers ON …; or declare customers as a SOURCE, to read its rows as they come.

-- a query over a table
SELECT o.order_id FROM orders o JOIN (SELECT * FROM customers WHERE active) c ON c.id = o.customer_id
--> MS-PLAN-TABLE at line 1, column 53: customers is a table: a row is looked up in it, not in a query over it. Join customers itself, with what filters its rows in ON: JOIN customers c ON c.id = o.customer_id AND c.active.

-- RIGHT
SELECT c.id FROM orders o RIGHT JOIN customers c ON c.id = o.customer_id
--> MS-PLAN-TABLE at line 1, column 27: a RIGHT JOIN asks for the rows of customers that meet no row, and a row that meets them may always come. Write JOIN or LEFT JOIN.

-- FULL
SELECT c.id FROM orders o FULL OUTER JOIN customers c ON c.id = o.customer_id
--> MS-PLAN-TABLE at line 1, column 27: a FULL JOIN asks for the rows of customers that meet no row, and a row that meets them may always come. Write JOIN or LEFT JOIN.

-- CROSS
SELECT c.id FROM orders o CROSS JOIN customers c
--> MS-PLAN-CROSS-JOIN at line 1, column 27: a CROSS JOIN has no key by which a row of the table could be found. Write JOIN … ON with an equality of both sides.

-- as of the row's time
SELECT c.id FROM orders o JOIN customers FOR SYSTEM_TIME AS OF o.event_time AS c ON c.id = o.customer_id
--> MS-PLAN-NO-WATERMARK at line 1, column 32: customers has no WATERMARK, so nobody knows how it was at another time than now. Write FOR SYSTEM_TIME AS OF PROCTIME(), or declare WATERMARK FOR column AS column in customers, and its rows are versions.

-- a stream as it is now
SELECT o.order_id FROM orders o JOIN shipments FOR SYSTEM_TIME AS OF PROCTIME() AS s ON s.order_id = o.order_id
--> MS-PLAN-TABLE at line 1, column 38: AS OF PROCTIME() asks a table as it is now, and shipments is a stream. Declare shipments as a TABLE without WATERMARK, or write FOR SYSTEM_TIME AS OF and the event time of the other side.

-- a query as it is now
SELECT o.order_id FROM orders o JOIN (SELECT order_id, event_time FROM shipments) FOR SYSTEM_TIME AS OF PROCTIME() AS s ON s.order_id = o.order_id
--> MS-SQL-PARSE at line 1, column 83: "FOR" stands here and does not fit.

-- versions as of now
CREATE TABLE rates (currency STRING, rate DOUBLE, t TIMESTAMP, PRIMARY KEY (currency), WATERMARK FOR t AS t); CREATE SINK x AS
SELECT o.order_id FROM orders o JOIN rates FOR SYSTEM_TIME AS OF PROCTIME() AS r ON r.currency = o.customer_id
--> MS-PLAN-TABLE at line 2, column 38: the table rates has versions, and which is in force is known of a row's own time. Write FOR SYSTEM_TIME AS OF and the event time of the other side.

-- PROCTIME with an argument
SELECT o.order_id FROM orders o JOIN customers FOR SYSTEM_TIME AS OF PROCTIME(1) AS c ON c.id = o.customer_id
--> MS-PLAN-TABLE at line 1, column 38: PROCTIME takes no arguments. Write FOR SYSTEM_TIME AS OF PROCTIME().

-- no key
SELECT o.order_id FROM orders o JOIN customers c ON c.tier = 3
--> MS-PLAN-NO-KEY at line 1, column 33: join of orders and customers has no key. Add an equality to ON, such as o.id = c.id.

-- a function of the table's column
SELECT o.order_id FROM orders o JOIN customers c ON lower(c.id) = o.customer_id
--> MS-PLAN-NO-KEY at line 1, column 53: join of orders and customers has no key. Compare a column of c as it is; functions go to the other side.

-- a function of the table's column, left
SELECT o.order_id FROM orders o LEFT JOIN customers c ON upper(o.order_id) = lower(c.id)
--> MS-PLAN-NO-KEY at line 1, column 58: join of orders and customers has no key. Compare a column of c as it is; functions go to the other side.

-- several rows of a key: no primary key
SELECT o.order_id FROM orders o LEFT JOIN regions r ON r.region = o.customer_id AND r.tax < o.total
--> MS-PLAN-TABLE at line 1, column 85: ON of the LEFT JOIN with regions says more than keys and comparisons with constants, and a row may find several rows there: regions has no primary key. Declare PRIMARY KEY (…) in regions, or write JOIN.

-- several rows of a key: part of it
SELECT o.order_id FROM orders o LEFT ANTI JOIN taxes t ON t.region = o.customer_id AND t.tax < o.total
--> MS-PLAN-TABLE at line 1, column 88: ON of the ANTI JOIN with taxes says more than keys and comparisons with constants, and a row may find several rows there: ON says nothing of year, which is part of its primary key. Add an equality with t.`year`.

-- several rows of a key: another column
SELECT o.order_id FROM orders o LEFT SEMI JOIN customers c ON c.region = o.customer_id AND c.tier < o.total
--> MS-PLAN-TABLE at line 1, column 92: ON of the SEMI JOIN with customers says more than keys and comparisons with constants, and a row may find several rows there: ON says nothing of id, which is part of its primary key. Add an equality with c.id.

-- a column that is not there
SELECT c.age FROM orders o JOIN customers c ON c.id = o.customer_id
--> MS-PLAN-UNKNOWN-COLUMN at line 1, column 8: c has no column age. Known: id, region, tier, active.

-- the event time of a table
SELECT c._event_time FROM orders o JOIN customers c ON c.id = o.customer_id
--> MS-PLAN-NO-WATERMARK at line 1, column 8: c has no watermark, so there is no event time. Declare WATERMARK FOR column AS column - INTERVAL 5 SECONDS.

-- WITHIN
SELECT o.order_id FROM orders o JOIN customers c WITHIN 5 MINUTES ON c.id = o.customer_id
--> MS-PLAN-WITHIN at line 1, column 33: WITHIN bounds times, and the table customers has none. Leave it out.

-- bounds
SELECT o.order_id FROM orders o JOIN customers c ON c.id = o.customer_id WITH ('join.upper_bound' = '1h')
--> MS-PROP-UNUSED at line 1, column 80: 'join.upper_bound' bounds times, and the table customers has none. Leave it out.

-- retention
SELECT o.order_id FROM orders o JOIN customers c ON c.id = o.customer_id WITH ('join.retention' = '1h')
--> MS-PROP-UNUSED at line 1, column 80: 'join.retention' is for a join of streams, and this query has none. Put it on the query that holds the join.

-- a window of the table
SELECT o.order_id FROM orders o JOIN customers c WINDOW TUMBLING(INTERVAL 1 HOUR) ON c.id = o.customer_id
--> MS-PLAN-WINDOW at line 1, column 50: a table has no event time that windows could go by. Leave WINDOW out, or join in windows in a query around this one.

-- late rows
SELECT o.order_id FROM orders o JOIN customers c ON c.id = o.customer_id WITH ('late.policy' = 'side_output')
--> MS-PROP-UNUSED at line 1, column 80: 'late.policy' has no use in a join with a table: it keeps no state. Leave it out.

-- a time to live
SELECT o.order_id FROM orders o JOIN customers c ON c.id = o.customer_id WITH ('state.ttl' = '1h')
--> MS-PROP-UNUSED at line 1, column 80: a join with a table needs no 'state.ttl': it keeps no state. Leave it out.

-- a limit
SELECT o.order_id FROM orders o JOIN customers c ON c.id = o.customer_id WITH ('state.max_rows' = '10')
--> MS-PROP-UNUSED at line 1, column 80: 'state.max_rows' has no use in a join with a table: it keeps no state. Leave it out.

-- EMIT FINAL
SELECT o.order_id FROM orders o JOIN customers c ON c.id = o.customer_id EMIT FINAL
--> MS-PLAN-EMIT-FINAL at line 1, column 74: EMIT FINAL waits for a window to close, and this query has no window. Write EMIT CHANGES, or leave EMIT out.

-- another type
SELECT o.order_id FROM orders o JOIN customers c ON c.id = o.customer_id WITH ('join.type' = 'interval')
--> MS-PROP-UNUSED at line 1, column 94: 'join.type' is 'interval', but the join is of the type 'lookup'. Leave it out.

-- lookup without a table
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id) WITH ('join.type' = 'lookup')
--> MS-PROP-UNUSED at line 1, column 104: 'join.type' is 'lookup', but the join is of the type 'interval'. Join a table without WATERMARK, or leave it out.

-- rows that are taken back, asked
SELECT v.n FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id EMIT CHANGES WITH ('state.ttl' = 'forever')) v JOIN customers c ON c.id = v.customer_id
--> MS-PLAN-RETRACT at line 1, column 132: v takes rows back, and customers may have changed by then, so another row would be taken back than was told. Join customers in a query below, before rows are taken back, or hold it whole and read it once ('table.mode' = 'broadcast', no 'refresh.interval' and no 'refresh.on').

-- rows that are taken back, refreshed
SELECT v.n FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id EMIT CHANGES WITH ('state.ttl' = 'forever')) v JOIN regions r ON r.region = v.customer_id
--> MS-PLAN-RETRACT at line 1, column 132: v takes rows back, and regions may have changed by then, so another row would be taken back than was told. Join regions in a query below, before rows are taken back, or hold it whole and read it once ('table.mode' = 'broadcast', no 'refresh.interval' and no 'refresh.on').

-- no event time for the next join
SELECT k.user_id FROM clicks k JOIN regions r ON r.region = k.user_id JOIN shipments s WITHIN 5 MINUTES ON s.order_id = k.user_id
--> MS-PLAN-NO-WATERMARK at line 1, column 23: clicks has no watermark, so no row of it could ever be let go. Declare WATERMARK FOR at AS at - INTERVAL 5 SECONDS in clicks.

-- one name for two
SELECT c.id FROM orders c JOIN customers c ON c.id = c.customer_id
--> MS-PLAN-DUPLICATE-NAME at line 1, column 32: both sides of the join are called c. Give each an alias.

-- a query over a table, with a filter of two terms
SELECT o.order_id FROM orders o LEFT JOIN (SELECT id, region FROM customers WHERE tier > 1 OR customers.active) AS c ON o.customer_id = c.id
--> MS-PLAN-TABLE at line 1, column 67: customers is a table: a row is looked up in it, not in a query over it. Join customers itself, with what filters its rows in ON: LEFT JOIN customers c ON o.customer_id = c.id AND (c.tier > 1 OR c.active).

-- a query over a table that computes
SELECT o.order_id FROM orders o JOIN (SELECT id, upper(region) AS region FROM customers) c ON o.customer_id = c.id
--> MS-PLAN-TABLE at line 1, column 79: customers is a table: a row is looked up in it, not in a query over it. Join customers itself, with what filters its rows in ON: JOIN customers c ON ….

-- a query over a table without an alias
SELECT o.order_id FROM orders o JOIN (SELECT id FROM customers) ON o.customer_id = id
--> MS-PLAN-TABLE at line 1, column 54: customers is a table: a row is looked up in it, not in a query over it. Join customers itself, with what filters its rows in ON: JOIN customers ON o.customer_id = id.

-- a table that is not there
SELECT o.order_id FROM orders o JOIN costumers c ON o.customer_id = c.id
--> MS-PLAN-UNKNOWN-TABLE at line 1, column 38: costumers is neither a stream nor a table of this job. Did you mean customers? Known, too: orders, shipments, clicks, events, regions, taxes.

-- a name that is like none
SELECT o.order_id FROM orders o JOIN xyz x ON o.customer_id = x.id
--> MS-PLAN-UNKNOWN-TABLE at line 1, column 38: xyz is neither a stream nor a table of this job. Known: orders, shipments, clicks, events, customers, regions, taxes.
