-- left rows are spread
SELECT o.order_id FROM orders o LEFT JOIN shipments s WITHIN 5 MINUTES USING (order_id) WITH ('join.salt' = '4')
--> select
-->   o.order_id AS order_id : STRING
-->   left join [-5m, 5m], over 4 groups
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id
-->     right s, time event_time, used none

-- a window join
SELECT o.order_id FROM orders o JOIN shipments s USING (order_id) WINDOW TUMBLING(INTERVAL 1 HOUR) WITH ('join.salt' = '2')
--> select
-->   o.order_id AS order_id : STRING
-->   inner join [0s, 0s] of tumbling windows of 1h and tumbling windows of 1h, over 2 groups
-->     key o.order_id = s.order_id
-->     key o._window_start = s._window_start
-->     left o, time _window_time moved by event_time - 5s, used order_id
-->       select over o
-->         o.order_id AS order_id : STRING
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->         source orders
-->     right s, time _window_time moved by event_time - 10s, used none
-->       select over s
-->         s.order_id AS order_id : STRING
-->         s.event_time AS event_time : TIMESTAMP  <- event time
-->         timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->         source shipments

-- a temporal join
SELECT o.order_id FROM orders o JOIN shipments FOR SYSTEM_TIME AS OF o.event_time AS s ON s.order_id = o.order_id WITH ('join.salt' = '8')
--> select
-->   o.order_id AS order_id : STRING
-->   inner temporal join, backward, over 8 groups
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id
-->     right s, time event_time, used none

-- beside a table
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id) JOIN customers c ON c.id = o.customer_id WITH ('join.salt' = '4')
--> select
-->   o_s.order_id AS order_id : STRING
-->   inner lookup join with customers c
-->     key o_s.customer_id = id
-->     used none
-->     left o_s, time None, used order_id
-->       select
-->         o.customer_id AS customer_id : STRING
-->         o.order_id AS order_id : STRING
-->         inner join [-5m, 5m], over 4 groups
-->           key o.order_id = s.order_id
-->           left o, time event_time, used order_id, customer_id
-->           right s, time event_time, used none

-- as many groups as the job has
CREATE SINK y; SET 'key_groups' = '4'; CREATE SINK x AS SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id) WITH ('join.salt' = '4')
--> select
-->   o.order_id AS order_id : STRING
-->   inner join [-5m, 5m], over 4 groups
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id
-->     right s, time event_time, used none

-- more groups than the job has
CREATE SINK y; SET 'key_groups' = '2'; CREATE SINK x AS SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id) WITH ('join.salt' = '4')
--> MS-PLAN-SALT at line 1, column 89: 'join.salt' is 4, and the job has only 2 key groups ('key_groups'). Set 2 or less, or increase 'key_groups'.

-- FULL
SELECT order_id FROM orders o FULL JOIN shipments s WITHIN 5 MINUTES USING (order_id) WITH ('join.salt' = '4')
--> MS-PLAN-SALT at line 1, column 93: 'join.salt' copies the rows of one side to several groups, and a FULL JOIN cannot decide in one group that a copied row is unmatched. Remove it, or join with LEFT or RIGHT.

-- one group
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id) WITH ('join.salt' = '1')
--> MS-PROP-VALUE at line 1, column 104: 'join.salt' cannot be '1'. Use a whole number, 2 or more.

-- a regular join
SELECT o.order_id FROM orders o JOIN shipments s USING (order_id) WITH ('join.salt' = '4', 'state.ttl' = '1h')
--> MS-PROP-UNUSED at line 1, column 73: 'join.salt' does not apply to this join: a regular join counts the matches of each row. Remove it.

-- sessions
SELECT o.order_id FROM orders o JOIN shipments s USING (order_id) WINDOW SESSION(INTERVAL 5 MINUTES) WITH ('join.salt' = '4')
--> MS-PROP-UNUSED at line 1, column 108: 'join.salt' does not apply to this join: all rows of a session are in one group. Remove it.

-- a table
SELECT o.order_id FROM orders o JOIN customers c ON c.id = o.customer_id WITH ('join.salt' = '4')
--> MS-PROP-UNUSED at line 1, column 80: 'join.salt' does not apply to this join: a table join does not shuffle rows. Remove it.

-- several joins
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id JOIN events e WITHIN 5 MINUTES ON e.s = o.order_id WITH ('join.salt' = '4')
--> MS-PROP-UNUSED at line 1, column 151: 'join.salt' applies to one join, and the query has several. Remove it, or write each join in a separate query.

-- the native engine
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id) WITH ('join.salt' = '4', 'engine' = 'native')
--> MS-PLAN-ENGINE at line 1, column 33: the native engine cannot run this join: Spark distributes rows by their key only. Remove 'engine', or set it to 'columnar'.
