-- BETWEEN
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id AND s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL '24' HOUR
--> select
-->   o.order_id AS order_id : STRING
-->   inner join [0s, 1d]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id
-->     right s, time event_time, used none

-- BETWEEN of the left time
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id AND o.event_time BETWEEN s.event_time - INTERVAL 2 HOURS AND s.event_time + INTERVAL 1 HOUR
--> select
-->   o.order_id AS order_id : STRING
-->   inner join [-1h, 2h]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id
-->     right s, time event_time, used none

-- two comparisons, strict and not
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id AND s.event_time > o.event_time AND s.event_time <= o.event_time + INTERVAL 10 MINUTES
--> select
-->   o.order_id AS order_id : STRING
-->   inner join [1us, 10m]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id
-->     right s, time event_time, used none

-- operands the other way round
SELECT o.order_id FROM orders o JOIN shipments s ON s.order_id = o.order_id AND o.event_time + INTERVAL 10 MINUTES > s.event_time AND o.event_time - INTERVAL 1 MINUTE <= s.event_time
--> select
-->   o.order_id AS order_id : STRING
-->   inner join [-1m, 9m 59s 999ms 999us]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id
-->     right s, time event_time, used none

-- intervals on either side
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id AND s.event_time - INTERVAL 1 HOUR <= o.event_time + INTERVAL 30 MINUTES AND s.event_time + INTERVAL 1 HOUR >= o.event_time
--> select
-->   o.order_id AS order_id : STRING
-->   inner join [-1h, 1h 30m]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id
-->     right s, time event_time, used none

-- intervals added up
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id AND s.event_time BETWEEN o.event_time - INTERVAL 1 DAY - INTERVAL 2 HOURS AND o.event_time + (INTERVAL 1 HOUR + INTERVAL '30' MINUTE)
--> select
-->   o.order_id AS order_id : STRING
-->   inner join [-1d 2h, 1h 30m]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id
-->     right s, time event_time, used none

-- the difference of the times
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id AND s.event_time - o.event_time <= INTERVAL 1 HOUR AND s.event_time - o.event_time >= -INTERVAL 5 MINUTES
--> select
-->   o.order_id AS order_id : STRING
-->   inner join [-5m, 1h]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id
-->     right s, time event_time, used none

-- the difference BETWEEN two intervals
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id AND o.event_time - s.event_time BETWEEN INTERVAL '0' SECOND AND INTERVAL '1 day 2 hours'
--> select
-->   o.order_id AS order_id : STRING
-->   inner join [-1d 2h, 0s]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id
-->     right s, time event_time, used none

-- the same time
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id AND o.event_time = s.event_time
--> select
-->   o.order_id AS order_id : STRING
-->   inner join [0s, 0s]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id
-->     right s, time event_time, used none

-- a fixed distance
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id AND o.event_time + INTERVAL '1:30' HOUR TO MINUTE = s.event_time
--> select
-->   o.order_id AS order_id : STRING
-->   inner join [1h 30m, 1h 30m]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id
-->     right s, time event_time, used none

-- in WHERE of an inner join
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id WHERE s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL 24 HOURS
--> select
-->   o.order_id AS order_id : STRING
-->   inner join [0s, 1d]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id
-->     right s, time event_time, used none

-- everything in WHERE
SELECT o.order_id FROM orders o, shipments s WHERE o.order_id = s.order_id AND s.event_time >= o.event_time AND s.event_time < o.event_time + 2 * INTERVAL 1 HOUR
--> select
-->   o.order_id AS order_id : STRING
-->   inner join [0s, 1h 59m 59s 999ms 999us]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id
-->     right s, time event_time, used none

-- by the system name
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id AND s._event_time BETWEEN o._EVENT_TIME AND o._EVENT_TIME + INTERVAL 1 HOUR
--> select
-->   o.order_id AS order_id : STRING
-->   inner join [0s, 1h]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id
-->     right s, time event_time, used none

-- WITHIN
SELECT o.order_id FROM orders o JOIN shipments s WITHIN INTERVAL '5' MINUTES ON o.order_id = s.order_id
--> select
-->   o.order_id AS order_id : STRING
-->   inner join [-5m, 5m]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id
-->     right s, time event_time, used none

-- WITHIN and a tighter end in ON
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id AND s.event_time >= o.event_time
--> select
-->   o.order_id AS order_id : STRING
-->   inner join [0s, 5m]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id
-->     right s, time event_time, used none

-- properties
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id WITH ('join.type' = 'interval', 'join.lower_bound' = '-5m', 'join.upper_bound' = '24h')
--> select
-->   o.order_id AS order_id : STRING
-->   inner join [-5m, 1d]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id
-->     right s, time event_time, used none

-- a property for one end, ON for the other
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id AND s.event_time >= o.event_time WITH ('join.upper_bound' = '90s')
--> select
-->   o.order_id AS order_id : STRING
-->   inner join [0s, 1m 30s]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id
-->     right s, time event_time, used none

-- several bounds
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 2 HOURS ON o.order_id = s.order_id AND s.event_time <= o.event_time + INTERVAL 1 HOUR WITH ('join.lower_bound' = '10m')
--> select
-->   o.order_id AS order_id : STRING
-->   inner join [10m, 1h]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id
-->     right s, time event_time, used none

-- a renamed time of a subquery
SELECT o.k FROM (SELECT order_id AS k, event_time AS at FROM orders) o JOIN shipments s ON o.k = s.order_id AND s.event_time BETWEEN o.at AND o.at + INTERVAL 1 HOUR
--> select
-->   o.k AS k : STRING
-->   inner join [0s, 1h]
-->     key o.k = s.order_id
-->     left o, time at - 5s, used k
-->       select over orders
-->         orders.order_id AS k : STRING
-->         orders.event_time AS at : TIMESTAMP  <- event time
-->         source orders
-->     right s, time event_time, used none

-- no bound
SELECT o.order_id FROM orders o
JOIN shipments s
  ON o.order_id = s.order_id
--> MS-PLAN-UNBOUNDED at line 2, column 1: the join of orders and shipments has no time bound, so its state would grow forever. Add AND s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL 24 HOURS to ON, or JOIN shipments s WITHIN INTERVAL 5 MINUTES ON …, or a WINDOW clause after ON, or WITH ('state.ttl' = '1d').

-- a bound of columns that are no event times
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id AND s.weight BETWEEN o.total AND o.total + 5
--> MS-PLAN-UNBOUNDED at line 1, column 33: the join of orders and shipments has no time bound, so its state would grow forever. Add AND s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL 24 HOURS to ON, or JOIN shipments s WITHIN INTERVAL 5 MINUTES ON …, or a WINDOW clause after ON, or WITH ('state.ttl' = '1d').

-- no upper end
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id AND s.event_time >= o.event_time
--> MS-PLAN-UNBOUNDED at line 1, column 33: the join of orders and shipments has no upper time bound, so the state would keep rows of orders forever. Add AND s.event_time <= o.event_time + INTERVAL 24 HOURS to ON, or WITH ('state.ttl' = '1d').

-- no lower end
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id AND s.event_time <= o.event_time
--> MS-PLAN-UNBOUNDED at line 1, column 33: the join of orders and shipments has no lower time bound, so the state would keep rows of shipments forever. Add AND s.event_time >= o.event_time to ON, or WITH ('state.ttl' = '1d').

-- a bound under OR is none
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id AND (s.event_time = o.event_time OR o.total > 1)
--> MS-PLAN-UNBOUNDED at line 1, column 33: the join of orders and shipments has no time bound, so its state would grow forever. Add AND s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL 24 HOURS to ON, or JOIN shipments s WITHIN INTERVAL 5 MINUTES ON …, or a WINDOW clause after ON, or WITH ('state.ttl' = '1d').

-- an empty bound
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id AND s.event_time BETWEEN o.event_time AND o.event_time - INTERVAL 1 HOUR
--> MS-PLAN-EMPTY-BOUND at line 1, column 33: the join of orders and shipments has an empty time bound: s.event_time - o.event_time would have to be at least 0s and at most -1h. Correct a reversed bound, or two bounds that contradict each other.

-- a bound that is empty only because it is strict
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id AND s.event_time = o.event_time AND s.event_time > o.event_time
--> MS-PLAN-EMPTY-BOUND at line 1, column 33: the join of orders and shipments has an empty time bound: s.event_time - o.event_time would have to be at least 1us and at most 0s. Correct a reversed bound, or two bounds that contradict each other.

-- a month
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id AND s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL '1' MONTH
--> MS-PLAN-INTERVAL at line 1, column 134: INTERVAL '1' MONTH has no fixed length. Use a constant in weeks, days, hours, minutes, seconds or milliseconds.

-- a month inside WITHIN
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 1 MONTH ON o.order_id = s.order_id
--> MS-PLAN-INTERVAL at line 1, column 50: WITHIN 1 MONTH has no fixed length. Use a constant in weeks, days, hours, minutes, seconds or milliseconds.

-- an interval that is a column
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id AND s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL s.weight HOUR
--> MS-PLAN-INTERVAL at line 1, column 134: INTERVAL s.weight HOUR has no fixed length. Use a constant in weeks, days, hours, minutes, seconds or milliseconds.

-- a month in a filter of one side is no bound
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 1 HOUR ON o.order_id = s.order_id AND o.event_time > TIMESTAMP '2026-01-01' - INTERVAL 1 MONTH
--> select
-->   o.order_id AS order_id : STRING
-->   inner join [-1h, 1h]
-->     key o.order_id = s.order_id
-->     left where o.event_time > TIMESTAMP '2026-01-01' - INTERVAL 1 MONTH
-->     left o, time event_time, used order_id
-->     right s, time event_time, used none

-- the bound of an outer join in WHERE
SELECT o.order_id FROM orders o LEFT JOIN shipments s ON o.order_id = s.order_id WHERE s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL 1 HOUR
--> MS-PLAN-BOUND-IN-WHERE at line 1, column 88: the time bound of a LEFT JOIN is in WHERE, which would drop unmatched rows. Move it to ON.

-- a further time predicate in WHERE of a bounded outer join filters
SELECT o.order_id FROM orders o LEFT JOIN shipments s WITHIN 1 HOUR ON o.order_id = s.order_id WHERE s.event_time >= o.event_time
--> select
-->   o.order_id AS order_id : STRING
-->   where s.event_time >= o.event_time
-->   left join [-1h, 1h]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id, event_time
-->     right s, time event_time, used event_time

-- WITHIN after the first table
SELECT o.order_id FROM orders o WITHIN 5 MINUTES JOIN shipments s ON o.order_id = s.order_id
--> MS-PLAN-WITHIN at line 1, column 33: WITHIN is not allowed after the first table. Write it after the joined table: JOIN … WITHIN INTERVAL 5 MINUTES ON …

-- WITHIN without a join
SELECT order_id FROM orders WITHIN 5 MINUTES
--> MS-PLAN-WITHIN at line 1, column 29: WITHIN is allowed only in a join. Write JOIN … WITHIN INTERVAL 5 MINUTES ON …

-- no watermark on the right
SELECT o.order_id FROM orders o JOIN clicks c ON o.customer_id = c.user_id AND c.at BETWEEN o.event_time AND o.event_time + INTERVAL 1 HOUR
--> MS-PLAN-NO-WATERMARK at line 1, column 38: clicks has no watermark, so its rows would never expire from state. Declare WATERMARK FOR at AS at - INTERVAL 5 SECONDS in clicks.

-- a subquery that loses the time
SELECT o.order_id FROM (SELECT order_id FROM orders) o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id
--> MS-PLAN-NO-WATERMARK at line 1, column 24: o does not carry the event time of its input. Select the event-time column there, unchanged; it may have another name.
