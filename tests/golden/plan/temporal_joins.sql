-- the valid version
CREATE TABLE rates (currency STRING, rate DOUBLE, valid_from TIMESTAMP, PRIMARY KEY (currency), WATERMARK FOR valid_from AS valid_from - INTERVAL 1 MINUTE);
CREATE SINK out AS SELECT o.order_id, r.rate, o.event_time FROM orders o JOIN rates FOR SYSTEM_TIME AS OF o.event_time AS r ON o.customer_id = r.currency WHERE o.total > 5 AND r.rate > 1
--> select
-->   o.order_id AS order_id : STRING
-->   r.rate AS rate : DOUBLE
-->   o.event_time AS event_time : TIMESTAMP  <- event time
-->   where o.total > 5 AND r.rate > 1
-->   inner temporal join, backward
-->     key o.customer_id = r.currency
-->     left o, time event_time, used order_id, total, event_time
-->     right r, time valid_from, used rate

-- LEFT, and the table's own name
CREATE TABLE rates (currency STRING, rate DOUBLE, valid_from TIMESTAMP, PRIMARY KEY (currency), WATERMARK FOR valid_from AS valid_from - INTERVAL 1 MINUTE);
CREATE SINK out AS SELECT o.order_id, rate FROM orders o LEFT JOIN rates FOR SYSTEM_TIME AS OF o._EVENT_TIME ON customer_id = rates.currency
--> select
-->   o.order_id AS order_id : STRING
-->   rates.rate AS rate : DOUBLE
-->   left temporal join, backward
-->     key o.customer_id = rates.currency
-->     left o, time event_time, used order_id
-->     right rates, time valid_from, used rate

-- a changelog ends versions
CREATE TABLE rates (currency STRING, rate DOUBLE, op STRING, valid_from TIMESTAMP, PRIMARY KEY (currency), WATERMARK FOR valid_from AS valid_from) WITH ('changelog.op' = 'OP');
CREATE SINK out AS SELECT o.order_id, r.rate FROM orders o JOIN rates FOR SYSTEM_TIME AS OF o.event_time AS r ON o.customer_id = r.currency
--> select
-->   o.order_id AS order_id : STRING
-->   r.rate AS rate : DOUBLE
-->   inner temporal join, backward
-->     key o.customer_id = r.currency
-->     deletes r.op <=> '-D'
-->     left o, time event_time, used order_id
-->     right r, time valid_from, used rate
-->       select over r
-->         r.currency AS currency : STRING
-->         r.rate AS rate : DOUBLE
-->         r.op AS op : STRING
-->         r.valid_from AS valid_from : TIMESTAMP  <- event time
-->         where NOT r.op <=> '-U'
-->         source rates

-- a composite key, one part a constant
CREATE TABLE prices (sku STRING PRIMARY KEY, shop STRING PRIMARY KEY, price DOUBLE, t TIMESTAMP, WATERMARK FOR t AS t);
CREATE SINK out AS SELECT o.order_id, p.price FROM orders o LEFT JOIN prices FOR SYSTEM_TIME AS OF o.event_time AS p ON lower(o.customer_id) = p.sku AND p.shop = 'here'
--> select
-->   o.order_id AS order_id : STRING
-->   p.price AS price : DOUBLE
-->   left temporal join, backward
-->     key lower(o.customer_id) = p.sku
-->     key 'here' = p.shop
-->     left o, time event_time, used order_id
-->     right p, time t, used price

-- what ON says beside the key filters an inner join
CREATE TABLE prices (sku STRING PRIMARY KEY, shop STRING PRIMARY KEY, price DOUBLE, t TIMESTAMP, WATERMARK FOR t AS t);
CREATE SINK out AS SELECT o.order_id FROM orders o JOIN prices FOR SYSTEM_TIME AS OF o.event_time AS p ON o.customer_id = p.sku AND p.shop = o.order_id AND p.price > o.total AND o.total > 1
--> select
-->   o.order_id AS order_id : STRING
-->   where p.price > o.total AND o.total > 1
-->   inner temporal join, backward
-->     key o.customer_id = p.sku
-->     key o.order_id = p.shop
-->     left o, time event_time, used order_id, total
-->     right p, time t, used price

-- looking ahead
CREATE TABLE rates (currency STRING, rate DOUBLE, valid_from TIMESTAMP, PRIMARY KEY (currency), WATERMARK FOR valid_from AS valid_from - INTERVAL 1 MINUTE);
CREATE SINK out AS SELECT o.order_id, o.event_time, r.rate FROM orders o JOIN rates FOR SYSTEM_TIME AS OF o.event_time AS r ON o.customer_id = r.currency WITH ('temporal.direction' = 'Forward', 'temporal.tolerance' = '5m', 'join.type' = 'temporal')
--> select
-->   o.order_id AS order_id : STRING
-->   o.event_time AS event_time : TIMESTAMP  <- event time
-->   r.rate AS rate : DOUBLE
-->   inner temporal join, forward within 5m
-->     key o.customer_id = r.currency
-->     left o, time event_time, used order_id, event_time
-->     right r, time valid_from, used rate

-- looking both ways
CREATE TABLE rates (currency STRING, rate DOUBLE, valid_from TIMESTAMP, PRIMARY KEY (currency), WATERMARK FOR valid_from AS valid_from - INTERVAL 1 MINUTE);
CREATE SINK out AS SELECT o.order_id, r.rate FROM orders o JOIN rates FOR SYSTEM_TIME AS OF o.event_time AS r ON o.customer_id = r.currency WITH ('temporal.direction' = 'nearest', 'temporal.tolerance' = '5m', 'state.max_rows' = '10')
--> select
-->   o.order_id AS order_id : STRING
-->   r.rate AS rate : DOUBLE
-->   inner temporal join, nearest within 5m
-->     key o.customer_id = r.currency
-->     left o, time event_time, used order_id
-->     right r, time valid_from, used rate

-- versions of any stream
CREATE TABLE rates (currency STRING, rate DOUBLE, valid_from TIMESTAMP, PRIMARY KEY (currency), WATERMARK FOR valid_from AS valid_from - INTERVAL 1 MINUTE);
CREATE SINK out AS SELECT order_id, s.carrier FROM orders o JOIN shipments FOR SYSTEM_TIME AS OF o.event_time AS s USING (order_id) EMIT CHANGES
--> select
-->   o.order_id AS order_id : STRING
-->   s.carrier AS carrier : STRING
-->   inner temporal join, backward
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id
-->     right s, time event_time, used carrier

-- after an interval join, by a time of either stream
CREATE TABLE rates (currency STRING, rate DOUBLE, valid_from TIMESTAMP, PRIMARY KEY (currency), WATERMARK FOR valid_from AS valid_from - INTERVAL 1 MINUTE);
CREATE SINK out AS SELECT o.order_id, s.carrier, r.rate, q.rate AS at_order, o.event_time FROM orders o JOIN shipments s WITHIN 1 HOUR USING (order_id) LEFT JOIN rates FOR SYSTEM_TIME AS OF s.event_time r ON r.currency = s.carrier JOIN rates FOR SYSTEM_TIME AS OF o.event_time AS q ON q.currency = s.carrier
--> select
-->   o_s_r.order_id AS order_id : STRING
-->   o_s_r.carrier AS carrier : STRING
-->   o_s_r.rate AS rate : DOUBLE
-->   q.rate AS at_order : DOUBLE
-->   o_s_r.event_time AS event_time : TIMESTAMP  <- event time
-->   inner temporal join, backward
-->     key o_s_r.carrier = q.currency
-->     left o_s_r, time event_time - 1h, used event_time, carrier, order_id, rate
-->       select
-->         o_s.o_event_time AS event_time : TIMESTAMP  <- event time
-->         o_s.carrier AS carrier : STRING
-->         o_s.order_id AS order_id : STRING
-->         r.rate AS rate : DOUBLE
-->         left temporal join, backward
-->           key o_s.carrier = r.currency
-->           left o_s, time event_time - 1h, used carrier, o_event_time, order_id
-->             select
-->               s.event_time AS event_time : TIMESTAMP  <- event time
-->               s.carrier AS carrier : STRING
-->               o.event_time AS o_event_time : TIMESTAMP
-->               o.order_id AS order_id : STRING
-->               inner join [-1h, 1h]
-->                 key o.order_id = s.order_id
-->                 left o, time event_time, used order_id, event_time
-->                 right s, time event_time, used carrier, event_time
-->           right r, time valid_from, used rate
-->     right q, time valid_from, used rate

-- before a window join
CREATE TABLE rates (currency STRING, rate DOUBLE, valid_from TIMESTAMP, PRIMARY KEY (currency), WATERMARK FOR valid_from AS valid_from - INTERVAL 1 MINUTE);
CREATE SINK out AS SELECT o.order_id, s.carrier, r.rate, _window_start FROM orders o LEFT JOIN rates FOR SYSTEM_TIME AS OF o.event_time r ON r.currency = o.customer_id JOIN shipments s USING (order_id) WINDOW TUMBLING(INTERVAL 1 HOUR)
--> select
-->   o_r.order_id AS order_id : STRING
-->   s.carrier AS carrier : STRING
-->   o_r.rate AS rate : DOUBLE
-->   o_r._window_start AS _window_start : TIMESTAMP
-->   inner join [0s, 0s] of tumbling windows of 1h and tumbling windows of 1h
-->     key o_r.order_id = s.order_id
-->     key o_r._window_start = s._window_start
-->     left o_r, time _window_time moved by event_time, used order_id, rate, _window_start
-->       select over o_r
-->         o_r.event_time AS event_time : TIMESTAMP  <- event time
-->         o_r.order_id AS order_id : STRING
-->         o_r.rate AS rate : DOUBLE
-->         timestamp_micros(unix_micros(o_r.event_time) - pmod(unix_micros(o_r.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(o_r.event_time) - pmod(unix_micros(o_r.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(o_r.event_time) - pmod(unix_micros(o_r.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->         select
-->           o.event_time AS event_time : TIMESTAMP  <- event time
-->           o.order_id AS order_id : STRING
-->           r.rate AS rate : DOUBLE
-->           left temporal join, backward
-->             key o.customer_id = r.currency
-->             left o, time event_time, used order_id, event_time
-->             right r, time valid_from, used rate
-->     right s, time _window_time moved by event_time - 10s, used carrier
-->       select over s
-->         s.order_id AS order_id : STRING
-->         s.carrier AS carrier : STRING
-->         s.event_time AS event_time : TIMESTAMP  <- event time
-->         timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->         source shipments

-- an aggregate over it
CREATE TABLE rates (currency STRING, rate DOUBLE, valid_from TIMESTAMP, PRIMARY KEY (currency), WATERMARK FOR valid_from AS valid_from - INTERVAL 1 MINUTE);
CREATE SINK out AS SELECT r.currency, sum(o.total * r.rate) AS total FROM orders o JOIN rates FOR SYSTEM_TIME AS OF o.event_time AS r ON o.customer_id = r.currency WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY r.currency
--> select
-->   k0 AS currency : STRING
-->   a0 AS total
-->   aggregate, tumbling windows of 1h, emit final
-->     key joined.currency AS k0 : STRING
-->     call sum(joined.total * joined.rate) AS a0
-->     input joined, time event_time, used none
-->       select
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         r.currency AS currency : STRING
-->         o.total AS total : DOUBLE
-->         r.rate AS rate : DOUBLE
-->         inner temporal join, backward
-->           key o.customer_id = r.currency
-->           left o, time event_time, used total, event_time
-->           right r, time valid_from, used currency, rate

-- late rows with all columns
CREATE TABLE rates (currency STRING, rate DOUBLE, op STRING, valid_from TIMESTAMP, PRIMARY KEY (currency), WATERMARK FOR valid_from AS valid_from) WITH ('changelog.op' = 'OP');
CREATE SINK out AS SELECT o.order_id FROM orders o JOIN rates FOR SYSTEM_TIME AS OF o.event_time AS r ON o.customer_id = r.currency WITH ('late.policy' = 'side_output')
--> select
-->   o.order_id AS order_id : STRING
-->   inner temporal join, backward
-->     key o.customer_id = r.currency
-->     deletes r.op <=> '-D'
-->     left o, time event_time, used order_id, customer_id, total, event_time
-->     right r, time valid_from, used currency, rate, op, valid_from
-->       select over r
-->         r.currency AS currency : STRING
-->         r.rate AS rate : DOUBLE
-->         r.op AS op : STRING
-->         r.valid_from AS valid_from : TIMESTAMP  <- event time
-->         where NOT r.op <=> '-U'
-->         source rates

-- as of another column
CREATE TABLE rates (currency STRING, rate DOUBLE, valid_from TIMESTAMP, PRIMARY KEY (currency), WATERMARK FOR valid_from AS valid_from - INTERVAL 1 MINUTE);
CREATE SINK out AS SELECT o.order_id FROM orders o JOIN rates FOR SYSTEM_TIME AS OF o.total AS r ON o.customer_id = r.currency
--> MS-PLAN-TEMPORAL at line 2, column 85: AS OF o.total is not the event time of orders. Write FOR SYSTEM_TIME AS OF o.event_time.

-- as of a time beside the event time
CREATE TABLE rates (currency STRING, rate DOUBLE, valid_from TIMESTAMP, PRIMARY KEY (currency), WATERMARK FOR valid_from AS valid_from - INTERVAL 1 MINUTE);
CREATE SINK out AS SELECT o.order_id FROM orders o JOIN rates FOR SYSTEM_TIME AS OF o.event_time - INTERVAL 1 HOUR AS r ON o.customer_id = r.currency
--> MS-PLAN-TEMPORAL at line 2, column 85: AS OF o.event_time - INTERVAL 1 HOUR is not the event time of orders. Write FOR SYSTEM_TIME AS OF o.event_time.

-- as of a time that some rows lack
CREATE TABLE rates (currency STRING, rate DOUBLE, valid_from TIMESTAMP, PRIMARY KEY (currency), WATERMARK FOR valid_from AS valid_from - INTERVAL 1 MINUTE);
CREATE SINK out AS SELECT o.order_id FROM orders o LEFT JOIN shipments s WITHIN 1 HOUR USING (order_id) JOIN rates FOR SYSTEM_TIME AS OF s.event_time r ON r.currency = s.carrier
--> MS-PLAN-TEMPORAL at line 2, column 138: an outer join may fill s, with NULL, so not every row has s.event_time. Write FOR SYSTEM_TIME AS OF o.event_time, or join with INNER.

-- as of the first table
CREATE TABLE rates (currency STRING, rate DOUBLE, valid_from TIMESTAMP, PRIMARY KEY (currency), WATERMARK FOR valid_from AS valid_from - INTERVAL 1 MINUTE);
CREATE SINK out AS SELECT r.rate FROM rates FOR SYSTEM_TIME AS OF r.valid_from AS r
--> MS-PLAN-TEMPORAL at line 2, column 39: AS OF is after the first table of FROM, which has no row to take the time from. Write it after the joined table: JOIN … FOR SYSTEM_TIME AS OF … ON …

-- RIGHT
CREATE TABLE rates (currency STRING, rate DOUBLE, valid_from TIMESTAMP, PRIMARY KEY (currency), WATERMARK FOR valid_from AS valid_from - INTERVAL 1 MINUTE);
CREATE SINK out AS SELECT o.order_id FROM orders o RIGHT JOIN rates FOR SYSTEM_TIME AS OF o.event_time AS r ON o.customer_id = r.currency
--> MS-PLAN-TEMPORAL at line 2, column 52: a temporal join finds one version for each row and does not support RIGHT JOIN. Write JOIN or LEFT JOIN.

-- SEMI
CREATE TABLE rates (currency STRING, rate DOUBLE, valid_from TIMESTAMP, PRIMARY KEY (currency), WATERMARK FOR valid_from AS valid_from - INTERVAL 1 MINUTE);
CREATE SINK out AS SELECT o.order_id FROM orders o LEFT SEMI JOIN rates FOR SYSTEM_TIME AS OF o.event_time AS r ON o.customer_id = r.currency
--> MS-PLAN-TEMPORAL at line 2, column 52: a temporal join finds one version for each row and does not support SEMI JOIN. Write JOIN or LEFT JOIN.

-- ON without the key
CREATE TABLE rates (currency STRING, rate DOUBLE, valid_from TIMESTAMP, PRIMARY KEY (currency), WATERMARK FOR valid_from AS valid_from - INTERVAL 1 MINUTE);
CREATE SINK out AS SELECT o.order_id FROM orders o JOIN rates FOR SYSTEM_TIME AS OF o.event_time AS r ON r.rate > o.total
--> MS-PLAN-TEMPORAL at line 2, column 52: ON has no equality with currency, which is part of the primary key of rates. Add an equality, such as o.currency = r.currency.

-- ON with part of the key
CREATE TABLE prices (sku STRING PRIMARY KEY, shop STRING PRIMARY KEY, price DOUBLE, t TIMESTAMP, WATERMARK FOR t AS t);
CREATE SINK out AS SELECT o.order_id FROM orders o JOIN prices FOR SYSTEM_TIME AS OF o.event_time AS p ON o.customer_id = p.sku
--> MS-PLAN-TEMPORAL at line 2, column 52: ON has no equality with shop, which is part of the primary key of prices. Add an equality, such as o.shop = p.shop.

-- more than the key in ON of a LEFT join
CREATE TABLE rates (currency STRING, rate DOUBLE, valid_from TIMESTAMP, PRIMARY KEY (currency), WATERMARK FOR valid_from AS valid_from - INTERVAL 1 MINUTE);
CREATE SINK out AS SELECT o.order_id FROM orders o LEFT JOIN rates FOR SYSTEM_TIME AS OF o.event_time AS r ON o.customer_id = r.currency AND r.rate > 2
--> select
-->   o.order_id AS order_id : STRING
-->   left temporal join, backward
-->     key o.customer_id = r.currency
-->     version where r.rate > 2
-->     left o, time event_time, used order_id
-->     right r, time valid_from, used rate

-- a table without a primary key
CREATE TABLE rates (currency STRING, t TIMESTAMP, WATERMARK FOR t AS t);
CREATE SINK out AS SELECT o.order_id FROM orders o JOIN rates FOR SYSTEM_TIME AS OF o.event_time AS r ON o.customer_id = r.currency
--> MS-PLAN-TEMPORAL at line 2, column 52: the table rates has no primary key, so its versions have no identity. Add PRIMARY KEY (…) to rates.

-- a table without a watermark
CREATE TABLE rates (currency STRING PRIMARY KEY, t TIMESTAMP);
CREATE SINK out AS SELECT o.order_id FROM orders o JOIN rates FOR SYSTEM_TIME AS OF o.event_time AS r ON o.customer_id = r.currency
--> MS-PLAN-NO-WATERMARK at line 2, column 57: rates has no WATERMARK, so only its current rows are known. Write FOR SYSTEM_TIME AS OF PROCTIME(), or declare WATERMARK FOR column AS column in rates to make its rows versions.

-- a primary key that is no column
CREATE TABLE rates (currency STRING, t TIMESTAMP, PRIMARY KEY (curency), WATERMARK FOR t AS t);
CREATE SINK out AS SELECT o.order_id FROM orders o JOIN rates FOR SYSTEM_TIME AS OF o.event_time AS r ON o.customer_id = r.currency
--> MS-PLAN-UNKNOWN-COLUMN at line 1, column 1: the primary key uses curency, which is not a column of rates. Did you mean currency?

-- an op that is no column
CREATE TABLE rates (currency STRING PRIMARY KEY, t TIMESTAMP, WATERMARK FOR t AS t) WITH ('changelog.op' = 'op');
CREATE SINK out AS SELECT o.order_id FROM orders o JOIN rates FOR SYSTEM_TIME AS OF o.event_time AS r ON o.customer_id = r.currency
--> MS-PLAN-UNKNOWN-COLUMN at line 1, column 1: 'changelog.op' uses op, which is not a column of rates. Known: currency, t.

-- a property of tables that are looked up
CREATE TABLE rates (currency STRING PRIMARY KEY, t TIMESTAMP, WATERMARK FOR t AS t) WITH ('lookup.cache.rows' = '5');
CREATE SINK out AS SELECT o.order_id FROM orders o JOIN rates FOR SYSTEM_TIME AS OF o.event_time AS r ON o.customer_id = r.currency
--> MS-PROP-UNUSED at line 1, column 91: 'lookup.cache.rows' applies to a lookup or broadcast table, and rates is versioned. Remove it.

-- a table joined without its versions
CREATE TABLE rates (currency STRING, rate DOUBLE, valid_from TIMESTAMP, PRIMARY KEY (currency), WATERMARK FOR valid_from AS valid_from - INTERVAL 1 MINUTE);
CREATE SINK out AS SELECT o.order_id FROM orders o JOIN rates r WITHIN 5 MINUTES ON o.customer_id = r.currency
--> MS-PLAN-NOT-YET at line 2, column 57: reading the table rates cannot be run yet. To join its versions, write JOIN rates FOR SYSTEM_TIME AS OF o.event_time ON …

-- looking ahead for ever
CREATE TABLE rates (currency STRING, rate DOUBLE, valid_from TIMESTAMP, PRIMARY KEY (currency), WATERMARK FOR valid_from AS valid_from - INTERVAL 1 MINUTE);
CREATE SINK out AS SELECT o.order_id FROM orders o JOIN rates FOR SYSTEM_TIME AS OF o.event_time AS r ON o.customer_id = r.currency WITH ('temporal.direction' = 'nearest')
--> MS-PLAN-UNBOUNDED at line 2, column 139: 'temporal.direction' = 'nearest' waits for a later version without a time limit, so the state would grow forever. Add 'temporal.tolerance' = '5m'.

-- WITHIN
CREATE TABLE rates (currency STRING, rate DOUBLE, valid_from TIMESTAMP, PRIMARY KEY (currency), WATERMARK FOR valid_from AS valid_from - INTERVAL 1 MINUTE);
CREATE SINK out AS SELECT o.order_id FROM orders o JOIN rates FOR SYSTEM_TIME AS OF o.event_time AS r WITHIN 5 MINUTES ON o.customer_id = r.currency
--> MS-PLAN-WITHIN at line 2, column 103: WITHIN is not allowed in a temporal join, which uses the valid version of any age. Set WITH ('temporal.tolerance' = '5m').

-- a window on the table
CREATE TABLE rates (currency STRING, rate DOUBLE, valid_from TIMESTAMP, PRIMARY KEY (currency), WATERMARK FOR valid_from AS valid_from - INTERVAL 1 MINUTE);
CREATE SINK out AS SELECT o.order_id FROM orders o JOIN rates FOR SYSTEM_TIME AS OF o.event_time AS r WINDOW TUMBLING(INTERVAL 1 HOUR) ON o.customer_id = r.currency
--> MS-PLAN-WINDOW at line 2, column 103: a temporal join does not support windows. Remove WINDOW, or add a window join in an outer query.

-- a tolerance without a temporal join
CREATE TABLE rates (currency STRING, rate DOUBLE, valid_from TIMESTAMP, PRIMARY KEY (currency), WATERMARK FOR valid_from AS valid_from - INTERVAL 1 MINUTE);
CREATE SINK out AS SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id) WITH ('temporal.tolerance' = '5m')
--> MS-PROP-UNUSED at line 2, column 109: 'temporal.tolerance' applies to a temporal join, and this query has none. Set it on the query with the join.

-- a direction that is none
CREATE TABLE rates (currency STRING, rate DOUBLE, valid_from TIMESTAMP, PRIMARY KEY (currency), WATERMARK FOR valid_from AS valid_from - INTERVAL 1 MINUTE);
CREATE SINK out AS SELECT o.order_id FROM orders o JOIN rates FOR SYSTEM_TIME AS OF o.event_time AS r ON o.customer_id = r.currency WITH ('temporal.direction' = 'sideways')
--> MS-PROP-VALUE at line 2, column 162: 'temporal.direction' cannot be 'sideways'. Use one of backward, forward, nearest.

-- a bound as property
CREATE TABLE rates (currency STRING, rate DOUBLE, valid_from TIMESTAMP, PRIMARY KEY (currency), WATERMARK FOR valid_from AS valid_from - INTERVAL 1 MINUTE);
CREATE SINK out AS SELECT o.order_id FROM orders o JOIN rates FOR SYSTEM_TIME AS OF o.event_time AS r ON o.customer_id = r.currency WITH ('join.upper_bound' = '5m')
--> MS-PROP-UNUSED at line 2, column 139: 'join.upper_bound' does not apply to a temporal join, which uses the valid version of any age. Remove it, or set 'temporal.tolerance' = '5m'.

-- EMIT FINAL
CREATE TABLE rates (currency STRING, rate DOUBLE, valid_from TIMESTAMP, PRIMARY KEY (currency), WATERMARK FOR valid_from AS valid_from - INTERVAL 1 MINUTE);
CREATE SINK out AS SELECT o.order_id FROM orders o JOIN rates FOR SYSTEM_TIME AS OF o.event_time AS r ON o.customer_id = r.currency EMIT FINAL
--> MS-PLAN-EMIT-FINAL at line 2, column 133: EMIT FINAL emits results when their window closes, and this query has no window. Write EMIT CHANGES, or remove EMIT.

-- a time to live
CREATE TABLE rates (currency STRING, rate DOUBLE, valid_from TIMESTAMP, PRIMARY KEY (currency), WATERMARK FOR valid_from AS valid_from - INTERVAL 1 MINUTE);
CREATE SINK out AS SELECT o.order_id FROM orders o JOIN rates FOR SYSTEM_TIME AS OF o.event_time AS r ON o.customer_id = r.currency WITH ('state.ttl' = '5m')
--> MS-PROP-UNUSED at line 2, column 139: a temporal join does not use 'state.ttl': 'temporal.tolerance' limits the age of a version. Remove it.

-- the native engine
CREATE TABLE rates (currency STRING, rate DOUBLE, valid_from TIMESTAMP, PRIMARY KEY (currency), WATERMARK FOR valid_from AS valid_from - INTERVAL 1 MINUTE);
CREATE SINK out AS SELECT o.order_id FROM orders o JOIN rates FOR SYSTEM_TIME AS OF o.event_time AS r ON o.customer_id = r.currency WITH ('engine' = 'native')
--> MS-PLAN-ENGINE at line 2, column 52: the native engine cannot run this join: Spark has no temporal join of streams. Remove 'engine', or set it to 'columnar'.

-- versions of a query
CREATE STREAM busy AS SELECT carrier, count(*) AS n FROM shipments WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY carrier;
CREATE SINK out AS SELECT o.order_id, s.n FROM orders o LEFT JOIN busy FOR SYSTEM_TIME AS OF o.event_time AS s ON o.customer_id = s.carrier
--> select
-->   o.order_id AS order_id : STRING
-->   s.n AS n : BIGINT
-->   left temporal join, backward
-->     key o.customer_id = s.carrier
-->     left o, time event_time, used order_id
-->     right s, time _window_time, used n
-->       select
-->         k0 AS carrier : STRING
-->         a0 AS n : BIGINT
-->         _window_time AS _window_time : TIMESTAMP  <- event time
-->         aggregate, tumbling windows of 1h, emit final
-->           key shipments.carrier AS k0 : STRING
-->           call count(*) AS a0 : BIGINT
-->           input shipments, time event_time, used none

-- versions that can be retracted
CREATE STREAM busy AS SELECT carrier, count(*) AS n FROM shipments WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY carrier EMIT CHANGES;
CREATE SINK out AS SELECT o.order_id, s.n FROM orders o LEFT JOIN busy FOR SYSTEM_TIME AS OF o.event_time AS s ON o.customer_id = s.carrier
--> MS-PLAN-RETRACT at line 2, column 67: busy retracts rows, which a join by event time does not support. Write EMIT FINAL in the query of busy, with a WINDOW and no 'window.lateness', or join without a bound and with 'state.ttl' = 'forever'.

-- a name of WITH hides a table
CREATE TABLE rates (currency STRING PRIMARY KEY, t TIMESTAMP, WATERMARK FOR t AS t);
CREATE SINK out AS WITH rates AS (SELECT order_id, event_time FROM shipments) SELECT o.order_id FROM orders o JOIN rates FOR SYSTEM_TIME AS OF o.event_time AS r ON o.order_id = r.order_id
--> select
-->   o.order_id AS order_id : STRING
-->   inner temporal join, backward
-->     key o.order_id = r.order_id
-->     left o, time event_time, used order_id
-->     right r, time event_time - 10s, used none
-->       select over shipments
-->         shipments.order_id AS order_id : STRING
-->         shipments.event_time AS event_time : TIMESTAMP  <- event time
-->         source shipments

-- an alias before AS OF
SELECT o.order_id, s.carrier FROM orders o JOIN shipments s FOR SYSTEM_TIME AS OF o.event_time ON o.order_id = s.order_id
--> select
-->   o.order_id AS order_id : STRING
-->   s.carrier AS carrier : STRING
-->   inner temporal join, backward
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id
-->     right s, time event_time, used carrier
