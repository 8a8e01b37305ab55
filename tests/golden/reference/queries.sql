SELECT o.*, s.*
FROM orders o
JOIN shipments s ON o.order_id = s.order_id
WHERE s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL '24' HOUR
--> select
-->   o.order_id AS order_id : STRING
-->   o.customer_id AS customer_id : STRING
-->   o.product_id AS product_id : STRING
-->   o.amount AS amount : DOUBLE
-->   o.event_time AS event_time : TIMESTAMP  <- event time
-->   s.shipment_id AS shipment_id : STRING
-->   s.order_id AS order_id_s : STRING
-->   s.carrier AS carrier : STRING
-->   s.event_time AS event_time_s : TIMESTAMP
-->   inner join [0s, 1d]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id, customer_id, product_id, amount, event_time
-->     right s, time event_time, used shipment_id, order_id, carrier, event_time

-- Explicit interval join with BETWEEN
SELECT o.order_id, o.customer_id, s.shipment_id, s.carrier
FROM orders o
JOIN shipments s ON o.order_id = s.order_id
  AND s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL '24' HOUR
EMIT CHANGES;
--> select
-->   o.order_id AS order_id : STRING
-->   o.customer_id AS customer_id : STRING
-->   s.shipment_id AS shipment_id : STRING
-->   s.carrier AS carrier : STRING
-->   inner join [0s, 1d]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id, customer_id
-->     right s, time event_time, used shipment_id, carrier

-- Using WITH clause for join configuration
SELECT o.*, s.*
FROM orders o
JOIN shipments s ON o.order_id = s.order_id
EMIT CHANGES
WITH (
    'join.type' = 'interval',
    'join.lower_bound' = '0s',
    'join.upper_bound' = '24h',
    'join.retention' = '48h'
);
--> select
-->   o.order_id AS order_id : STRING
-->   o.customer_id AS customer_id : STRING
-->   o.product_id AS product_id : STRING
-->   o.amount AS amount : DOUBLE
-->   o.event_time AS event_time : TIMESTAMP  <- event time
-->   s.shipment_id AS shipment_id : STRING
-->   s.order_id AS order_id_s : STRING
-->   s.carrier AS carrier : STRING
-->   s.event_time AS event_time_s : TIMESTAMP
-->   inner join [0s, 1d]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id, customer_id, product_id, amount, event_time
-->     right s, time event_time, used shipment_id, order_id, carrier, event_time

-- Tumbling window join
SELECT o.order_id, s.shipment_id
FROM orders o
JOIN shipments s ON o.order_id = s.order_id
WINDOW TUMBLING(INTERVAL '1' HOUR)
EMIT CHANGES;
--> select
-->   o.order_id AS order_id : STRING
-->   s.shipment_id AS shipment_id : STRING
-->   inner join [0s, 0s] of tumbling windows of 1h and tumbling windows of 1h
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
-->     right s, time _window_time moved by event_time - 5s, used shipment_id
-->       select over s
-->         s.shipment_id AS shipment_id : STRING
-->         s.order_id AS order_id : STRING
-->         s.event_time AS event_time : TIMESTAMP  <- event time
-->         timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000)) AS _window_start : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 3600000000) + 3599999999) AS _window_time : TIMESTAMP
-->         source shipments

-- Sliding window join
SELECT o.order_id, s.shipment_id
FROM orders o
JOIN shipments s ON o.order_id = s.order_id
WINDOW SLIDING(SIZE INTERVAL '1' HOUR, SLIDE INTERVAL '10' MINUTE)
EMIT CHANGES;
--> select
-->   o.order_id AS order_id : STRING
-->   s.shipment_id AS shipment_id : STRING
-->   inner join [0s, 0s] of windows of 1h every 10m and windows of 1h every 10m
-->     key o.order_id = s.order_id
-->     key o._window_start = s._window_start
-->     left o, time _window_time moved by event_time - 5s, used order_id
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
-->             transform(sequence(0, 5), _nth -> timestamp_micros(unix_micros(o.event_time) - pmod(unix_micros(o.event_time), 600000000) - _nth * 600000000L)) AS _window_starts
-->             source orders
-->     right s, time _window_time moved by event_time - 5s, used shipment_id
-->       select over s
-->         s.shipment_id AS shipment_id : STRING
-->         s.order_id AS order_id : STRING
-->         s.event_time AS event_time : TIMESTAMP  <- event time
-->         s._window_start AS _window_start : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(s._window_start) + 3600000000) AS _window_end : TIMESTAMP  <- window
-->         timestamp_micros(unix_micros(s._window_start) + 3599999999) AS _window_time : TIMESTAMP
-->         select over s
-->           s.shipment_id AS shipment_id : STRING
-->           s.order_id AS order_id : STRING
-->           s.event_time AS event_time : TIMESTAMP  <- event time
-->           explode_outer(s._window_starts) AS _window_start : TIMESTAMP
-->           select over s
-->             s.shipment_id AS shipment_id : STRING
-->             s.order_id AS order_id : STRING
-->             s.event_time AS event_time : TIMESTAMP  <- event time
-->             transform(sequence(0, 5), _nth -> timestamp_micros(unix_micros(s.event_time) - pmod(unix_micros(s.event_time), 600000000) - _nth * 600000000L)) AS _window_starts
-->             source shipments

-- Inner join (default) - only emit when both sides match
SELECT * FROM orders o JOIN shipments s ON o.order_id = s.order_id;
--> MS-PLAN-UNBOUNDED at line 1, column 24: the join of orders and shipments has no time bound, so its state would grow forever. Add AND s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL 24 HOURS to ON, or JOIN shipments s WITHIN INTERVAL 5 MINUTES ON …, or a WINDOW clause after ON, or WITH ('state.ttl' = '1d').

-- Left join - emit all orders, null for unmatched shipments
SELECT * FROM orders o LEFT JOIN shipments s ON o.order_id = s.order_id;
--> MS-PLAN-UNBOUNDED at line 1, column 24: the join of orders and shipments has no time bound, so its state would grow forever. Add AND s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL 24 HOURS to ON, or JOIN shipments s WITHIN INTERVAL 5 MINUTES ON …, or a WINDOW clause after ON, or WITH ('state.ttl' = '1d').

-- Right join - emit all shipments, null for unmatched orders
SELECT * FROM orders o RIGHT JOIN shipments s ON o.order_id = s.order_id;
--> MS-PLAN-UNBOUNDED at line 1, column 24: the join of orders and shipments has no time bound, so its state would grow forever. Add AND s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL 24 HOURS to ON, or JOIN shipments s WITHIN INTERVAL 5 MINUTES ON …, or a WINDOW clause after ON, or WITH ('state.ttl' = '1d').

-- Full outer join - emit all from both sides
SELECT * FROM orders o FULL OUTER JOIN shipments s ON o.order_id = s.order_id;
--> MS-PLAN-UNBOUNDED at line 1, column 24: the join of orders and shipments has no time bound, so its state would grow forever. Add AND s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL 24 HOURS to ON, or JOIN shipments s WITHIN INTERVAL 5 MINUTES ON …, or a WINDOW clause after ON, or WITH ('state.ttl' = '1d').

SELECT trader_id, symbol, COUNT(*), AVG(price)
FROM trades
GROUP BY trader_id, symbol
--> MS-PLAN-UNBOUNDED at line 1, column 1: the state would keep every group of trades forever. Add WINDOW TUMBLING(INTERVAL '1' HOUR), or WITH ('state.ttl' = '1d'), or 'forever' if the state may grow without bound.

-- Example: Global trade statistics
SELECT
    COUNT(*) as total_trades,
    SUM(volume) as total_volume,
    AVG(price) as avg_price,
    MIN(price) as min_price,
    MAX(price) as max_price
FROM trades;
--> mode retract
--> select
-->   a0 AS total_trades : BIGINT
-->   a1 AS total_volume : BIGINT
-->   a2 AS avg_price : DOUBLE
-->   a3 AS min_price : DOUBLE
-->   a4 AS max_price : DOUBLE
-->   aggregate, emit changes
-->     call count(*) AS a0 : BIGINT
-->     call sum(trades.volume) AS a1 : BIGINT
-->     call avg(trades.price) AS a2 : DOUBLE
-->     call min(trades.price) AS a3 : DOUBLE
-->     call max(trades.price) AS a4 : DOUBLE
-->     input trades, time event_time, used none

SELECT AVG(price) as avg_price FROM trades;
--> mode retract
--> select
-->   a0 AS avg_price : DOUBLE
-->   aggregate, emit changes
-->     call avg(trades.price) AS a0 : DOUBLE
-->     input trades, time event_time, used none

-- Global statistics
SELECT COUNT(*), AVG(price), MIN(price), MAX(price) FROM trades;
--> mode retract
--> select
-->   a0 AS COUNT(*) : BIGINT
-->   a1 AS AVG(price) : DOUBLE
-->   a2 AS MIN(price) : DOUBLE
-->   a3 AS MAX(price) : DOUBLE
-->   aggregate, emit changes
-->     call count(*) AS a0 : BIGINT
-->     call avg(trades.price) AS a1 : DOUBLE
-->     call min(trades.price) AS a2 : DOUBLE
-->     call max(trades.price) AS a3 : DOUBLE
-->     input trades, time event_time, used none

-- Global with HAVING (filters on aggregates)
SELECT SUM(amount) as total FROM transactions
HAVING SUM(amount) > 1000000;
--> mode retract
--> select
-->   a0 AS total : DOUBLE
-->   where a0 > 1000000
-->   aggregate, emit changes
-->     call sum(transactions.amount) AS a0 : DOUBLE
-->     input transactions, time None, used none

-- Nested global aggregations in subqueries
SELECT customer_id, total_spent
FROM customer_totals
WHERE total_spent > (SELECT AVG(total_spent) FROM customer_totals);
--> MS-PLAN-SUBQUERY at line 3, column 21: a query inside an expression has no single value while its stream continues. For the value at the time of each row, write SELECT … FROM (SELECT *, AVG(total_spent) OVER (ORDER BY _EVENT_TIME ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS avg_total_spent FROM customer_totals) WHERE total_spent > avg_total_spent.

-- Example: Enrich sensor readings with device metadata
SELECT
    r.device_id,
    r.sensor_type,
    r.value,
    d.device_name,      -- From lookup table
    d.location,         -- From lookup table
    d.manufacturer      -- From lookup table
FROM sensor_readings r
LEFT JOIN device_metadata d ON r.device_id = d.device_id;
--> select
-->   r.device_id AS device_id : STRING
-->   r.sensor_type AS sensor_type : STRING
-->   r.value AS value : DOUBLE
-->   d.device_name AS device_name : STRING
-->   d.location AS location : STRING
-->   d.manufacturer AS manufacturer : STRING
-->   left broadcast join with device_metadata d
-->     key r.device_id = device_id
-->     used device_name, location, manufacturer
-->     left r, time None, used device_id, sensor_type, value

SELECT o.order_id, c.customer_name, o.amount
FROM orders o
JOIN customers c ON o.customer_id = c.customer_id
GROUP BY o.customer_id
--> MS-PLAN-GROUP at line 1, column 8: order_id is neither a GROUP BY key nor inside an aggregate. Add o.order_id to GROUP BY, or write any_value(o.order_id) or max(o.order_id).

-- Trading volume spike on market open (9:30 AM)
SELECT symbol, COUNT(*), AVG(price)
FROM trades
WHERE event_time BETWEEN '09:30:00' AND '09:30:01'
GROUP BY symbol
WINDOW TUMBLING (event_time, INTERVAL '1' SECOND)
--> select
-->   k0 AS symbol : STRING
-->   a0 AS COUNT(*) : BIGINT
-->   a1 AS AVG(price) : DOUBLE
-->   aggregate, tumbling windows of 1s, emit final
-->     key trades.symbol AS k0 : STRING
-->     call count(*) AS a0 : BIGINT
-->     call avg(trades.price) AS a1 : DOUBLE
-->     input trades, time event_time - 1s, used none
-->       select over trades
-->         trades.symbol AS symbol : STRING
-->         trades.price AS price : DOUBLE
-->         trades.event_time AS event_time : TIMESTAMP  <- event time
-->         where trades.event_time BETWEEN '09:30:00' AND '09:30:01'
-->         source trades

-- Product co-purchase recommendations
SELECT o1.customer_id, COUNT(DISTINCT o2.customer_id) as co_buyers
FROM orders o1
JOIN orders o2 ON o1.product_id = o2.product_id  -- Different partition key!
WHERE o1.customer_id != o2.customer_id
GROUP BY o1.customer_id
--> MS-PLAN-UNBOUNDED at line 3, column 1: the join of orders and orders has no time bound, so its state would grow forever. Add AND o2.event_time BETWEEN o1.event_time AND o1.event_time + INTERVAL 24 HOURS to ON, or JOIN orders o2 WITHIN INTERVAL 5 MINUTES ON …, or a WINDOW clause after ON, or WITH ('state.ttl' = '1d').

        SELECT o.order_id, o.customer_id, s.carrier
        FROM orders o
        JOIN shipments s ON o.order_id = s.order_id
--> MS-PLAN-UNBOUNDED at line 3, column 9: the join of orders and shipments has no time bound, so its state would grow forever. Add AND s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL 24 HOURS to ON, or JOIN shipments s WITHIN INTERVAL 5 MINUTES ON …, or a WINDOW clause after ON, or WITH ('state.ttl' = '1d').

SELECT COUNT(*), AVG(price) FROM trades
--> mode retract
--> select
-->   a0 AS COUNT(*) : BIGINT
-->   a1 AS AVG(price) : DOUBLE
-->   aggregate, emit changes
-->     call count(*) AS a0 : BIGINT
-->     call avg(trades.price) AS a1 : DOUBLE
-->     input trades, time event_time, used none

SELECT * FROM stream WHERE value > 100
--> select over stream
-->   stream.key AS key : STRING
-->   stream.value AS value : INT
-->   where stream.value > 100
-->   source stream
