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
-->         o.customer_id AS customer_id : STRING
-->         o.total AS total : DOUBLE
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->         source orders
-->     right s, time _window_time moved by event_time - 10s, used none
-->       select over s
-->         s.shipment_id AS shipment_id : STRING
-->         s.order_id AS order_id : STRING
-->         s.carrier AS carrier : STRING
-->         s.weight AS weight : DOUBLE
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
--> MS-PLAN-SALT at line 1, column 89: 'join.salt' spreads rows over 4 groups, and the job has 2 ('key_groups'). Give 2 or less, or more key groups.

-- FULL
SELECT order_id FROM orders o FULL JOIN shipments s WITHIN 5 MINUTES USING (order_id) WITH ('join.salt' = '4')
--> MS-PLAN-SALT at line 1, column 93: with 'join.salt' the rows of one side are in several groups, and none of a row's copies could know that the others met nobody, as a FULL JOIN must. Leave it out, or join with LEFT or RIGHT.

-- one group
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id) WITH ('join.salt' = '1')
--> MS-PROP-VALUE at line 1, column 104: 'join.salt' cannot be '1'. It takes a whole number, 2 or more.

-- a regular join
SELECT o.order_id FROM orders o JOIN shipments s USING (order_id) WITH ('join.salt' = '4', 'state.ttl' = '1h')
--> MS-PROP-UNUSED at line 1, column 73: 'join.salt' has no use in this join: its rows are counted where they meet. Leave it out.

-- sessions
SELECT o.order_id FROM orders o JOIN shipments s USING (order_id) WINDOW SESSION(INTERVAL 5 MINUTES) WITH ('join.salt' = '4')
--> MS-PROP-UNUSED at line 1, column 108: 'join.salt' has no use in this join: all rows of a session stand together. Leave it out.

-- a table
SELECT o.order_id FROM orders o JOIN customers c ON c.id = o.customer_id WITH ('join.salt' = '4')
--> MS-PROP-UNUSED at line 1, column 80: 'join.salt' has no use in this join: its rows stay where they are read. Leave it out.

-- several joins
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id JOIN events e WITHIN 5 MINUTES ON e.s = o.order_id WITH ('join.salt' = '4')
--> MS-PROP-UNUSED at line 1, column 151: 'join.salt' does not say which join it is for, and the query has several. Leave it out, or put each join in a query of its own.

-- the native engine
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id) WITH ('join.salt' = '4', 'engine' = 'native')
--> MS-PLAN-ENGINE at line 1, column 33: the native engine cannot run this join: Spark spreads rows by their key alone. Leave 'engine' out, or try 'columnar'.
