-- tumbling
SELECT o.order_id, s.carrier, _window_start FROM orders o JOIN shipments s ON o.order_id = s.order_id WINDOW TUMBLING(INTERVAL 1 HOUR)
--> select
-->   o.order_id AS order_id : STRING
-->   s.carrier AS carrier : STRING
-->   o._window_start AS _window_start : TIMESTAMP
-->   inner join [0s, 0s] of tumbling windows of 1h and tumbling windows of 1h
-->     key o.order_id = s.order_id
-->     key o._window_start = s._window_start
-->     left o, time _window_time moved by event_time - 5s, used order_id, _window_start
-->       select over o
-->         o.order_id AS order_id : STRING
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->         source orders
-->     right s, time _window_time moved by event_time - 10s, used carrier
-->       select over s
-->         s.order_id AS order_id : STRING
-->         s.carrier AS carrier : STRING
-->         s.event_time AS event_time : TIMESTAMP  <- event time
-->         timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->         source shipments

-- a window a side, RIGHT
SELECT o.order_id, s.carrier, _WINDOW_END AS at FROM orders o WINDOW TUMBLING(INTERVAL 1 HOUR, OFFSET INTERVAL 5 MINUTES) RIGHT JOIN shipments s WINDOW TUMBLING(INTERVAL 1 HOUR, OFFSET INTERVAL 5 MINUTES) ON o.order_id = s.order_id AND s.weight > 2
--> select
-->   o.order_id AS order_id : STRING
-->   s.carrier AS carrier : STRING
-->   s._window_end AS at : TIMESTAMP
-->   right join [0s, 0s] of tumbling windows of 1h, offset 5m and tumbling windows of 1h, offset 5m
-->     key o.order_id = s.order_id
-->     key o._window_start = s._window_start
-->     right where s.weight > 2
-->     left o, time _window_time moved by event_time - 5s, used order_id
-->       select over o
-->         o.order_id AS order_id : STRING
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time) - 300000000, 3600000000)) AS _window_start : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time) - 300000000, 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time) - 300000000, 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->         source orders
-->     right s, time _window_time moved by event_time - 10s, used carrier, _window_end
-->       select over s
-->         s.order_id AS order_id : STRING
-->         s.carrier AS carrier : STRING
-->         s.weight AS weight : DOUBLE
-->         s.event_time AS event_time : TIMESTAMP  <- event time
-->         timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time) - 300000000, 3600000000)) AS _window_start : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time) - 300000000, 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time) - 300000000, 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->         source shipments

-- a star of a FULL join, with lateness
SELECT * FROM (SELECT order_id, event_time FROM orders) o FULL JOIN (SELECT order_id, carrier, event_time AS shipped FROM shipments) s USING (order_id) WINDOW TUMBLING(INTERVAL 1 HOUR) WITH ('window.lateness' = '5m')
--> select
-->   coalesce(o.order_id, s.order_id) AS order_id : STRING
-->   o.event_time AS event_time : TIMESTAMP
-->   s.carrier AS carrier : STRING
-->   s.shipped AS shipped : TIMESTAMP
-->   coalesce(o._window_start, s._window_start) AS _window_start : TIMESTAMP  <- window
-->   coalesce(o._window_end, s._window_end) AS _window_end : TIMESTAMP  <- window
-->   full join [0s, 0s] of tumbling windows of 1h and tumbling windows of 1h, lateness 5m
-->     key o.order_id = s.order_id
-->     key o._window_start = s._window_start
-->     left o, time _window_until moved by event_time - 5s, used order_id, event_time, _window_start, _window_end
-->       select over o
-->         o.order_id AS order_id : STRING
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3899999999) AS _window_until : TIMESTAMP
-->         select over orders
-->           orders.order_id AS order_id : STRING
-->           orders.event_time AS event_time : TIMESTAMP  <- event time
-->           source orders
-->     right s, time _window_until moved by shipped - 10s, used order_id, carrier, shipped, _window_start, _window_end
-->       select over s
-->         s.order_id AS order_id : STRING
-->         s.carrier AS carrier : STRING
-->         s.shipped AS shipped : TIMESTAMP  <- event time
-->         timestamp_micros(unix_micros(s.shipped) - pmod(unix_micros(s.shipped), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(s.shipped) - pmod(unix_micros(s.shipped), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(s.shipped) - pmod(unix_micros(s.shipped), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->         timestamp_micros(unix_micros(s.shipped) - pmod(unix_micros(s.shipped), 3600000000) + 3899999999) AS _window_until : TIMESTAMP
-->         select over shipments
-->           shipments.order_id AS order_id : STRING
-->           shipments.carrier AS carrier : STRING
-->           shipments.event_time AS shipped : TIMESTAMP  <- event time
-->           source shipments

-- sliding: a pair for every window that both share
SELECT o.order_id, s.carrier, _window_start, _window_end FROM orders o LEFT JOIN shipments s ON o.order_id = s.order_id WINDOW SLIDING(SIZE INTERVAL 1 HOUR, SLIDE INTERVAL 30 MINUTES)
--> select
-->   o.order_id AS order_id : STRING
-->   s.carrier AS carrier : STRING
-->   o._window_start AS _window_start : TIMESTAMP  <- window
-->   o._window_end AS _window_end : TIMESTAMP  <- window
-->   left join [0s, 0s] of windows of 1h every 30m and windows of 1h every 30m
-->     key o.order_id = s.order_id
-->     key o._window_start = s._window_start
-->     left o, time _window_time moved by event_time - 5s, used order_id, _window_start, _window_end
-->       select over o
-->         o.order_id AS order_id : STRING
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         o._window_start AS _window_start : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(o._window_start) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(o._window_start) + 3599999999) AS _window_time : TIMESTAMP
-->         select over o
-->           o.order_id AS order_id : STRING
-->           o.event_time AS event_time : TIMESTAMP  <- event time
-->           explode_outer(o._window_starts) AS _window_start : TIMESTAMP
-->           select over o
-->             o.order_id AS order_id : STRING
-->             o.event_time AS event_time : TIMESTAMP  <- event time
-->             transform(sequence(0, 1), _nth -> timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 1800000000) - _nth * 1800000000L)) AS _window_starts
-->             source orders
-->     right s, time _window_time moved by event_time - 10s, used carrier
-->       select over s
-->         s.order_id AS order_id : STRING
-->         s.carrier AS carrier : STRING
-->         s.event_time AS event_time : TIMESTAMP  <- event time
-->         s._window_start AS _window_start : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(s._window_start) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(s._window_start) + 3599999999) AS _window_time : TIMESTAMP
-->         select over s
-->           s.order_id AS order_id : STRING
-->           s.carrier AS carrier : STRING
-->           s.event_time AS event_time : TIMESTAMP  <- event time
-->           explode_outer(s._window_starts) AS _window_start : TIMESTAMP
-->           select over s
-->             s.order_id AS order_id : STRING
-->             s.carrier AS carrier : STRING
-->             s.event_time AS event_time : TIMESTAMP  <- event time
-->             transform(sequence(0, 1), _nth -> timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 1800000000) - _nth * 1800000000L)) AS _window_starts
-->             source shipments

-- sliding by its size is tumbling
SELECT o.order_id FROM orders o WINDOW TUMBLING(INTERVAL 1 HOUR) LEFT SEMI JOIN shipments s WINDOW SLIDING(SIZE INTERVAL 1 HOUR, SLIDE INTERVAL 1 HOUR) ON o.order_id = s.order_id
--> select
-->   o.order_id AS order_id : STRING
-->   semi join [0s, 0s] of tumbling windows of 1h and tumbling windows of 1h
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

-- tumbling and sliding
SELECT o.order_id, s.carrier, _window_time FROM orders o WINDOW TUMBLING(INTERVAL 1 HOUR) LEFT JOIN shipments s WINDOW SLIDING(SIZE INTERVAL 30 MINUTES, SLIDE INTERVAL 10 MINUTES) ON o.order_id = s.order_id AND s.weight > o.total
--> select
-->   o.order_id AS order_id : STRING
-->   s.carrier AS carrier : STRING
-->   o._window_time AS _window_time : TIMESTAMP  <- event time
-->   left join [-59m 59s 999ms 999us, 49m 59s 999ms 999us] of tumbling windows of 1h and windows of 30m every 10m
-->     key o.order_id = s.order_id
-->     across [o.total < s.weight]
-->     across sql s.weight > o.total
-->     left o, time _window_time moved by event_time - 5s, used order_id, total, _window_time
-->       select over o
-->         o.order_id AS order_id : STRING
-->         o.total AS total : DOUBLE
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->         source orders
-->     right s, time _window_until moved by event_time - 10s, used carrier, weight
-->       select over s
-->         s.order_id AS order_id : STRING
-->         s.carrier AS carrier : STRING
-->         s.weight AS weight : DOUBLE
-->         s.event_time AS event_time : TIMESTAMP  <- event time
-->         timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 600000000)) AS _window_start : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 600000000) + 600000000) AS _window_end : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 600000000) + 599999999) AS _window_time : TIMESTAMP
-->         timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 600000000) + 1799999999) AS _window_until : TIMESTAMP
-->         source shipments

-- sliding and tumbling
SELECT o.order_id, s.carrier, _window_start, _window_end, _window_time FROM orders o WINDOW SLIDING(SIZE INTERVAL 30 MINUTES, SLIDE INTERVAL 10 MINUTES) LEFT JOIN shipments s WINDOW TUMBLING(INTERVAL 1 HOUR) ON o.order_id = s.order_id
--> select
-->   o.order_id AS order_id : STRING
-->   s.carrier AS carrier : STRING
-->   coalesce(s._window_start, o._window_start) AS _window_start : TIMESTAMP  <- window
-->   coalesce(s._window_end, o._window_end) AS _window_end : TIMESTAMP  <- window
-->   coalesce(s._window_time, o._window_time) AS _window_time : TIMESTAMP  <- event time
-->   left join [-49m 59s 999ms 999us, 59m 59s 999ms 999us] of windows of 30m every 10m and tumbling windows of 1h
-->     key o.order_id = s.order_id
-->     left o, time _window_until moved by event_time - 5s, used order_id, _window_start, _window_end, _window_time
-->       select over o
-->         o.order_id AS order_id : STRING
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 600000000)) AS _window_start : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 600000000) + 600000000) AS _window_end : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 600000000) + 599999999) AS _window_time : TIMESTAMP
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 600000000) + 1799999999) AS _window_until : TIMESTAMP
-->         source orders
-->     right s, time _window_time moved by event_time - 10s, used carrier, _window_start, _window_end, _window_time
-->       select over s
-->         s.order_id AS order_id : STRING
-->         s.carrier AS carrier : STRING
-->         s.event_time AS event_time : TIMESTAMP  <- event time
-->         timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->         source shipments

-- ANTI, with a side output of late rows
SELECT o.order_id FROM orders o LEFT ANTI JOIN shipments s ON o.order_id = s.order_id WINDOW TUMBLING(INTERVAL 1 HOUR) EMIT CHANGES WITH ('late.policy' = 'side_output', 'join.type' = 'window')
--> select
-->   o.order_id AS order_id : STRING
-->   anti join [0s, 0s] of tumbling windows of 1h and tumbling windows of 1h
-->     key o.order_id = s.order_id
-->     key o._window_start = s._window_start
-->     left o, time _window_time moved by event_time - 5s, used order_id, customer_id, total, event_time
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

-- EMIT FINAL waits until windows close
SELECT o.order_id, s.carrier, _window_end FROM orders o JOIN shipments s ON o.order_id = s.order_id WHERE s.weight > 2 WINDOW TUMBLING(INTERVAL 1 HOUR) EMIT FINAL WITH ('window.lateness' = '5m')
--> select
-->   order_id AS order_id : STRING
-->   carrier AS carrier : STRING
-->   _window_end AS _window_end : TIMESTAMP
-->   rows over 0 before
-->     partition joined._key_hash
-->     input joined, time _window_time - 5m, used order_id, carrier, _window_end
-->       select
-->         o._window_time AS _window_time : TIMESTAMP  <- event time
-->         o.order_id AS order_id : STRING
-->         s.carrier AS carrier : STRING
-->         o._window_end AS _window_end : TIMESTAMP  <- window
-->         o._window_start AS _window_start : TIMESTAMP  <- window
-->         xxhash64(o.order_id) AS _key_hash : BIGINT
-->         inner join [0s, 0s] of tumbling windows of 1h and tumbling windows of 1h, lateness 5m
-->           key o.order_id = s.order_id
-->           key o._window_start = s._window_start
-->           right where s.weight > 2
-->           left o, time _window_until moved by event_time - 5s, used order_id, _window_start, _window_end, _window_time
-->             select over o
-->               o.order_id AS order_id : STRING
-->               o.event_time AS event_time : TIMESTAMP  <- event time
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3899999999) AS _window_until : TIMESTAMP
-->               source orders
-->           right s, time _window_until moved by event_time - 10s, used carrier
-->             select over s
-->               s.order_id AS order_id : STRING
-->               s.carrier AS carrier : STRING
-->               s.weight AS weight : DOUBLE
-->               s.event_time AS event_time : TIMESTAMP  <- event time
-->               timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->               timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3899999999) AS _window_until : TIMESTAMP
-->               source shipments

-- EMIT FINAL of a FULL join of expressions
SELECT _window_start, upper(o.order_id) AS k FROM orders o FULL JOIN shipments s ON lower(o.order_id) = s.order_id WINDOW TUMBLING(INTERVAL 1 HOUR) EMIT FINAL
--> select
-->   _window_start AS _window_start : TIMESTAMP
-->   upper(order_id) AS k
-->   rows over 0 before
-->     partition joined._key_hash
-->     input joined, time _window_time, used _window_start, order_id
-->       select
-->         coalesce(o._window_time, s._window_time) AS _window_time : TIMESTAMP  <- event time
-->         coalesce(o._window_start, s._window_start) AS _window_start : TIMESTAMP  <- window
-->         o.order_id AS order_id : STRING
-->         coalesce(o._window_end, s._window_end) AS _window_end : TIMESTAMP  <- window
-->         xxhash64(lower(o.order_id), s.order_id) AS _key_hash : BIGINT
-->         full join [0s, 0s] of tumbling windows of 1h and tumbling windows of 1h
-->           key lower(o.order_id) = s.order_id
-->           key o._window_start = s._window_start
-->           left o, time _window_time moved by event_time - 5s, used order_id, _window_start, _window_end, _window_time
-->             select over o
-->               o.order_id AS order_id : STRING
-->               o.event_time AS event_time : TIMESTAMP  <- event time
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->               source orders
-->           right s, time _window_time moved by event_time - 10s, used order_id, _window_start, _window_end, _window_time
-->             select over s
-->               s.order_id AS order_id : STRING
-->               s.event_time AS event_time : TIMESTAMP  <- event time
-->               timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->               source shipments

-- a bound inside the window is a predicate
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id AND s.event_time > o.event_time WINDOW TUMBLING(INTERVAL 1 HOUR)
--> select
-->   o.order_id AS order_id : STRING
-->   inner join [0s, 0s] of tumbling windows of 1h and tumbling windows of 1h
-->     key o.order_id = s.order_id
-->     key o._window_start = s._window_start
-->     across [o.event_time < s.event_time]
-->     across sql s.event_time > o.event_time
-->     left o, time _window_time moved by event_time - 5s, used order_id, event_time
-->       select over o
-->         o.order_id AS order_id : STRING
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->         source orders
-->     right s, time _window_time moved by event_time - 10s, used event_time
-->       select over s
-->         s.order_id AS order_id : STRING
-->         s.event_time AS event_time : TIMESTAMP  <- event time
-->         timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->         source shipments

-- three streams in one window
SELECT o.order_id, e.a, _window_start FROM orders o JOIN shipments s ON o.order_id = s.order_id LEFT JOIN events e ON e.s = s.carrier WHERE _window_start > '2026-01-01' AND o.total > 1 WINDOW TUMBLING(INTERVAL 1 HOUR) WITH ('window.lateness' = '5m')
--> select
-->   o_s.order_id AS order_id : STRING
-->   e.a AS a : INT
-->   o_s._window_start AS _window_start : TIMESTAMP
-->   where o_s._window_start > '2026-01-01'
-->   left join [0s, 0s] of tumbling windows of 1h and tumbling windows of 1h, lateness 5m
-->     key o_s.carrier = e.s
-->     key o_s._window_start = e._window_start
-->     left o_s, time _window_until, used _window_start, order_id
-->       select
-->         o._window_time AS _window_time : TIMESTAMP
-->         o._window_until AS _window_until : TIMESTAMP  <- event time
-->         s.carrier AS carrier : STRING
-->         o._window_start AS _window_start : TIMESTAMP
-->         o.order_id AS order_id : STRING
-->         inner join [0s, 0s] of tumbling windows of 1h and tumbling windows of 1h, lateness 5m
-->           key o.order_id = s.order_id
-->           key o._window_start = s._window_start
-->           left where o.total > 1
-->           left o, time _window_until moved by event_time - 5s, used order_id, _window_start, _window_time, _window_until
-->             select over o
-->               o.order_id AS order_id : STRING
-->               o.total AS total : DOUBLE
-->               o.event_time AS event_time : TIMESTAMP  <- event time
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3899999999) AS _window_until : TIMESTAMP
-->               source orders
-->           right s, time _window_until moved by event_time - 10s, used carrier
-->             select over s
-->               s.order_id AS order_id : STRING
-->               s.carrier AS carrier : STRING
-->               s.event_time AS event_time : TIMESTAMP  <- event time
-->               timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->               timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3899999999) AS _window_until : TIMESTAMP
-->               source shipments
-->     right e, time _window_until moved by t, used a
-->       select over e
-->         e.a AS a : INT
-->         e.s AS s : STRING
-->         e.t AS t : TIMESTAMP  <- event time
-->         timestamp_micros(unix_micros(e.t) - pmod(unix_micros(e.t), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(e.t) - pmod(unix_micros(e.t), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(e.t) - pmod(unix_micros(e.t), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->         timestamp_micros(unix_micros(e.t) - pmod(unix_micros(e.t), 3600000000) + 3899999999) AS _window_until : TIMESTAMP
-->         source events

-- an interval join over a window join
SELECT o.order_id, e.a FROM orders o WINDOW TUMBLING(INTERVAL 1 HOUR) JOIN shipments s WINDOW TUMBLING(INTERVAL 1 HOUR) ON o.order_id = s.order_id JOIN events e ON e.s = s.carrier AND e.t BETWEEN s.event_time AND s.event_time + INTERVAL 10 MINUTES
--> select
-->   o_s.order_id AS order_id : STRING
-->   e.a AS a : INT
-->   inner join [0s, 10m]
-->     key o_s.carrier = e.s
-->     left o_s, time event_time - 59m 59s 999ms 999us, used order_id
-->       select
-->         s.carrier AS carrier : STRING
-->         s.event_time AS event_time : TIMESTAMP  <- event time
-->         o.order_id AS order_id : STRING
-->         inner join [0s, 0s] of tumbling windows of 1h and tumbling windows of 1h
-->           key o.order_id = s.order_id
-->           key o._window_start = s._window_start
-->           left o, time _window_time moved by event_time - 5s, used order_id
-->             select over o
-->               o.order_id AS order_id : STRING
-->               o.event_time AS event_time : TIMESTAMP  <- event time
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->               source orders
-->           right s, time _window_time moved by event_time - 10s, used carrier, event_time
-->             select over s
-->               s.order_id AS order_id : STRING
-->               s.carrier AS carrier : STRING
-->               s.event_time AS event_time : TIMESTAMP  <- event time
-->               timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->               source shipments
-->     right e, time t, used a

-- an aggregate of the windows of a join
SELECT s.carrier, _window_end, count(*) AS n FROM orders o WINDOW TUMBLING(INTERVAL 1 HOUR) JOIN shipments s WINDOW TUMBLING(INTERVAL 1 HOUR) ON o.order_id = s.order_id GROUP BY s.carrier, _window_end
--> select
-->   k0 AS carrier : STRING
-->   _window_end AS _window_end : TIMESTAMP
-->   a0 AS n : BIGINT
-->   aggregate, windows of the query below, emit final
-->     key joined.carrier AS k0 : STRING
-->     call count(*) AS a0 : BIGINT
-->     given joined._window_start to joined._window_end
-->     input joined, time _window_time, used none
-->       select
-->         o._window_time AS _window_time : TIMESTAMP  <- event time
-->         s.carrier AS carrier : STRING
-->         o._window_end AS _window_end : TIMESTAMP  <- window
-->         o._window_start AS _window_start : TIMESTAMP  <- window
-->         inner join [0s, 0s] of tumbling windows of 1h and tumbling windows of 1h
-->           key o.order_id = s.order_id
-->           key o._window_start = s._window_start
-->           left o, time _window_time moved by event_time - 5s, used _window_start, _window_end, _window_time
-->             select over o
-->               o.order_id AS order_id : STRING
-->               o.event_time AS event_time : TIMESTAMP  <- event time
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->               source orders
-->           right s, time _window_time moved by event_time - 10s, used carrier
-->             select over s
-->               s.order_id AS order_id : STRING
-->               s.carrier AS carrier : STRING
-->               s.event_time AS event_time : TIMESTAMP  <- event time
-->               timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->               source shipments

-- windows of a query over a window join use the window's time
SELECT x.k, count(*) AS n FROM (SELECT o.order_id AS k FROM orders o FULL JOIN shipments s USING (order_id) WINDOW TUMBLING(INTERVAL 1 HOUR)) x WINDOW TUMBLING(INTERVAL 1 DAY) GROUP BY x.k
--> select
-->   k0 AS k : STRING
-->   a0 AS n : BIGINT
-->   aggregate, tumbling windows of 1d, emit final
-->     key x.k AS k0 : STRING
-->     call count(*) AS a0 : BIGINT
-->     input x, time _window_time, used none
-->       select
-->         o.order_id AS k : STRING
-->         coalesce(o._window_time, s._window_time) AS _window_time : TIMESTAMP  <- event time
-->         full join [0s, 0s] of tumbling windows of 1h and tumbling windows of 1h
-->           key o.order_id = s.order_id
-->           key o._window_start = s._window_start
-->           left o, time _window_time moved by event_time - 5s, used order_id, _window_time
-->             select over o
-->               o.order_id AS order_id : STRING
-->               o.event_time AS event_time : TIMESTAMP  <- event time
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->               source orders
-->           right s, time _window_time moved by event_time - 10s, used _window_time
-->             select over s
-->               s.order_id AS order_id : STRING
-->               s.event_time AS event_time : TIMESTAMP  <- event time
-->               timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->               source shipments

-- DISTINCT over a window join
SELECT DISTINCT o.order_id, _window_start FROM orders o JOIN shipments s ON o.order_id = s.order_id WINDOW TUMBLING(INTERVAL 1 HOUR) WITH ('state.ttl' = '1h')
--> select
-->   order_id AS order_id : STRING
-->   _window_start AS _window_start : TIMESTAMP
-->   deduplicate by joined.order_id, joined._window_start, within 1h
-->     input joined, time _window_time, used order_id, _window_start
-->       select
-->         o._window_time AS _window_time : TIMESTAMP  <- event time
-->         o.order_id AS order_id : STRING
-->         o._window_start AS _window_start : TIMESTAMP  <- window
-->         o._window_end AS _window_end : TIMESTAMP  <- window
-->         inner join [0s, 0s] of tumbling windows of 1h and tumbling windows of 1h
-->           key o.order_id = s.order_id
-->           key o._window_start = s._window_start
-->           left o, time _window_time moved by event_time - 5s, used order_id, _window_start, _window_end, _window_time
-->             select over o
-->               o.order_id AS order_id : STRING
-->               o.event_time AS event_time : TIMESTAMP  <- event time
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->               source orders
-->           right s, time _window_time moved by event_time - 10s, used none
-->             select over s
-->               s.order_id AS order_id : STRING
-->               s.event_time AS event_time : TIMESTAMP  <- event time
-->               timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->               source shipments

-- windows that differ
SELECT o.order_id FROM orders o WINDOW TUMBLING(INTERVAL 1 HOUR) JOIN shipments s WINDOW TUMBLING(INTERVAL 2 HOURS) ON o.order_id = s.order_id
--> MS-PLAN-WINDOW at line 1, column 83: orders has tumbling windows of 1h, shipments has tumbling windows of 2h: they share no window. Use the same window on both sides, or TUMBLING on one and SLIDING on the other.

-- a window on the left side only
SELECT o.order_id FROM orders o WINDOW TUMBLING(INTERVAL 1 HOUR) JOIN shipments s ON o.order_id = s.order_id
--> MS-PLAN-WINDOW at line 1, column 33: one side of the join has a WINDOW, and shipments has none. Write a WINDOW after shipments, or one for both sides after ON.

-- a window on the right side only
SELECT o.order_id FROM orders o JOIN shipments s WINDOW TUMBLING(INTERVAL 1 HOUR) ON o.order_id = s.order_id
--> MS-PLAN-WINDOW at line 1, column 50: one side of the join has a WINDOW, and orders has none. Write a WINDOW after orders, or one for both sides after ON.

-- a window for one side and for both
SELECT o.order_id FROM orders o WINDOW TUMBLING(INTERVAL 1 HOUR) JOIN shipments s ON o.order_id = s.order_id WINDOW TUMBLING(INTERVAL 1 HOUR)
--> MS-PLAN-WINDOW at line 1, column 110: WINDOW is set for both sides and for one side. Remove one of them.

-- a window and WITHIN
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id WINDOW TUMBLING(INTERVAL 1 HOUR)
--> MS-PLAN-WITHIN at line 1, column 33: the join has both WINDOW and WITHIN. Remove one of them; a predicate in ON can bound event times within a window.

-- a window and a bound as property
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id WINDOW TUMBLING(INTERVAL 1 HOUR) WITH ('join.upper_bound' = '5m')
--> MS-PLAN-WITHIN at line 1, column 116: the join has both WINDOW and 'join.upper_bound'. Remove one of them; a predicate in ON can bound event times within a window.

-- EMIT FINAL without a window
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id EMIT FINAL
--> MS-PLAN-EMIT-FINAL at line 1, column 94: EMIT FINAL emits results when their window closes, and this query has no window. Write EMIT CHANGES, or remove EMIT.

-- no key in a window
SELECT o.order_id FROM orders o JOIN shipments s ON o.total > s.weight WINDOW TUMBLING(INTERVAL 1 HOUR)
--> MS-PLAN-NO-KEY at line 1, column 33: the join of orders and shipments has no key. Add an equality of both sides to ON, such as o.id = s.id.

-- no time to window by
SELECT o.order_id FROM orders o JOIN clicks c ON o.order_id = c.user_id WINDOW TUMBLING(INTERVAL 1 HOUR)
--> MS-PLAN-NO-WATERMARK at line 1, column 38: clicks has no watermark, so its rows would never expire from state. Declare WATERMARK FOR at AS at - INTERVAL 5 SECONDS in clicks.

-- join.type window without a WINDOW
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id WITH ('join.type' = 'window')
--> MS-PROP-UNUSED at line 1, column 97: 'join.type' is 'window', but the type of the join is 'interval'. Add WINDOW TUMBLING(…), SLIDING(…) or SESSION(…), or remove it.

-- lateness of a join without windows
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id WITH ('window.lateness' = '5m')
--> MS-PROP-UNUSED at line 1, column 100: 'window.lateness' applies to event-time windows, and this query has none. Remove it.

-- a time to live of a window join
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id WINDOW TUMBLING(INTERVAL 1 HOUR) WITH ('state.ttl' = '5m')
--> MS-PROP-UNUSED at line 1, column 116: a window join does not use 'state.ttl': its windows expire when they close. Remove it.

-- the native engine knows no window joins
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id WINDOW TUMBLING(INTERVAL 1 HOUR) WITH ('engine' = 'native')
--> MS-PLAN-ENGINE at line 1, column 33: the native engine cannot run this join: Spark's stream-stream join expires rows by their own times, not when a window closes. Remove 'engine', or set it to 'columnar'.

-- after a FULL join of windows the time of the window is left
SELECT o.order_id, e.a FROM orders o WINDOW TUMBLING(INTERVAL 1 HOUR) FULL JOIN shipments s WINDOW TUMBLING(INTERVAL 1 HOUR) USING (order_id) LEFT JOIN events e ON e.s = s.carrier AND e.t BETWEEN o.event_time AND o.event_time + INTERVAL 10 MINUTES WITH ('window.lateness' = '5m')
--> select
-->   o_s.order_id AS order_id : STRING
-->   e.a AS a : INT
-->   left join [-59m 59s 999ms 999us, 10m]
-->     key o_s.carrier = e.s
-->     across and([o_s.event_time <= e.t], [o_s.event_time + INTERVAL 10 MINUTES >= e.t])
-->     across sql e.t BETWEEN o_s.event_time AND o_s.event_time + INTERVAL 10 MINUTES
-->     left o_s, time _window_time - 5m, used event_time, order_id
-->       select
-->         s.carrier AS carrier : STRING
-->         o.event_time AS event_time : TIMESTAMP
-->         coalesce(o._window_time, s._window_time) AS _window_time : TIMESTAMP  <- event time
-->         o.order_id AS order_id : STRING
-->         full join [0s, 0s] of tumbling windows of 1h and tumbling windows of 1h, lateness 5m
-->           key o.order_id = s.order_id
-->           key o._window_start = s._window_start
-->           left o, time _window_until moved by event_time - 5s, used order_id, event_time, _window_time
-->             select over o
-->               o.order_id AS order_id : STRING
-->               o.event_time AS event_time : TIMESTAMP  <- event time
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3899999999) AS _window_until : TIMESTAMP
-->               source orders
-->           right s, time _window_until moved by event_time - 10s, used carrier, _window_time
-->             select over s
-->               s.order_id AS order_id : STRING
-->               s.carrier AS carrier : STRING
-->               s.event_time AS event_time : TIMESTAMP  <- event time
-->               timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->               timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3899999999) AS _window_until : TIMESTAMP
-->               source shipments
-->     right e, time t, used a, t

-- sliding windows over a join of tumbling ones
SELECT o.order_id, p.total, _window_start FROM orders o WINDOW TUMBLING(INTERVAL 1 HOUR) JOIN shipments s WINDOW TUMBLING(INTERVAL 1 HOUR) USING (order_id) JOIN orders p WINDOW SLIDING(SIZE INTERVAL 1 HOUR, SLIDE INTERVAL 30 MINUTES) USING (order_id)
--> select
-->   o_s.order_id AS order_id : STRING
-->   p.total AS total : DOUBLE
-->   o_s._window_start AS _window_start : TIMESTAMP
-->   inner join [-59m 59s 999ms 999us, 1h 29m 59s 999ms 999us] of tumbling windows of 1h and windows of 1h every 30m
-->     key o_s.order_id = p.order_id
-->     left o_s, time _window_time, used order_id, _window_start
-->       select
-->         o._window_time AS _window_time : TIMESTAMP  <- event time
-->         o.order_id AS order_id : STRING
-->         o._window_start AS _window_start : TIMESTAMP
-->         inner join [0s, 0s] of tumbling windows of 1h and tumbling windows of 1h
-->           key o.order_id = s.order_id
-->           key o._window_start = s._window_start
-->           left o, time _window_time moved by event_time - 5s, used order_id, _window_start, _window_time
-->             select over o
-->               o.order_id AS order_id : STRING
-->               o.event_time AS event_time : TIMESTAMP  <- event time
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->               source orders
-->           right s, time _window_time moved by event_time - 10s, used none
-->             select over s
-->               s.order_id AS order_id : STRING
-->               s.event_time AS event_time : TIMESTAMP  <- event time
-->               timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->               source shipments
-->     right p, time _window_until moved by event_time - 5s, used total
-->       select over p
-->         p.order_id AS order_id : STRING
-->         p.total AS total : DOUBLE
-->         p.event_time AS event_time : TIMESTAMP  <- event time
-->         timestamp_micros(unix_micros(p.event_time) - pmod(unix_micros(p.event_time), 1800000000)) AS _window_start : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(p.event_time) - pmod(unix_micros(p.event_time), 1800000000) + 1800000000) AS _window_end : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(p.event_time) - pmod(unix_micros(p.event_time), 1800000000) + 1799999999) AS _window_time : TIMESTAMP
-->         timestamp_micros(unix_micros(p.event_time) - pmod(unix_micros(p.event_time), 1800000000) + 3599999999) AS _window_until : TIMESTAMP
-->         source orders

-- tumbling windows over a join of sliding ones
SELECT o.order_id FROM orders o WINDOW SLIDING(SIZE INTERVAL 1 HOUR, SLIDE INTERVAL 30 MINUTES) JOIN shipments s WINDOW SLIDING(SIZE INTERVAL 1 HOUR, SLIDE INTERVAL 30 MINUTES) USING (order_id) JOIN orders p WINDOW TUMBLING(INTERVAL 1 HOUR) USING (order_id)
--> MS-PLAN-NOT-YET at line 1, column 209: a tumbling window over a join of sliding ones cannot be run yet.

-- the hidden time of three streams in a window, with lateness
SELECT x.k, count(*) AS n FROM (SELECT o.order_id AS k FROM orders o FULL JOIN shipments s USING (order_id) FULL JOIN orders p USING (order_id) WINDOW TUMBLING(INTERVAL 1 HOUR) WITH ('window.lateness' = '5m')) x WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY x.k
--> select
-->   k0 AS k : STRING
-->   a0 AS n : BIGINT
-->   aggregate, tumbling windows of 1h, emit final
-->     key x.k AS k0 : STRING
-->     call count(*) AS a0 : BIGINT
-->     input x, time _window_time - 5m, used none
-->       select
-->         o_s.o_order_id AS k : STRING
-->         coalesce(o_s._window_time, p._window_time) AS _window_time : TIMESTAMP  <- event time
-->         full join [0s, 0s] of tumbling windows of 1h and tumbling windows of 1h, lateness 5m
-->           key o_s.order_id = p.order_id
-->           key o_s._window_start = p._window_start
-->           left o_s, time _window_until, used o_order_id, _window_time
-->             select
-->               coalesce(o._window_time, s._window_time) AS _window_time : TIMESTAMP
-->               coalesce(o._window_until, s._window_until) AS _window_until : TIMESTAMP  <- event time
-->               coalesce(o.order_id, s.order_id) AS order_id : STRING
-->               coalesce(o._window_start, s._window_start) AS _window_start : TIMESTAMP
-->               coalesce(o._window_end, s._window_end) AS _window_end : TIMESTAMP
-->               o.order_id AS o_order_id : STRING
-->               full join [0s, 0s] of tumbling windows of 1h and tumbling windows of 1h, lateness 5m
-->                 key o.order_id = s.order_id
-->                 key o._window_start = s._window_start
-->                 left o, time _window_until moved by event_time - 5s, used order_id, _window_start, _window_end, _window_time, _window_until
-->                   select over o
-->                     o.order_id AS order_id : STRING
-->                     o.event_time AS event_time : TIMESTAMP  <- event time
-->                     timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->                     timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->                     timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->                     timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 3600000000) + 3899999999) AS _window_until : TIMESTAMP
-->                     source orders
-->                 right s, time _window_until moved by event_time - 10s, used order_id, _window_start, _window_end, _window_time, _window_until
-->                   select over s
-->                     s.order_id AS order_id : STRING
-->                     s.event_time AS event_time : TIMESTAMP  <- event time
-->                     timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->                     timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->                     timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->                     timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3899999999) AS _window_until : TIMESTAMP
-->                     source shipments
-->           right p, time _window_until moved by event_time - 5s, used _window_time
-->             select over p
-->               p.order_id AS order_id : STRING
-->               p.event_time AS event_time : TIMESTAMP  <- event time
-->               timestamp_micros(unix_micros(p.event_time) - pmod(unix_micros(p.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(p.event_time) - pmod(unix_micros(p.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->               timestamp_micros(unix_micros(p.event_time) - pmod(unix_micros(p.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->               timestamp_micros(unix_micros(p.event_time) - pmod(unix_micros(p.event_time), 3600000000) + 3899999999) AS _window_until : TIMESTAMP
-->               source orders

-- WINDOW beside an aggregate is not for the join
SELECT o.customer_id, count(*) AS n FROM orders o JOIN shipments s ON o.order_id = s.order_id WINDOW TUMBLING(INTERVAL '1' HOUR) GROUP BY o.customer_id
--> MS-PLAN-UNBOUNDED at line 1, column 51: the join of orders and shipments has no time bound, so its state would grow forever: WINDOW of a query with an aggregate applies to the aggregate. Add AND s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL 24 HOURS to ON, or JOIN shipments s WITHIN INTERVAL 5 MINUTES ON …, or WITH ('state.ttl' = '1d'). For a window join, write a subquery: SELECT … FROM (SELECT o.customer_id, _window_start, _window_end FROM orders o JOIN shipments s ON o.order_id = s.order_id WINDOW TUMBLING(INTERVAL '1' HOUR)) GROUP BY customer_id, _window_start, _window_end.

-- the same with sessions
SELECT o.customer_id, count(*) AS n FROM orders o JOIN shipments s ON o.order_id = s.order_id WINDOW SESSION(GAP INTERVAL '30' MINUTES) GROUP BY o.customer_id
--> MS-PLAN-UNBOUNDED at line 1, column 51: the join of orders and shipments has no time bound, so its state would grow forever: WINDOW of a query with an aggregate applies to the aggregate. Add AND s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL 24 HOURS to ON, or JOIN shipments s WITHIN INTERVAL 5 MINUTES ON …, or WITH ('state.ttl' = '1d'). For a window join, write a subquery: SELECT … FROM (SELECT o.customer_id, _window_start, _window_end FROM orders o JOIN shipments s ON o.order_id = s.order_id WINDOW SESSION(GAP INTERVAL '30' MINUTES)) GROUP BY customer_id, _window_start, _window_end.

-- the same with a bound of one end, a filter and names that are taken
SELECT o.order_id, s.order_id, sum(s.weight) AS weight FROM orders o JOIN shipments s ON o.order_id = s.order_id AND s.event_time >= o.event_time WHERE s.weight > 1 WINDOW TUMBLING(INTERVAL '1' HOUR) GROUP BY o.order_id, s.order_id HAVING count(*) > 1
--> MS-PLAN-UNBOUNDED at line 1, column 70: the join of orders and shipments has no upper time bound, so the state would keep rows of orders forever: WINDOW of a query with an aggregate applies to the aggregate. Add AND s.event_time <= o.event_time + INTERVAL 24 HOURS to ON, or WITH ('state.ttl' = '1d'). For a window join, write a subquery: SELECT … FROM (SELECT o.order_id, s.order_id AS s_order_id, s.weight, _window_start, _window_end FROM orders o JOIN shipments s ON o.order_id = s.order_id AND s.event_time >= o.event_time WHERE s.weight > 1 WINDOW TUMBLING(INTERVAL '1' HOUR)) GROUP BY order_id, s_order_id, _window_start, _window_end.

-- the same without a key and by an expression
SELECT date(o.event_time) AS day, count(*) AS n FROM orders o JOIN shipments s ON o.order_id = s.order_id WINDOW TUMBLING(INTERVAL '1' HOUR) GROUP BY date(o.event_time)
--> MS-PLAN-UNBOUNDED at line 1, column 63: the join of orders and shipments has no time bound, so its state would grow forever: WINDOW of a query with an aggregate applies to the aggregate. Add AND s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL 24 HOURS to ON, or JOIN shipments s WITHIN INTERVAL 5 MINUTES ON …, or WITH ('state.ttl' = '1d'). For a window join, write a subquery: SELECT … FROM (SELECT o.event_time, _window_start, _window_end FROM orders o JOIN shipments s ON o.order_id = s.order_id WINDOW TUMBLING(INTERVAL '1' HOUR)) GROUP BY …, _window_start, _window_end.

-- the same with processing-time windows
SELECT count(*) AS n FROM orders o JOIN shipments s ON o.order_id = s.order_id WINDOW TUMBLING(INTERVAL '1' HOUR) ON PROCTIME()
--> MS-PLAN-UNBOUNDED at line 1, column 36: the join of orders and shipments has no time bound, so its state would grow forever: WINDOW of a query with an aggregate applies to the aggregate. Add AND s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL 24 HOURS to ON, or JOIN shipments s WITHIN INTERVAL 5 MINUTES ON …, or WITH ('state.ttl' = '1d').

-- the same with another join that has a bound
SELECT count(*) AS n FROM orders o JOIN shipments s ON o.order_id = s.order_id JOIN events e WITHIN INTERVAL 5 MINUTES ON e.s = o.customer_id WINDOW TUMBLING(INTERVAL '1' HOUR)
--> MS-PLAN-UNBOUNDED at line 1, column 36: the join of orders and shipments has no time bound, so its state would grow forever: WINDOW of a query with an aggregate applies to the aggregate. Add AND s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL 24 HOURS to ON, or JOIN shipments s WITHIN INTERVAL 5 MINUTES ON …, or WITH ('state.ttl' = '1d'). For a window join, write a subquery: SELECT … FROM (SELECT … JOIN … ON … WINDOW …) GROUP BY ….
