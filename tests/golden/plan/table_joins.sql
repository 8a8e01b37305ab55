-- a lookup join as of now
SELECT o.order_id, o.event_time, c.region FROM orders o JOIN customers FOR SYSTEM_TIME AS OF PROCTIME() AS c ON o.customer_id = c.id
--> select
-->   o.order_id AS order_id : STRING
-->   o.event_time AS event_time : TIMESTAMP  <- event time
-->   c.region AS region : STRING
-->   inner lookup join with customers c
-->     key o.customer_id = id
-->     used region
-->     left o, time event_time, used order_id, event_time

-- a table without AS OF is joined as it is now
SELECT o.order_id, c.region FROM orders o JOIN customers c ON c.id = o.customer_id
--> select
-->   o.order_id AS order_id : STRING
-->   c.region AS region : STRING
-->   inner lookup join with customers c
-->     key o.customer_id = id
-->     used region
-->     left o, time event_time, used order_id

-- the table under its own name
SELECT order_id, customers.region FROM orders JOIN customers ON id = customer_id
--> select
-->   orders.order_id AS order_id : STRING
-->   customers.region AS region : STRING
-->   inner lookup join with customers customers
-->     key orders.customer_id = id
-->     used region
-->     left orders, time event_time, used order_id

-- a stream without event time
SELECT k.user_id, r.tax FROM clicks k LEFT JOIN regions r ON r.region = k.user_id
--> select
-->   k.user_id AS user_id : STRING
-->   r.tax AS tax : DOUBLE
-->   left broadcast join with regions r
-->     key k.user_id = region
-->     used tax
-->     left k, time None, used user_id

-- USING and every column
SELECT * FROM (SELECT order_id, customer_id AS id FROM orders) o JOIN customers USING (id)
--> select
-->   o.id AS id : STRING
-->   o.order_id AS order_id : STRING
-->   customers.region AS region : STRING
-->   customers.tier AS tier : INT
-->   customers.active AS active : BOOLEAN
-->   inner lookup join with customers customers
-->     key o.id = id
-->     used region, tier, active
-->     left o, time None, used order_id, id
-->       select over orders
-->         orders.order_id AS order_id : STRING
-->         orders.customer_id AS id : STRING
-->         source orders

-- the columns of the table
SELECT c.* FROM orders o LEFT JOIN customers c ON c.id = o.customer_id
--> select
-->   c.id AS id : STRING
-->   c.region AS region : STRING
-->   c.tier AS tier : INT
-->   c.active AS active : BOOLEAN
-->   left lookup join with customers c
-->     key o.customer_id = id
-->     used id, region, tier, active
-->     left o, time event_time, used none

-- an expression of the left side as key
SELECT o.order_id, c.tier FROM orders o JOIN customers c ON concat('c', o.customer_id) = c.id
--> select
-->   o.order_id AS order_id : STRING
-->   c.tier AS tier : INT
-->   inner lookup join with customers c
-->     key concat('c', o.customer_id) = id
-->     used tier
-->     left o, time event_time, used order_id

-- two keys
SELECT o.order_id, t.tax FROM orders o LEFT JOIN taxes t ON t.region = o.customer_id AND year(o.event_time) = t.year
--> select
-->   o.order_id AS order_id : STRING
-->   t.tax AS tax : DOUBLE
-->   left broadcast join with taxes t
-->     key o.customer_id = region
-->     key year(o.event_time) = year
-->     used tax
-->     left o, time event_time, used order_id

-- one column for two keys
SELECT o.order_id FROM orders o JOIN customers c ON c.id = o.customer_id AND c.id = o.order_id
--> select
-->   o.order_id AS order_id : STRING
-->   inner lookup join with customers c
-->     key o.customer_id = id
-->     left where o.customer_id = o.order_id
-->     used none
-->     left o, time event_time, used order_id

-- comparisons with constants are pushed to the table
SELECT o.order_id FROM orders o JOIN customers c ON c.id = o.customer_id AND c.tier >= 2 AND 5 > c.tier AND c.region IN ('EU', 'US') AND c.active WHERE c.region <> 'US' AND c.tier BETWEEN -1 AND 7 AND (c.region IS NOT NULL)
--> select
-->   o.order_id AS order_id : STRING
-->   inner lookup join with customers c
-->     key o.customer_id = id
-->     condition tier >= 2
-->     condition tier < 5
-->     condition region IN ('EU', 'US')
-->     condition active = true
-->     condition region <> 'US'
-->     condition tier >= -1
-->     condition tier <= 7
-->     condition region IS NOT NULL
-->     used none
-->     left o, time event_time, used order_id

-- booleans and NULL
SELECT o.order_id FROM orders o LEFT JOIN customers c ON c.id = o.customer_id AND NOT c.active AND c.tier IS NULL
--> select
-->   o.order_id AS order_id : STRING
-->   left lookup join with customers c
-->     key o.customer_id = id
-->     condition active = false
-->     condition tier IS NULL
-->     used none
-->     left o, time event_time, used order_id

-- only Spark resolves an escaped string
SELECT o.order_id FROM orders o JOIN customers c ON c.id = o.customer_id AND c.region = 'it\'s'
--> select
-->   o.order_id AS order_id : STRING
-->   where c.region = 'it\'s'
-->   inner lookup join with customers c
-->     key o.customer_id = id
-->     used region
-->     left o, time event_time, used order_id

-- what a database may see otherwise, Spark decides
SELECT o.order_id FROM orders o JOIN regions r ON r.region = o.customer_id AND r.region > 'A' AND r.tax > 1 AND r.since < '2026-01-01' AND r.region LIKE 'E%' AND r.region IN ('EU', NULL)
--> select
-->   o.order_id AS order_id : STRING
-->   where r.region > 'A' AND r.tax > 1 AND r.since < '2026-01-01' AND r.region LIKE 'E%' AND r.region IN ('EU', NULL)
-->   inner broadcast join with regions r
-->     key o.customer_id = region
-->     used region, tax, since
-->     left o, time event_time, used order_id

-- predicates of both sides filter an inner join
SELECT o.order_id FROM orders o JOIN regions r ON r.region = o.customer_id AND r.tax < o.total WHERE r.tax + 1 < o.total
--> select
-->   o.order_id AS order_id : STRING
-->   where r.tax < o.total AND r.tax + 1 < o.total
-->   inner broadcast join with regions r
-->     key o.customer_id = region
-->     used tax
-->     left o, time event_time, used order_id, total

-- predicates of the left side of an inner join
SELECT o.order_id FROM orders o JOIN customers c ON c.id = o.customer_id AND o.total > 5 WHERE o.total < 100
--> select
-->   o.order_id AS order_id : STRING
-->   inner lookup join with customers c
-->     key o.customer_id = id
-->     left where o.total > 5 AND o.total < 100
-->     used none
-->     left o, time event_time, used order_id

-- predicates of the left side of a left join
SELECT o.order_id, c.tier FROM orders o LEFT JOIN customers c ON c.id = o.customer_id AND o.total > 5 WHERE o.total < 100 AND c.tier > 1
--> select
-->   o.order_id AS order_id : STRING
-->   c.tier AS tier : INT
-->   where o.total < 100 AND c.tier > 1
-->   left lookup join with customers c
-->     key o.customer_id = id
-->     left where o.total > 5 AND o.total < 100
-->     used tier
-->     left o, time event_time, used order_id, total

-- predicates of both sides of a left join whose key is whole
SELECT o.order_id, c.tier FROM orders o LEFT JOIN customers c ON c.id = o.customer_id AND c.tier < o.total
--> select
-->   o.order_id AS order_id : STRING
-->   c.tier AS tier : INT
-->   left lookup join with customers c
-->     key o.customer_id = id
-->     across sql c.tier < o.total
-->     used tier
-->     left o, time event_time, used order_id, total

-- a constant for a part of the primary key
SELECT o.order_id, t.tax FROM orders o LEFT JOIN taxes t ON t.region = o.customer_id AND t.year = 2026 AND t.tax < o.total
--> select
-->   o.order_id AS order_id : STRING
-->   t.tax AS tax : DOUBLE
-->   left broadcast join with taxes t
-->     key o.customer_id = region
-->     condition year = 2026
-->     across sql t.tax < o.total
-->     used tax
-->     left o, time event_time, used order_id, total

-- random values is no predicate of the key
SELECT o.order_id FROM orders o JOIN customers c ON c.id = o.customer_id AND rand() < 0.5 WHERE o.total > rand()
--> select
-->   o.order_id AS order_id : STRING
-->   where rand() < 0.5 AND o.total > rand()
-->   inner lookup join with customers c
-->     key o.customer_id = id
-->     used none
-->     left o, time event_time, used order_id, total

-- semi
SELECT order_id FROM orders o LEFT SEMI JOIN customers c ON c.id = o.customer_id AND c.tier = 1
--> select
-->   o.order_id AS order_id : STRING
-->   semi lookup join with customers c
-->     key o.customer_id = id
-->     condition tier = 1
-->     used none
-->     left o, time event_time, used order_id

-- anti
SELECT o.* FROM orders o LEFT ANTI JOIN customers c ON c.id = o.customer_id AND o.total > 10
--> select
-->   o.order_id AS order_id : STRING
-->   o.customer_id AS customer_id : STRING
-->   o.total AS total : DOUBLE
-->   o.event_time AS event_time : TIMESTAMP  <- event time
-->   anti lookup join with customers c
-->     key o.customer_id = id
-->     left where o.total > 10
-->     used none
-->     left o, time event_time, used order_id, customer_id, total, event_time

-- semi with a predicate of both sides
SELECT order_id FROM orders o LEFT SEMI JOIN customers c ON c.id = o.customer_id AND c.tier < o.total
--> select
-->   o.order_id AS order_id : STRING
-->   semi lookup join with customers c
-->     key o.customer_id = id
-->     across sql c.tier < o.total
-->     used tier
-->     left o, time event_time, used order_id, total

-- one table twice
SELECT o.order_id, a.region, b.region AS other FROM orders o JOIN customers a ON a.id = o.customer_id LEFT JOIN customers b ON b.id = o.order_id AND b.region = a.region
--> select
-->   o_a.order_id AS order_id : STRING
-->   o_a.region AS region : STRING
-->   b.region AS other : STRING
-->   left lookup join with customers b
-->     key o_a.order_id = id
-->     key o_a.region = region
-->     used region
-->     left o_a, time None, used order_id, region
-->       select
-->         o.order_id AS order_id : STRING
-->         a.region AS region : STRING
-->         inner lookup join with customers a
-->           key o.customer_id = id
-->           used region
-->           left o, time event_time, used order_id

-- a comma and WHERE
SELECT o.order_id, c.tier FROM orders o, customers c WHERE c.id = o.customer_id AND c.tier = 3
--> select
-->   o.order_id AS order_id : STRING
-->   c.tier AS tier : INT
-->   inner lookup join with customers c
-->     key o.customer_id = id
-->     condition tier = 3
-->     used tier
-->     left o, time event_time, used order_id

-- interval, then temporal, then lookup
CREATE TABLE rates (currency STRING, rate DOUBLE, t TIMESTAMP, PRIMARY KEY (currency), WATERMARK FOR t AS t); CREATE SINK x AS
SELECT o.order_id, s.event_time, r.rate, c.region FROM orders o
JOIN shipments s ON s.order_id = o.order_id AND s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL 1 HOUR
JOIN rates FOR SYSTEM_TIME AS OF s.event_time AS r ON r.currency = o.customer_id
LEFT JOIN customers c ON c.id = o.customer_id
--> select
-->   o_s_r.order_id AS order_id : STRING
-->   o_s_r.event_time AS event_time : TIMESTAMP  <- event time
-->   o_s_r.rate AS rate : DOUBLE
-->   c.region AS region : STRING
-->   left lookup join with customers c
-->     key o_s_r.customer_id = id
-->     used region
-->     left o_s_r, time event_time, used order_id, event_time, rate
-->       select
-->         o_s.customer_id AS customer_id : STRING
-->         o_s.order_id AS order_id : STRING
-->         o_s.event_time AS event_time : TIMESTAMP  <- event time
-->         r.rate AS rate : DOUBLE
-->         inner temporal join, backward
-->           key o_s.customer_id = r.currency
-->           left o_s, time event_time, used event_time, customer_id, order_id
-->             select
-->               s.event_time AS event_time : TIMESTAMP  <- event time
-->               o.customer_id AS customer_id : STRING
-->               o.order_id AS order_id : STRING
-->               inner join [0s, 1h]
-->                 key o.order_id = s.order_id
-->                 left o, time event_time, used order_id, customer_id
-->                 right s, time event_time, used event_time
-->           right r, time t, used rate

-- lookup, then interval by a column of the table
SELECT o.order_id, e.id FROM orders o JOIN customers c ON c.id = o.customer_id JOIN events e ON e.s = c.region AND e.t BETWEEN o.event_time AND o.event_time + INTERVAL 1 HOUR
--> select
-->   o_c.order_id AS order_id : STRING
-->   e.id AS id : BIGINT
-->   inner join [0s, 1h]
-->     key o_c.region = e.s
-->     left o_c, time event_time - 5s, used order_id
-->       select
-->         c.region AS region : STRING
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         o.order_id AS order_id : STRING
-->         inner lookup join with customers c
-->           key o.customer_id = id
-->           used region
-->           left o, time event_time, used order_id, event_time
-->     right e, time t, used id

-- the time that is carried is that of the join below
SELECT s.event_time, c.region FROM orders o JOIN shipments s ON s.order_id = o.order_id AND s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL 1 HOUR JOIN customers c ON c.id = o.customer_id
--> select
-->   o_s.event_time AS event_time : TIMESTAMP  <- event time
-->   c.region AS region : STRING
-->   inner lookup join with customers c
-->     key o_s.customer_id = id
-->     used region
-->     left o_s, time event_time, used event_time
-->       select
-->         o.customer_id AS customer_id : STRING
-->         s.event_time AS event_time : TIMESTAMP  <- event time
-->         inner join [0s, 1h]
-->           key o.order_id = s.order_id
-->           left o, time event_time, used customer_id
-->           right s, time event_time, used event_time

-- aggregates over a lookup
SELECT c.region, count(*) AS n, sum(o.total) AS total FROM orders o JOIN customers c ON c.id = o.customer_id WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY c.region
--> select
-->   k0 AS region : STRING
-->   a0 AS n : BIGINT
-->   a1 AS total : DOUBLE
-->   aggregate, tumbling windows of 1h, emit final
-->     key joined.region AS k0 : STRING
-->     call count(*) AS a0 : BIGINT
-->     call sum(joined.total) AS a1 : DOUBLE
-->     input joined, time event_time - 5s, used none
-->       select
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         c.region AS region : STRING
-->         o.total AS total : DOUBLE
-->         inner lookup join with customers c
-->           key o.customer_id = id
-->           used region
-->           left o, time event_time, used total, event_time

-- rows in windows, then looked up
SELECT o.order_id, c.region, _WINDOW_START, _window_end FROM orders o WINDOW TUMBLING(INTERVAL 1 HOUR) JOIN customers c ON c.id = o.customer_id
--> select
-->   o.order_id AS order_id : STRING
-->   c.region AS region : STRING
-->   o._window_start AS _WINDOW_START : TIMESTAMP  <- window
-->   o._window_end AS _window_end : TIMESTAMP  <- window
-->   inner lookup join with customers c
-->     key o.customer_id = id
-->     used region
-->     left o, time event_time - 5s, used order_id, _window_start, _window_end
-->       select over o
-->         o.order_id AS order_id : STRING
-->         o.customer_id AS customer_id : STRING
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->         source orders

-- results of a window, looked up and grouped by it
SELECT r.tax, _window_start, count(*) AS k FROM (SELECT customer_id, _window_start, _window_end, count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id) v JOIN regions r ON r.region = v.customer_id GROUP BY r.tax, _window_start
--> select
-->   k0 AS tax : DOUBLE
-->   _window_start AS _window_start : TIMESTAMP
-->   a0 AS k : BIGINT
-->   aggregate, windows of the query below, emit final
-->     key joined.tax AS k0 : DOUBLE
-->     call count(*) AS a0 : BIGINT
-->     given joined._window_start to joined._window_end
-->     input joined, time _window_time, used none
-->       select
-->         v._window_time AS _window_time : TIMESTAMP  <- event time
-->         r.tax AS tax : DOUBLE
-->         v._window_start AS _window_start : TIMESTAMP  <- window
-->         v._window_end AS _window_end : TIMESTAMP  <- window
-->         inner broadcast join with regions r
-->           key v.customer_id = region
-->           used tax
-->           left v, time _window_time, used _window_start, _window_end, _window_time
-->             select
-->               k0 AS customer_id : STRING
-->               _window_start AS _window_start : TIMESTAMP  <- window
-->               _window_end AS _window_end : TIMESTAMP  <- window
-->               a0 AS n : BIGINT
-->               _window_time AS _window_time : TIMESTAMP  <- event time
-->               aggregate, tumbling windows of 1h, emit final
-->                 key orders.customer_id AS k0 : STRING
-->                 call count(*) AS a0 : BIGINT
-->                 input orders, time event_time, used none

-- the time of a window passes through
SELECT count(*) AS n FROM (SELECT v.customer_id, r.tax FROM (SELECT customer_id, count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id) v JOIN regions r ON r.region = v.customer_id) x WINDOW TUMBLING(INTERVAL 2 HOURS)
--> select
-->   a0 AS n : BIGINT
-->   aggregate, tumbling windows of 2h, emit final
-->     call count(*) AS a0 : BIGINT
-->     input x, time _window_time, used none
-->       select
-->         v.customer_id AS customer_id : STRING
-->         r.tax AS tax : DOUBLE
-->         v._window_time AS _window_time : TIMESTAMP  <- event time
-->         inner broadcast join with regions r
-->           key v.customer_id = region
-->           used tax
-->           left v, time _window_time, used customer_id, _window_time
-->             select
-->               k0 AS customer_id : STRING
-->               a0 AS n : BIGINT
-->               _window_time AS _window_time : TIMESTAMP  <- event time
-->               aggregate, tumbling windows of 1h, emit final
-->                 key orders.customer_id AS k0 : STRING
-->                 call count(*) AS a0 : BIGINT
-->                 input orders, time event_time, used none

-- a window join, then a lookup, once the window is closed
SELECT o.order_id, c.region, _window_end FROM orders o JOIN shipments s ON s.order_id = o.order_id JOIN customers c ON c.id = o.customer_id WINDOW TUMBLING(INTERVAL 1 HOUR) EMIT FINAL
--> select
-->   order_id AS order_id : STRING
-->   region AS region : STRING
-->   _window_end AS _window_end : TIMESTAMP
-->   rows over 0 before
-->     partition joined._key_hash
-->     input joined, time _window_time, used order_id, region, _window_end
-->       select
-->         o_s._window_time AS _window_time : TIMESTAMP  <- event time
-->         o_s.order_id AS order_id : STRING
-->         c.region AS region : STRING
-->         o_s._window_end AS _window_end : TIMESTAMP  <- window
-->         o_s._window_start AS _window_start : TIMESTAMP  <- window
-->         xxhash64(o_s.customer_id) AS _key_hash : BIGINT
-->         inner lookup join with customers c
-->           key o_s.customer_id = id
-->           used region
-->           left o_s, time _window_time, used customer_id, order_id, _window_end, _window_start, _window_time
-->             select
-->               o.customer_id AS customer_id : STRING
-->               o.order_id AS order_id : STRING
-->               o._window_end AS _window_end : TIMESTAMP
-->               o._window_start AS _window_start : TIMESTAMP
-->               o._window_time AS _window_time : TIMESTAMP  <- event time
-->               inner join [0s, 0s] of tumbling windows of 1h and tumbling windows of 1h
-->                 key o.order_id = s.order_id
-->                 key o._window_start = s._window_start
-->                 left o, time _window_time moved by event_time - 5s, used order_id, customer_id, _window_start, _window_end, _window_time
-->                   select over o
-->                     o.order_id AS order_id : STRING
-->                     o.customer_id AS customer_id : STRING
-->                     o.event_time AS event_time : TIMESTAMP  <- event time
-->                     timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->                     timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->                     timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->                     source orders
-->                 right s, time _window_time moved by event_time - 10s, used none
-->                   select over s
-->                     s.order_id AS order_id : STRING
-->                     s.event_time AS event_time : TIMESTAMP  <- event time
-->                     timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->                     timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->                     timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->                     source shipments

-- a lookup between window joins
SELECT o.order_id, c.region, e.id FROM orders o JOIN shipments s ON s.order_id = o.order_id JOIN customers c ON c.id = o.customer_id JOIN events e ON e.s = c.region WINDOW TUMBLING(INTERVAL 1 HOUR) WITH ('window.lateness' = '5m')
--> select
-->   o_s_c.order_id AS order_id : STRING
-->   o_s_c.region AS region : STRING
-->   e.id AS id : BIGINT
-->   inner join [0s, 0s] of tumbling windows of 1h and tumbling windows of 1h, lateness 5m
-->     key o_s_c.region = e.s
-->     key o_s_c._window_start = e._window_start
-->     left o_s_c, time _window_until, used region, order_id
-->       select
-->         o_s._window_time AS _window_time : TIMESTAMP
-->         o_s._window_until AS _window_until : TIMESTAMP  <- event time
-->         c.region AS region : STRING
-->         o_s._window_start AS _window_start : TIMESTAMP
-->         o_s.order_id AS order_id : STRING
-->         inner lookup join with customers c
-->           key o_s.customer_id = id
-->           used region
-->           left o_s, time _window_until, used _window_time, _window_until, _window_start, order_id
-->             select
-->               o.customer_id AS customer_id : STRING
-->               o._window_time AS _window_time : TIMESTAMP
-->               o._window_until AS _window_until : TIMESTAMP  <- event time
-->               o._window_start AS _window_start : TIMESTAMP
-->               o.order_id AS order_id : STRING
-->               inner join [0s, 0s] of tumbling windows of 1h and tumbling windows of 1h, lateness 5m
-->                 key o.order_id = s.order_id
-->                 key o._window_start = s._window_start
-->                 left o, time _window_until moved by event_time - 5s, used order_id, customer_id, _window_start, _window_time, _window_until
-->                   select over o
-->                     o.order_id AS order_id : STRING
-->                     o.customer_id AS customer_id : STRING
-->                     o.event_time AS event_time : TIMESTAMP  <- event time
-->                     timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->                     timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->                     timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->                     timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3899999999) AS _window_until : TIMESTAMP
-->                     source orders
-->                 right s, time _window_until moved by event_time - 10s, used none
-->                   select over s
-->                     s.order_id AS order_id : STRING
-->                     s.event_time AS event_time : TIMESTAMP  <- event time
-->                     timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->                     timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->                     timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->                     timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3899999999) AS _window_until : TIMESTAMP
-->                     source shipments
-->     right e, time _window_until moved by t, used id
-->       select over e
-->         e.id AS id : BIGINT
-->         e.s AS s : STRING
-->         e.t AS t : TIMESTAMP  <- event time
-->         timestamp_micros(unix_micros(e.t) - pmod(unix_micros(e.t), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(e.t) - pmod(unix_micros(e.t), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(e.t) - pmod(unix_micros(e.t), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->         timestamp_micros(unix_micros(e.t) - pmod(unix_micros(e.t), 3600000000) + 3899999999) AS _window_until : TIMESTAMP
-->         source events

-- distinct over a lookup
SELECT DISTINCT c.region FROM orders o JOIN customers c ON c.id = o.customer_id WITH ('state.ttl' = '1h')
--> select
-->   region AS region : STRING
-->   deduplicate by joined.region, within 1h
-->     input joined, time event_time - 5s, used region
-->       select
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         c.region AS region : STRING
-->         inner lookup join with customers c
-->           key o.customer_id = id
-->           used region
-->           left o, time event_time, used event_time

-- retractions and a table that is read once
SELECT v.n, t.tax FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id EMIT CHANGES WITH ('state.ttl' = 'forever')) v LEFT JOIN taxes t ON t.region = v.customer_id
--> mode retract
--> select
-->   v.n AS n : BIGINT
-->   t.tax AS tax : DOUBLE
-->   left broadcast join with taxes t
-->     key v.customer_id = region
-->     used tax
-->     left v, time None, used n
-->       select
-->         k0 AS customer_id : STRING
-->         a0 AS n : BIGINT
-->         aggregate, emit changes
-->           key orders.customer_id AS k0 : STRING
-->           call count(*) AS a0 : BIGINT
-->           input orders, time event_time, used none

-- a view over a lookup
CREATE STREAM rich AS SELECT o.*, c.region FROM orders o JOIN customers c ON c.id = o.customer_id; CREATE SINK x AS
SELECT r.order_id, r.region FROM rich r JOIN shipments s WITHIN 5 MINUTES USING (order_id)
--> select
-->   r.order_id AS order_id : STRING
-->   r.region AS region : STRING
-->   inner join [-5m, 5m]
-->     key r.order_id = s.order_id
-->     left r, time event_time - 5s, used order_id, region
-->       select
-->         o.order_id AS order_id : STRING
-->         o.customer_id AS customer_id : STRING
-->         o.total AS total : DOUBLE
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         c.region AS region : STRING
-->         inner lookup join with customers c
-->           key o.customer_id = id
-->           used region
-->           left o, time event_time, used order_id, customer_id, total, event_time
-->     right s, time event_time, used none

-- a property for the one join of streams
SELECT o.order_id, c.tier FROM orders o JOIN customers c ON c.id = o.customer_id JOIN shipments s ON s.order_id = o.order_id WITH ('join.lower_bound' = '0s', 'join.upper_bound' = '1h')
--> select
-->   o_c.order_id AS order_id : STRING
-->   o_c.tier AS tier : INT
-->   inner join [0s, 1h]
-->     key o_c.order_id = s.order_id
-->     left o_c, time event_time - 5s, used order_id, tier
-->       select
-->         o.order_id AS order_id : STRING
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         c.tier AS tier : INT
-->         inner lookup join with customers c
-->           key o.customer_id = id
-->           used tier
-->           left o, time event_time, used order_id, event_time
-->     right s, time event_time, used none

-- its type by property
SELECT o.order_id FROM orders o JOIN customers c ON c.id = o.customer_id WITH ('join.type' = 'lookup')
--> select
-->   o.order_id AS order_id : STRING
-->   inner lookup join with customers c
-->     key o.customer_id = id
-->     used none
-->     left o, time event_time, used order_id

-- a name of WITH hides a table
WITH customers AS (SELECT customer_id AS id, event_time FROM orders) SELECT o.order_id FROM orders o JOIN customers c WITHIN 5 MINUTES ON c.id = o.customer_id
--> select
-->   o.order_id AS order_id : STRING
-->   inner join [-5m, 5m]
-->     key o.customer_id = c.id
-->     left o, time event_time, used order_id
-->     right c, time event_time - 5s, used none
-->       select over orders
-->         orders.customer_id AS id : STRING
-->         orders.event_time AS event_time : TIMESTAMP  <- event time
-->         source orders
