-- a repeated name in * of a join gets the alias as suffix
SELECT * FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id
--> select
-->   o.order_id AS order_id : STRING
-->   o.customer_id AS customer_id : STRING
-->   o.total AS total : DOUBLE
-->   o.event_time AS event_time : TIMESTAMP  <- event time
-->   s.shipment_id AS shipment_id : STRING
-->   s.order_id AS order_id_s : STRING
-->   s.carrier AS carrier : STRING
-->   s.weight AS weight : DOUBLE
-->   s.event_time AS event_time_s : TIMESTAMP
-->   inner join [-5m, 5m]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id, customer_id, total, event_time
-->     right s, time event_time, used shipment_id, order_id, carrier, weight, event_time

-- the same with two stars
SELECT o.*, s.* FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id
--> select
-->   o.order_id AS order_id : STRING
-->   o.customer_id AS customer_id : STRING
-->   o.total AS total : DOUBLE
-->   o.event_time AS event_time : TIMESTAMP  <- event time
-->   s.shipment_id AS shipment_id : STRING
-->   s.order_id AS order_id_s : STRING
-->   s.carrier AS carrier : STRING
-->   s.weight AS weight : DOUBLE
-->   s.event_time AS event_time_s : TIMESTAMP
-->   inner join [-5m, 5m]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id, customer_id, total, event_time
-->     right s, time event_time, used shipment_id, order_id, carrier, weight, event_time

-- the first occurrence keeps its name
SELECT s.*, o.* FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id
--> select
-->   s.shipment_id AS shipment_id : STRING
-->   s.order_id AS order_id : STRING
-->   s.carrier AS carrier : STRING
-->   s.weight AS weight : DOUBLE
-->   s.event_time AS event_time : TIMESTAMP
-->   o.order_id AS order_id_o : STRING
-->   o.customer_id AS customer_id : STRING
-->   o.total AS total : DOUBLE
-->   o.event_time AS event_time_o : TIMESTAMP  <- event time
-->   inner join [-5m, 5m]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id, customer_id, total, event_time
-->     right s, time event_time, used shipment_id, order_id, carrier, weight, event_time

-- an explicit column is an occurrence
SELECT s.order_id, o.* FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id
--> select
-->   s.order_id AS order_id : STRING
-->   o.order_id AS order_id_o : STRING
-->   o.customer_id AS customer_id : STRING
-->   o.total AS total : DOUBLE
-->   o.event_time AS event_time : TIMESTAMP  <- event time
-->   inner join [-5m, 5m]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id, customer_id, total, event_time
-->     right s, time event_time, used order_id

-- without aliases, the names of the streams are suffixes
SELECT * FROM orders JOIN shipments WITHIN 5 MINUTES ON orders.order_id = shipments.order_id
--> select
-->   orders.order_id AS order_id : STRING
-->   orders.customer_id AS customer_id : STRING
-->   orders.total AS total : DOUBLE
-->   orders.event_time AS event_time : TIMESTAMP  <- event time
-->   shipments.shipment_id AS shipment_id : STRING
-->   shipments.order_id AS order_id_shipments : STRING
-->   shipments.carrier AS carrier : STRING
-->   shipments.weight AS weight : DOUBLE
-->   shipments.event_time AS event_time_shipments : TIMESTAMP
-->   inner join [-5m, 5m]
-->     key orders.order_id = shipments.order_id
-->     left orders, time event_time, used order_id, customer_id, total, event_time
-->     right shipments, time event_time, used shipment_id, order_id, carrier, weight, event_time

-- an explicit duplicate after a star
SELECT o.*, s.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id
--> MS-PLAN-DUPLICATE-COLUMN at line 1, column 13: the result has more than one column order_id. List the columns and rename one of each: s.order_id AS order_id_s.

-- the same column in two stars
SELECT *, s.* FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id
--> MS-PLAN-DUPLICATE-COLUMN at line 1, column 11: the result has more than one column shipment_id, order_id_s, carrier, weight, event_time_s. List the columns and rename one of each: s.shipment_id AS shipment_id_s.

-- a star twice over one stream
SELECT *, total * 2 AS total FROM orders
--> MS-PLAN-DUPLICATE-COLUMN at line 1, column 11: the result has more than one column total. Write * REPLACE (orders.total * 2 AS total), or rename it.

-- an unnamed query has no suffix
SELECT * FROM orders o JOIN (SELECT order_id AS k, event_time FROM shipments) WITHIN 5 MINUTES ON o.order_id = k
--> MS-PLAN-DUPLICATE-COLUMN at line 1, column 8: the result has more than one column event_time. Give the query in FROM (line 1, column 29) an alias, which is added to the name.

-- a suffixed name that is taken
SELECT * FROM orders o JOIN (SELECT order_id, total AS order_id_s, event_time FROM orders) s WITHIN 5 MINUTES ON o.order_id = s.order_id
--> select
-->   o.order_id AS order_id : STRING
-->   o.customer_id AS customer_id : STRING
-->   o.total AS total : DOUBLE
-->   o.event_time AS event_time : TIMESTAMP  <- event time
-->   s.order_id AS order_id_s : STRING
-->   s.order_id_s AS order_id_s_s : DOUBLE
-->   s.event_time AS event_time_s : TIMESTAMP
-->   inner join [-5m, 5m]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id, customer_id, total, event_time
-->     right s, time event_time - 5s, used order_id, order_id_s, event_time
-->       select over orders
-->         orders.order_id AS order_id : STRING
-->         orders.total AS order_id_s : DOUBLE
-->         orders.event_time AS event_time : TIMESTAMP  <- event time
-->         source orders

-- USING merges its columns
SELECT * FROM orders a JOIN orders b WITHIN 5 MINUTES USING (order_id) JOIN orders c WITHIN 5 MINUTES USING (order_id)
--> select
-->   a_b.order_id AS order_id : STRING
-->   a_b.customer_id AS customer_id : STRING
-->   a_b.total AS total : DOUBLE
-->   a_b.event_time AS event_time : TIMESTAMP  <- event time
-->   a_b.b_customer_id AS customer_id_b : STRING
-->   a_b.b_total AS total_b : DOUBLE
-->   a_b.b_event_time AS event_time_b : TIMESTAMP
-->   c.customer_id AS customer_id_c : STRING
-->   c.total AS total_c : DOUBLE
-->   c.event_time AS event_time_c : TIMESTAMP
-->   inner join [-5m, 5m]
-->     key a_b.order_id = c.order_id
-->     left a_b, time event_time - 5m, used order_id, event_time, customer_id, total, b_customer_id, b_total, b_event_time
-->       select
-->         a.order_id AS order_id : STRING
-->         a.event_time AS event_time : TIMESTAMP  <- event time
-->         a.customer_id AS customer_id : STRING
-->         a.total AS total : DOUBLE
-->         b.customer_id AS b_customer_id : STRING
-->         b.total AS b_total : DOUBLE
-->         b.event_time AS b_event_time : TIMESTAMP
-->         inner join [-5m, 5m]
-->           key a.order_id = b.order_id
-->           left a, time event_time, used order_id, customer_id, total, event_time
-->           right b, time event_time, used customer_id, total, event_time
-->     right c, time event_time, used customer_id, total, event_time

-- a window join
SELECT o.*, s.*, _window_start FROM orders o JOIN shipments s ON o.order_id = s.order_id WINDOW TUMBLING(INTERVAL 1 HOUR)
--> select
-->   o.order_id AS order_id : STRING
-->   o.customer_id AS customer_id : STRING
-->   o.total AS total : DOUBLE
-->   o.event_time AS event_time : TIMESTAMP
-->   s.shipment_id AS shipment_id : STRING
-->   s.order_id AS order_id_s : STRING
-->   s.carrier AS carrier : STRING
-->   s.weight AS weight : DOUBLE
-->   s.event_time AS event_time_s : TIMESTAMP
-->   o._window_start AS _window_start : TIMESTAMP
-->   inner join [0s, 0s] of tumbling windows of 1h and tumbling windows of 1h
-->     key o.order_id = s.order_id
-->     key o._window_start = s._window_start
-->     left o, time _window_time moved by event_time - 5s, used order_id, customer_id, total, event_time, _window_start
-->       select over o
-->         o.order_id AS order_id : STRING
-->         o.customer_id AS customer_id : STRING
-->         o.total AS total : DOUBLE
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->         source orders
-->     right s, time _window_time moved by event_time - 10s, used shipment_id, order_id, carrier, weight, event_time
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

-- * of a window join ends with the window
SELECT * FROM orders o JOIN shipments s ON o.order_id = s.order_id WINDOW TUMBLING(INTERVAL 1 HOUR)
--> select
-->   o.order_id AS order_id : STRING
-->   o.customer_id AS customer_id : STRING
-->   o.total AS total : DOUBLE
-->   o.event_time AS event_time : TIMESTAMP
-->   s.shipment_id AS shipment_id : STRING
-->   s.order_id AS order_id_s : STRING
-->   s.carrier AS carrier : STRING
-->   s.weight AS weight : DOUBLE
-->   s.event_time AS event_time_s : TIMESTAMP
-->   o._window_start AS _window_start : TIMESTAMP  <- window
-->   o._window_end AS _window_end : TIMESTAMP  <- window
-->   inner join [0s, 0s] of tumbling windows of 1h and tumbling windows of 1h
-->     key o.order_id = s.order_id
-->     key o._window_start = s._window_start
-->     left o, time _window_time moved by event_time - 5s, used order_id, customer_id, total, event_time, _window_start, _window_end
-->       select over o
-->         o.order_id AS order_id : STRING
-->         o.customer_id AS customer_id : STRING
-->         o.total AS total : DOUBLE
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->         source orders
-->     right s, time _window_time moved by event_time - 10s, used shipment_id, order_id, carrier, weight, event_time
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

-- a session join
SELECT * FROM orders o JOIN shipments s ON o.order_id = s.order_id WINDOW SESSION(INTERVAL 1 HOUR)
--> select
-->   o.order_id AS order_id : STRING
-->   o.customer_id AS customer_id : STRING
-->   o.total AS total : DOUBLE
-->   o.event_time AS event_time : TIMESTAMP
-->   s.shipment_id AS shipment_id : STRING
-->   s.order_id AS order_id_s : STRING
-->   s.carrier AS carrier : STRING
-->   s.weight AS weight : DOUBLE
-->   s.event_time AS event_time_s : TIMESTAMP
-->   _window_start AS _window_start : TIMESTAMP  <- window
-->   _window_end AS _window_end : TIMESTAMP  <- window
-->   inner session join, gap 1h, emit final
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id, customer_id, total, event_time
-->     right s, time event_time, used shipment_id, order_id, carrier, weight, event_time

-- a session join with EMIT FINAL
SELECT * FROM orders o JOIN shipments s ON o.order_id = s.order_id WINDOW TUMBLING(INTERVAL 1 HOUR) EMIT FINAL
--> select
-->   order_id AS order_id : STRING
-->   customer_id AS customer_id : STRING
-->   total AS total : DOUBLE
-->   event_time AS event_time : TIMESTAMP
-->   shipment_id AS shipment_id : STRING
-->   s_order_id AS order_id_s : STRING
-->   carrier AS carrier : STRING
-->   weight AS weight : DOUBLE
-->   s_event_time AS event_time_s : TIMESTAMP
-->   _window_start AS _window_start : TIMESTAMP  <- window
-->   _window_end AS _window_end : TIMESTAMP  <- window
-->   rows over 0 before
-->     partition joined._key_hash
-->     input joined, time _window_time, used order_id, customer_id, total, event_time, shipment_id, s_order_id, carrier, weight, s_event_time, _window_start, _window_end
-->       select
-->         o._window_time AS _window_time : TIMESTAMP  <- event time
-->         o.order_id AS order_id : STRING
-->         o.customer_id AS customer_id : STRING
-->         o.total AS total : DOUBLE
-->         o.event_time AS event_time : TIMESTAMP
-->         s.shipment_id AS shipment_id : STRING
-->         s.order_id AS s_order_id : STRING
-->         s.carrier AS carrier : STRING
-->         s.weight AS weight : DOUBLE
-->         s.event_time AS s_event_time : TIMESTAMP
-->         o._window_start AS _window_start : TIMESTAMP  <- window
-->         o._window_end AS _window_end : TIMESTAMP  <- window
-->         xxhash64(o.order_id) AS _key_hash : BIGINT
-->         inner join [0s, 0s] of tumbling windows of 1h and tumbling windows of 1h
-->           key o.order_id = s.order_id
-->           key o._window_start = s._window_start
-->           left o, time _window_time moved by event_time - 5s, used order_id, customer_id, total, event_time, _window_start, _window_end, _window_time
-->             select over o
-->               o.order_id AS order_id : STRING
-->               o.customer_id AS customer_id : STRING
-->               o.total AS total : DOUBLE
-->               o.event_time AS event_time : TIMESTAMP  <- event time
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->               source orders
-->           right s, time _window_time moved by event_time - 10s, used shipment_id, order_id, carrier, weight, event_time
-->             select over s
-->               s.shipment_id AS shipment_id : STRING
-->               s.order_id AS order_id : STRING
-->               s.carrier AS carrier : STRING
-->               s.weight AS weight : DOUBLE
-->               s.event_time AS event_time : TIMESTAMP  <- event time
-->               timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->               source shipments

-- a temporal join
SELECT * FROM orders o LEFT JOIN shipments FOR SYSTEM_TIME AS OF o.event_time s ON o.order_id = s.order_id
--> select
-->   o.order_id AS order_id : STRING
-->   o.customer_id AS customer_id : STRING
-->   o.total AS total : DOUBLE
-->   o.event_time AS event_time : TIMESTAMP  <- event time
-->   s.shipment_id AS shipment_id : STRING
-->   s.order_id AS order_id_s : STRING
-->   s.carrier AS carrier : STRING
-->   s.weight AS weight : DOUBLE
-->   s.event_time AS event_time_s : TIMESTAMP
-->   left temporal join, backward
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id, customer_id, total, event_time
-->     right s, time event_time, used shipment_id, order_id, carrier, weight, event_time

-- a regular join
SELECT * FROM orders o JOIN shipments s ON o.order_id = s.order_id WITH ('state.ttl' = '1d')
--> select
-->   o.order_id AS order_id : STRING
-->   o.customer_id AS customer_id : STRING
-->   o.total AS total : DOUBLE
-->   o.event_time AS event_time : TIMESTAMP  <- event time
-->   s.shipment_id AS shipment_id : STRING
-->   s.order_id AS order_id_s : STRING
-->   s.carrier AS carrier : STRING
-->   s.weight AS weight : DOUBLE
-->   s.event_time AS event_time_s : TIMESTAMP
-->   inner regular join, ttl 1d
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id, customer_id, total, event_time
-->     right s, time event_time, used shipment_id, order_id, carrier, weight, event_time

-- a table
SELECT * FROM orders o JOIN customers c ON o.customer_id = c.id JOIN regions r ON c.region = r.region
--> select
-->   o_c.order_id AS order_id : STRING
-->   o_c.customer_id AS customer_id : STRING
-->   o_c.total AS total : DOUBLE
-->   o_c.event_time AS event_time : TIMESTAMP  <- event time
-->   o_c.id AS id : STRING
-->   o_c.region AS region : STRING
-->   o_c.tier AS tier : INT
-->   o_c.active AS active : BOOLEAN
-->   r.region AS region_r : STRING
-->   r.tax AS tax : DOUBLE
-->   r.since AS since : DATE
-->   inner broadcast join with regions r
-->     key o_c.region = region
-->     used region, tax, since
-->     left o_c, time event_time - 5s, used region, order_id, customer_id, total, event_time, id, tier, active
-->       select
-->         c.region AS region : STRING
-->         o.order_id AS order_id : STRING
-->         o.customer_id AS customer_id : STRING
-->         o.total AS total : DOUBLE
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         c.id AS id : STRING
-->         c.tier AS tier : INT
-->         c.active AS active : BOOLEAN
-->         inner lookup join with customers c
-->           key o.customer_id = id
-->           used id, region, tier, active
-->           left o, time event_time, used order_id, customer_id, total, event_time

-- a semi join has only the left columns
SELECT * FROM orders o LEFT SEMI JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id
--> select
-->   o.order_id AS order_id : STRING
-->   o.customer_id AS customer_id : STRING
-->   o.total AS total : DOUBLE
-->   o.event_time AS event_time : TIMESTAMP  <- event time
-->   semi join [-5m, 5m]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id, customer_id, total, event_time
-->     right s, time event_time, used none

-- DISTINCT of a join
SELECT DISTINCT o.*, s.* FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id WITH ('state.ttl' = '1d')
--> select
-->   order_id AS order_id : STRING
-->   customer_id AS customer_id : STRING
-->   total AS total : DOUBLE
-->   event_time AS event_time : TIMESTAMP  <- event time
-->   shipment_id AS shipment_id : STRING
-->   s_order_id AS order_id_s : STRING
-->   carrier AS carrier : STRING
-->   weight AS weight : DOUBLE
-->   s_event_time AS event_time_s : TIMESTAMP
-->   deduplicate by joined.order_id, joined.customer_id, joined.total, joined.event_time, joined.shipment_id, joined.s_order_id, joined.carrier, joined.weight, joined.s_event_time, within 1d
-->     input joined, time event_time - 5m, used event_time, order_id, customer_id, total, shipment_id, s_order_id, carrier, weight, s_event_time
-->       select
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         o.order_id AS order_id : STRING
-->         o.customer_id AS customer_id : STRING
-->         o.total AS total : DOUBLE
-->         s.shipment_id AS shipment_id : STRING
-->         s.order_id AS s_order_id : STRING
-->         s.carrier AS carrier : STRING
-->         s.weight AS weight : DOUBLE
-->         s.event_time AS s_event_time : TIMESTAMP
-->         inner join [-5m, 5m]
-->           key o.order_id = s.order_id
-->           left o, time event_time, used order_id, customer_id, total, event_time
-->           right s, time event_time, used shipment_id, order_id, carrier, weight, event_time

-- ROW_NUMBER over a join
SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY o.order_id ORDER BY s.weight) AS n FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id) WHERE n <= 2 WITH ('state.ttl' = '1d')
--> mode retract
--> select over _query
-->   _query.order_id AS order_id : STRING
-->   _query.customer_id AS customer_id : STRING
-->   _query.total AS total : DOUBLE
-->   _query.event_time AS event_time : TIMESTAMP
-->   _query.shipment_id AS shipment_id : STRING
-->   _query.order_id_s AS order_id_s : STRING
-->   _query.carrier AS carrier : STRING
-->   _query.weight AS weight : DOUBLE
-->   _query.event_time_s AS event_time_s : TIMESTAMP
-->   _query.n AS n : INT
-->   select
-->     order_id AS order_id : STRING
-->     customer_id AS customer_id : STRING
-->     total AS total : DOUBLE
-->     event_time AS event_time : TIMESTAMP
-->     shipment_id AS shipment_id : STRING
-->     s_order_id AS order_id_s : STRING
-->     carrier AS carrier : STRING
-->     weight AS weight : DOUBLE
-->     s_event_time AS event_time_s : TIMESTAMP
-->     n AS n : INT
-->     first 2, emit changes
-->       partition joined.order_id
-->       order joined.weight ASC
-->       number n
-->       ttl 1d
-->       input joined, time event_time - 5m, used event_time, order_id, customer_id, total, shipment_id, s_order_id, carrier, weight, s_event_time
-->         select
-->           o.event_time AS event_time : TIMESTAMP  <- event time
-->           o.order_id AS order_id : STRING
-->           o.customer_id AS customer_id : STRING
-->           o.total AS total : DOUBLE
-->           s.shipment_id AS shipment_id : STRING
-->           s.order_id AS s_order_id : STRING
-->           s.carrier AS carrier : STRING
-->           s.weight AS weight : DOUBLE
-->           s.event_time AS s_event_time : TIMESTAMP
-->           inner join [-5m, 5m]
-->             key o.order_id = s.order_id
-->             left o, time event_time, used order_id, customer_id, total, event_time
-->             right s, time event_time, used shipment_id, order_id, carrier, weight, event_time

-- EXCEPT
SELECT * EXCEPT (total, Order_ID) FROM orders
--> select over orders
-->   orders.customer_id AS customer_id : STRING
-->   orders.event_time AS event_time : TIMESTAMP  <- event time
-->   source orders

-- EXCEPT of a join removes the name of every stream
SELECT * EXCEPT (order_id, s.event_time) FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id
--> select
-->   o.customer_id AS customer_id : STRING
-->   o.total AS total : DOUBLE
-->   o.event_time AS event_time : TIMESTAMP  <- event time
-->   s.shipment_id AS shipment_id : STRING
-->   s.carrier AS carrier : STRING
-->   s.weight AS weight : DOUBLE
-->   inner join [-5m, 5m]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used customer_id, total, event_time
-->     right s, time event_time, used shipment_id, carrier, weight

-- EXCEPT of one stream
SELECT o.*, s.* EXCEPT (order_id, event_time) FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id
--> select
-->   o.order_id AS order_id : STRING
-->   o.customer_id AS customer_id : STRING
-->   o.total AS total : DOUBLE
-->   o.event_time AS event_time : TIMESTAMP  <- event time
-->   s.shipment_id AS shipment_id : STRING
-->   s.carrier AS carrier : STRING
-->   s.weight AS weight : DOUBLE
-->   inner join [-5m, 5m]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id, customer_id, total, event_time
-->     right s, time event_time, used shipment_id, carrier, weight

-- EXCEPT of an unknown column
SELECT * EXCEPT (totl) FROM orders
--> MS-PLAN-UNKNOWN-COLUMN at line 1, column 18: * has no column totl, which is in EXCEPT. Did you mean total?

-- EXCEPT of a column of the other stream
SELECT o.* EXCEPT (carrier) FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id
--> MS-PLAN-UNKNOWN-COLUMN at line 1, column 20: o.* has no column carrier, which is in EXCEPT. Known: order_id, customer_id, total, event_time.

-- EXCEPT of a suffixed name
SELECT * EXCEPT (order_id_s) FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id
--> MS-PLAN-UNKNOWN-COLUMN at line 1, column 18: * has no column order_id_s, which is in EXCEPT. Write s.order_id, the column's name in the stream.

-- EXCEPT of every column
SELECT * EXCEPT (order_id, customer_id, total, event_time) FROM orders
--> MS-PLAN-STAR at line 1, column 8: EXCEPT removes every column of *. Keep at least one column.

-- EXCEPT of an expression
SELECT * EXCEPT (total + 1) FROM orders
--> MS-PLAN-UNKNOWN-COLUMN at line 1, column 18: EXCEPT needs names of columns. Write * EXCEPT (column, alias.column).

-- REPLACE
SELECT * EXCEPT (customer_id) REPLACE (total * 100 AS total, lower(order_id) AS Order_ID) FROM orders
--> select over orders
-->   lower(orders.order_id) AS order_id
-->   orders.total * 100 AS total
-->   orders.event_time AS event_time : TIMESTAMP  <- event time
-->   source orders

-- REPLACE in a join
SELECT o.* REPLACE (o.total * s.weight AS total), s.carrier FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id
--> select
-->   o.order_id AS order_id : STRING
-->   o.customer_id AS customer_id : STRING
-->   o.total * s.weight AS total
-->   o.event_time AS event_time : TIMESTAMP  <- event time
-->   s.carrier AS carrier : STRING
-->   inner join [-5m, 5m]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id, customer_id, total, event_time
-->     right s, time event_time, used carrier, weight

-- REPLACE of the event time
SELECT * REPLACE (date_trunc('hour', event_time) AS event_time) FROM orders
--> select over orders
-->   orders.order_id AS order_id : STRING
-->   orders.customer_id AS customer_id : STRING
-->   orders.total AS total : DOUBLE
-->   date_trunc('hour', orders.event_time) AS event_time
-->   source orders

-- REPLACE below DISTINCT
SELECT DISTINCT o.* EXCEPT (total) REPLACE (upper(s.carrier) AS customer_id) FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id WITH ('state.ttl' = '1d')
--> select
-->   order_id AS order_id : STRING
-->   upper(carrier) AS customer_id
-->   event_time AS event_time : TIMESTAMP  <- event time
-->   deduplicate by joined.order_id, upper(joined.carrier), joined.event_time, within 1d
-->     input joined, time event_time - 5m, used event_time, order_id, carrier
-->       select
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         o.order_id AS order_id : STRING
-->         s.carrier AS carrier : STRING
-->         inner join [-5m, 5m]
-->           key o.order_id = s.order_id
-->           left o, time event_time, used order_id, event_time
-->           right s, time event_time, used carrier

-- REPLACE of an unknown column
SELECT * REPLACE (total + 1 AS totl) FROM orders
--> MS-PLAN-UNKNOWN-COLUMN at line 1, column 19: * has no column totl, which is in REPLACE. Did you mean total?

-- REPLACE without a name
SELECT * REPLACE (total + 1) FROM orders
--> MS-PLAN-STAR at line 1, column 19: REPLACE needs an expression with the name of the column that it replaces. Write * REPLACE (expression AS column).

-- REPLACE of a column of two streams
SELECT * REPLACE (lower(o.order_id) AS order_id) FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id
--> MS-PLAN-AMBIGUOUS at line 1, column 19: order_id in REPLACE is a column of o and of s. Write REPLACE after o.* or s.*.

-- REPLACE with an unknown column in its expression
SELECT * REPLACE (totl + 1 AS total) FROM orders
--> MS-PLAN-UNKNOWN-COLUMN at line 1, column 19: orders has no column totl. Did you mean total?

-- REPLACE of a column that EXCEPT removes
SELECT * EXCEPT (total) REPLACE (1 AS total) FROM orders
--> MS-PLAN-UNKNOWN-COLUMN at line 1, column 34: * has no column total, which is in REPLACE. Known: order_id, customer_id, event_time.

-- RENAME
SELECT * RENAME (total AS t) FROM orders
--> MS-PLAN-NOT-YET at line 1, column 8: * RENAME cannot be run yet. Write * EXCEPT (…), and list the columns.

-- * of a struct
SELECT e.payload.* FROM events e
--> MS-PLAN-NOT-YET at line 1, column 8: the * of a struct cannot be run yet.
