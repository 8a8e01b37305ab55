-- pairs of sessions that have closed
SELECT o.order_id, s.carrier, _window_start, _WINDOW_END FROM orders o JOIN shipments s ON o.order_id = s.order_id WINDOW SESSION(GAP INTERVAL '10' MINUTES) EMIT FINAL
--> select
-->   o.order_id AS order_id : STRING
-->   s.carrier AS carrier : STRING
-->   _window_start AS _window_start : TIMESTAMP  <- window
-->   _window_end AS _WINDOW_END : TIMESTAMP  <- window
-->   inner session join, gap 10m, emit final
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id
-->     right s, time event_time, used carrier

-- without EMIT they wait, too
SELECT o.order_id, s.carrier FROM orders o JOIN shipments s ON o.order_id = s.order_id WINDOW SESSION(GAP INTERVAL '10' MINUTES)
--> select
-->   o.order_id AS order_id : STRING
-->   s.carrier AS carrier : STRING
-->   inner session join, gap 10m, emit final
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id
-->     right s, time event_time, used carrier

-- pairs as sessions meet
SELECT o.order_id, s.carrier FROM orders o JOIN shipments s ON o.order_id = s.order_id WINDOW SESSION(GAP INTERVAL '10' MINUTES) EMIT CHANGES
--> select
-->   o.order_id AS order_id : STRING
-->   s.carrier AS carrier : STRING
-->   inner session join, gap 10m, emit changes
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id
-->     right s, time event_time, used carrier

-- left
SELECT o.order_id, s.carrier FROM orders o LEFT JOIN shipments s ON o.order_id = s.order_id WINDOW SESSION(GAP INTERVAL '10' MINUTES)
--> select
-->   o.order_id AS order_id : STRING
-->   s.carrier AS carrier : STRING
-->   left session join, gap 10m, emit final
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id
-->     right s, time event_time, used carrier

-- right, with the window's time
SELECT s.order_id, o.total, _window_time AS until FROM orders o RIGHT JOIN shipments s ON o.order_id = s.order_id WINDOW SESSION(GAP INTERVAL '10' MINUTES)
--> select
-->   s.order_id AS order_id : STRING
-->   o.total AS total : DOUBLE
-->   _window_time AS until : TIMESTAMP  <- event time
-->   right session join, gap 10m, emit final
-->     key o.order_id = s.order_id
-->     left o, time event_time, used total
-->     right s, time event_time, used order_id

-- full, by a column of both
SELECT order_id, o.total, s.weight FROM orders o FULL JOIN shipments s USING (order_id) WINDOW SESSION(GAP INTERVAL '10' MINUTES)
--> select
-->   coalesce(o.order_id, s.order_id) AS order_id : STRING
-->   o.total AS total : DOUBLE
-->   s.weight AS weight : DOUBLE
-->   full session join, gap 10m, emit final
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id, total
-->     right s, time event_time, used order_id, weight

-- semi
SELECT o.order_id, _window_end FROM orders o LEFT SEMI JOIN shipments s ON o.order_id = s.order_id WINDOW SESSION(GAP INTERVAL '10' MINUTES)
--> select
-->   o.order_id AS order_id : STRING
-->   _window_end AS _window_end : TIMESTAMP
-->   semi session join, gap 10m, emit final
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id
-->     right s, time event_time, used none

-- anti, as it changes
SELECT o.order_id FROM orders o LEFT ANTI JOIN shipments s ON o.order_id = s.order_id WINDOW SESSION(GAP INTERVAL '10' MINUTES) EMIT CHANGES
--> select
-->   o.order_id AS order_id : STRING
-->   anti session join, gap 10m, emit changes
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id
-->     right s, time event_time, used none

-- every column, the window's last
SELECT * FROM (SELECT order_id, event_time FROM orders) o JOIN (SELECT order_id AS id, event_time AS at FROM shipments) s ON s.id = o.order_id WINDOW SESSION(GAP INTERVAL '10' MINUTES)
--> select
-->   o.order_id AS order_id : STRING
-->   o.event_time AS event_time : TIMESTAMP
-->   s.id AS id : STRING
-->   s.at AS at : TIMESTAMP
-->   _window_start AS _window_start : TIMESTAMP  <- window
-->   _window_end AS _window_end : TIMESTAMP  <- window
-->   inner session join, gap 10m, emit final
-->     key o.order_id = s.id
-->     left o, time event_time - 5s, used order_id, event_time
-->       select over orders
-->         orders.order_id AS order_id : STRING
-->         orders.event_time AS event_time : TIMESTAMP  <- event time
-->         source orders
-->     right s, time at - 10s, used id, at
-->       select over shipments
-->         shipments.order_id AS id : STRING
-->         shipments.event_time AS at : TIMESTAMP  <- event time
-->         source shipments

-- predicates of an inner join filter pairs
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id AND o.total > 5 AND s.weight < o.total AND s.event_time >= o.event_time WHERE s.carrier = 'UPS' WINDOW SESSION(GAP INTERVAL '10' MINUTES)
--> select
-->   o.order_id AS order_id : STRING
-->   where o.total > 5 AND s.weight < o.total AND s.event_time >= o.event_time AND s.carrier = 'UPS'
-->   inner session join, gap 10m, emit final
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id, total, event_time
-->     right s, time event_time, used carrier, weight, event_time

-- a key in WHERE
SELECT o.order_id FROM orders o, shipments s WHERE o.order_id = s.order_id AND o.customer_id = s.carrier WINDOW SESSION(GAP INTERVAL '10' MINUTES)
--> select
-->   o.order_id AS order_id : STRING
-->   inner session join, gap 10m, emit final
-->     key o.order_id = s.order_id
-->     key o.customer_id = s.carrier
-->     left o, time event_time, used order_id
-->     right s, time event_time, used none

-- WHERE of an outer join
SELECT o.order_id FROM orders o LEFT JOIN shipments s ON o.order_id = s.order_id WHERE s.carrier IS NULL WINDOW SESSION(GAP INTERVAL '10' MINUTES)
--> select
-->   o.order_id AS order_id : STRING
-->   where s.carrier IS NULL
-->   left session join, gap 10m, emit final
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id
-->     right s, time event_time, used carrier

-- lateness, late rows and limits
SELECT o.order_id, _window_end FROM orders o JOIN shipments s ON o.order_id = s.order_id WINDOW SESSION(GAP INTERVAL '10' MINUTES) WITH ('window.lateness' = '1m', 'late.policy' = 'side_output', 'state.max_rows' = '100', 'join.type' = 'window')
--> select
-->   o.order_id AS order_id : STRING
-->   _window_end AS _window_end : TIMESTAMP
-->   inner session join, gap 10m, emit final, lateness 1m
-->     key o.order_id = s.order_id
-->     late side_output: late rows go to the output late
-->     limit 100 rows, then the job stops
-->     left o, time event_time, used order_id, customer_id, total, event_time
-->     right s, time event_time, used shipment_id, order_id, carrier, weight, event_time

-- a window a side
SELECT o.order_id FROM orders o WINDOW SESSION(INTERVAL 5 MINUTES) JOIN shipments s WINDOW SESSION(INTERVAL 5 MINUTES) ON o.order_id = s.order_id
--> select
-->   o.order_id AS order_id : STRING
-->   inner session join, gap 5m, emit final
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id
-->     right s, time event_time, used none

-- groups by the window of both
SELECT o.order_id, _window_start, _window_end, count(*) AS n FROM orders o WINDOW SESSION(INTERVAL 5 MINUTES) JOIN shipments s WINDOW SESSION(INTERVAL 5 MINUTES) ON o.order_id = s.order_id GROUP BY o.order_id, _window_start, _window_end EMIT CHANGES
--> mode retract
--> select
-->   k0 AS order_id : STRING
-->   _window_start AS _window_start : TIMESTAMP  <- window
-->   _window_end AS _window_end : TIMESTAMP  <- window
-->   a0 AS n : BIGINT
-->   aggregate, windows of the query below, emit changes
-->     key joined.order_id AS k0 : STRING
-->     call count(*) AS a0 : BIGINT
-->     given joined._window_start to joined._window_end
-->     input joined, time _window_time - 1us, used none
-->       select
-->         _window_time AS _window_time : TIMESTAMP  <- event time
-->         o.order_id AS order_id : STRING
-->         _window_start AS _window_start : TIMESTAMP  <- window
-->         _window_end AS _window_end : TIMESTAMP  <- window
-->         inner session join, gap 5m, emit final
-->           key o.order_id = s.order_id
-->           left o, time event_time, used order_id
-->           right s, time event_time, used none

-- groups by another window
SELECT count(*) AS n FROM (SELECT o.order_id FROM orders o LEFT JOIN shipments s ON o.order_id = s.order_id WINDOW SESSION(GAP INTERVAL '10' MINUTES) WITH ('window.lateness' = '1m')) v WINDOW TUMBLING(INTERVAL 1 HOUR)
--> select
-->   a0 AS n : BIGINT
-->   aggregate, tumbling windows of 1h, emit final
-->     call count(*) AS a0 : BIGINT
-->     input v, time _window_time - 1m 1us, used none
-->       select
-->         o.order_id AS order_id : STRING
-->         _window_time AS _window_time : TIMESTAMP  <- event time
-->         left session join, gap 10m, emit final, lateness 1m
-->           key o.order_id = s.order_id
-->           left o, time event_time, used order_id
-->           right s, time event_time, used none

-- EMIT FINAL around it
SELECT v.order_id FROM (SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id WINDOW SESSION(GAP INTERVAL '10' MINUTES)) v EMIT FINAL
--> select over v
-->   v.order_id AS order_id : STRING
-->   select
-->     o.order_id AS order_id : STRING
-->     inner session join, gap 10m, emit final
-->       key o.order_id = s.order_id
-->       left o, time event_time, used order_id
-->       right s, time event_time, used none

-- then a table
SELECT o.order_id, c.region, _window_end FROM orders o JOIN shipments s ON o.order_id = s.order_id JOIN customers c ON c.id = o.customer_id WINDOW SESSION(GAP INTERVAL '10' MINUTES) EMIT FINAL
--> select
-->   o_s.order_id AS order_id : STRING
-->   c.region AS region : STRING
-->   o_s._window_end AS _window_end : TIMESTAMP
-->   inner lookup join with customers c
-->     key o_s.customer_id = id
-->     used region
-->     left o_s, time None, used order_id, _window_end
-->       select
-->         o.customer_id AS customer_id : STRING
-->         o.order_id AS order_id : STRING
-->         _window_end AS _window_end : TIMESTAMP
-->         inner session join, gap 10m, emit final
-->           key o.order_id = s.order_id
-->           left o, time event_time, used order_id, customer_id
-->           right s, time event_time, used none

-- after a table
SELECT o.order_id, c.region FROM orders o JOIN customers c ON c.id = o.customer_id JOIN shipments s ON s.carrier = c.region WINDOW SESSION(GAP INTERVAL '10' MINUTES)
--> select
-->   o_c.order_id AS order_id : STRING
-->   o_c.region AS region : STRING
-->   inner session join, gap 10m, emit final
-->     key o_c.region = s.carrier
-->     left o_c, time event_time - 5s, used region, order_id
-->       select
-->         c.region AS region : STRING
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         o.order_id AS order_id : STRING
-->         inner lookup join with customers c
-->           key o.customer_id = id
-->           used region
-->           left o, time event_time, used order_id, event_time
-->     right s, time event_time, used none

-- after an interval join
SELECT o.order_id, e.id FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id JOIN events e WINDOW SESSION(INTERVAL 5 MINUTES) ON e.s = s.carrier
--> MS-PLAN-WINDOW at line 1, column 114: one side of the join has a WINDOW, and orders, shipments has none. Write a WINDOW after orders, shipments, or one for both sides after ON.

-- then an interval join
SELECT v.order_id, e.id FROM (SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id WINDOW SESSION(GAP INTERVAL '10' MINUTES)) v JOIN events e WITHIN 5 MINUTES ON e.s = v.order_id
--> select
-->   v.order_id AS order_id : STRING
-->   e.id AS id : BIGINT
-->   inner join [-5m, 5m]
-->     key v.order_id = e.s
-->     left v, time _window_time - 1us, used order_id
-->       select
-->         o.order_id AS order_id : STRING
-->         _window_time AS _window_time : TIMESTAMP  <- event time
-->         inner session join, gap 10m, emit final
-->           key o.order_id = s.order_id
-->           left o, time event_time, used order_id
-->           right s, time event_time, used none
-->     right e, time t, used id

-- window columns that are not known yet
SELECT o.order_id, _window_end FROM orders o JOIN shipments s ON o.order_id = s.order_id WINDOW SESSION(GAP INTERVAL '10' MINUTES) EMIT CHANGES
--> MS-PLAN-WINDOW-COLUMN at line 1, column 20: _window_end is unknown: rows are emitted before the end of their sessions is known. Write EMIT FINAL.

-- window columns that are not known yet, above a table
SELECT o.order_id, _window_end FROM orders o JOIN shipments s ON o.order_id = s.order_id JOIN customers c ON c.id = o.customer_id WINDOW SESSION(GAP INTERVAL '10' MINUTES) EMIT CHANGES
--> MS-PLAN-WINDOW-COLUMN at line 1, column 20: _window_end is unknown: rows are emitted before the end of their sessions is known. Write EMIT FINAL.

-- no event time as sessions meet
SELECT count(*) AS n FROM (SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id WINDOW SESSION(GAP INTERVAL '10' MINUTES) EMIT CHANGES) v WINDOW TUMBLING(INTERVAL 1 HOUR)
--> MS-PLAN-NO-WATERMARK at line 1, column 27: v joins sessions before they close, so its rows have no event time. Write EMIT FINAL in the query of v.

-- EMIT FINAL around sessions as they meet
SELECT v.order_id FROM (SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id WINDOW SESSION(GAP INTERVAL '10' MINUTES) EMIT CHANGES) v EMIT FINAL
--> MS-PLAN-EMIT-FINAL at line 1, column 159: EMIT FINAL emits results when their window closes, and this query has no window. Write EMIT CHANGES, or remove EMIT.

-- a predicate of one side of a left join
SELECT o.order_id FROM orders o LEFT JOIN shipments s ON o.order_id = s.order_id AND s.weight > 4 WINDOW SESSION(GAP INTERVAL '10' MINUTES)
--> select
-->   o.order_id AS order_id : STRING
-->   left session join, gap 10m, emit final
-->     key o.order_id = s.order_id
-->     across s.weight > 4: boolean
-->     across sql s.weight > 4
-->     left o, time event_time, used order_id
-->     right s, time event_time, used weight

-- a predicate of both sides of a semi join
SELECT o.order_id FROM orders o LEFT SEMI JOIN shipments s ON o.order_id = s.order_id AND s.weight > o.total WINDOW SESSION(GAP INTERVAL '10' MINUTES)
--> select
-->   o.order_id AS order_id : STRING
-->   semi session join, gap 10m, emit final
-->     key o.order_id = s.order_id
-->     across [o.total < s.weight]
-->     across sql s.weight > o.total
-->     left o, time event_time, used order_id, total
-->     right s, time event_time, used weight

-- predicates of a left join that is emitted immediately
SELECT o.order_id FROM orders o LEFT JOIN shipments s ON o.order_id = s.order_id AND s.weight > 4 WINDOW SESSION(GAP INTERVAL '10' MINUTES) EMIT CHANGES
--> MS-PLAN-WINDOW at line 1, column 86: ON of the LEFT JOIN of sessions has a predicate that is not a key, and with EMIT CHANGES whole sessions match. Write EMIT FINAL, or filter rows in a subquery: JOIN (SELECT … WHERE …) s ON …

-- a predicate of both sides that the kernel does not compute
SELECT o.order_id FROM orders o FULL JOIN shipments s ON o.order_id = s.order_id AND contains(s.carrier, o.customer_id) WINDOW SESSION(GAP INTERVAL '10' MINUTES)
--> MS-PLAN-PREDICATE at line 1, column 86: ON of the FULL JOIN has contains(s.carrier, o.customer_id): the columnar engine does not compute it for pairs of rows. The native engine cannot run the query either: Spark has no join of sessions. Compute each side's part of it in a CREATE STREAM, or write it with comparisons, + - * / %, CASE, LIKE, IN, IS NULL and casts to integers or DOUBLE.

-- a function of one side
SELECT o.order_id FROM orders o LEFT ANTI JOIN shipments s ON o.order_id = s.order_id AND contains(s.carrier, 'U') WINDOW SESSION(GAP INTERVAL '10' MINUTES)
--> select
-->   o.order_id AS order_id : STRING
-->   anti session join, gap 10m, emit final
-->     key o.order_id = s.order_id
-->     across contains(s.carrier, 'U'): boolean
-->     across sql contains(s.carrier, 'U')
-->     left o, time event_time, used order_id
-->     right s, time event_time, used carrier

-- no key
SELECT o.order_id FROM orders o JOIN shipments s ON s.weight > o.total WINDOW SESSION(GAP INTERVAL '10' MINUTES)
--> MS-PLAN-NO-KEY at line 1, column 33: the join of orders and shipments has no key. Add an equality of both sides to ON, such as o.id = s.id.

-- two gaps
SELECT o.order_id FROM orders o WINDOW SESSION(INTERVAL 5 MINUTES) JOIN shipments s WINDOW SESSION(INTERVAL 10 MINUTES) ON o.order_id = s.order_id
--> MS-PLAN-WINDOW at line 1, column 85: orders is in sessions with a gap of 5m, shipments in sessions with a gap of 10m: the windows differ. Sessions of both sides need the same gap.

-- sessions and tumbling windows
SELECT o.order_id FROM orders o WINDOW TUMBLING(INTERVAL 5 MINUTES) JOIN shipments s WINDOW SESSION(INTERVAL 10 MINUTES) ON o.order_id = s.order_id
--> MS-PLAN-WINDOW at line 1, column 86: orders is in tumbling windows of 5m, shipments in sessions with a gap of 10m: the windows differ. Use the same window for both. Sessions of both sides need the same gap.

-- a window of one side
SELECT o.order_id FROM orders o JOIN shipments s WINDOW SESSION(INTERVAL 10 MINUTES) ON o.order_id = s.order_id
--> MS-PLAN-WINDOW at line 1, column 50: one side of the join has a WINDOW, and orders has none. Write a WINDOW after orders, or one for both sides after ON.

-- processing-time sessions
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id WINDOW SESSION(INTERVAL 10 MINUTES) ON PROCTIME()
--> MS-PLAN-NOT-YET at line 1, column 77: a join of processing-time windows cannot be run yet.

-- three streams
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id JOIN events e ON e.s = o.order_id WINDOW SESSION(GAP INTERVAL '10' MINUTES)
--> MS-PLAN-NOT-YET at line 1, column 111: a join of sessions over a join of windows cannot be run yet. Write the first join in a subquery, and join its rows with session windows of their own.

-- half of the window as key
SELECT _window_start, count(*) AS n FROM orders o WINDOW SESSION(INTERVAL 5 MINUTES) JOIN shipments s WINDOW SESSION(INTERVAL 5 MINUTES) ON o.order_id = s.order_id GROUP BY _window_start
--> MS-PLAN-WINDOW at line 1, column 86: start and end identify a session window, and GROUP BY has only one of them. Group by both.

-- WITHIN
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id WINDOW SESSION(GAP INTERVAL '10' MINUTES)
--> MS-PLAN-WITHIN at line 1, column 33: the join has both WINDOW and WITHIN. Remove one of them; a predicate in ON can bound event times within a window.

-- reassigned late rows
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id WINDOW SESSION(GAP INTERVAL '10' MINUTES) WITH ('late.policy' = 'reassign', 'late.budget' = '1m')
--> MS-PLAN-NOT-YET at line 1, column 125: 'late.policy' = 'reassign' of a window join cannot be run yet. Keep windows open for longer with 'window.lateness', or use side_output.

-- a time to live
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id WINDOW SESSION(GAP INTERVAL '10' MINUTES) WITH ('state.ttl' = '1m')
--> MS-PROP-UNUSED at line 1, column 125: a window join does not use 'state.ttl': its windows expire when they close. Remove it.

-- the native engine
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id WINDOW SESSION(GAP INTERVAL '10' MINUTES) WITH ('engine' = 'native')
--> MS-PLAN-ENGINE at line 1, column 33: the native engine cannot run this join: Spark has no join of sessions. Remove 'engine', or set it to 'columnar'.

-- rows that can be retracted
SELECT o.order_id FROM orders o JOIN (SELECT customer_id, count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id EMIT CHANGES) v ON v.customer_id = o.customer_id WINDOW SESSION(GAP INTERVAL '10' MINUTES)
--> MS-PLAN-RETRACT at line 1, column 38: v retracts rows, which a join by event time does not support. Write EMIT FINAL in the query of v, with a WINDOW and no 'window.lateness', or join without a bound and with 'state.ttl' = 'forever'.

-- no event time
SELECT o.order_id FROM orders o JOIN clicks k ON k.user_id = o.customer_id WINDOW SESSION(GAP INTERVAL '10' MINUTES)
--> MS-PLAN-NO-WATERMARK at line 1, column 38: clicks has no watermark, so its rows would never expire from state. Declare WATERMARK FOR at AS at - INTERVAL 5 SECONDS in clicks.
