-- ASOF JOIN finds the version valid at a row's time
SELECT o.order_id, s.carrier FROM orders o ASOF JOIN shipments s MATCH_CONDITION (o.event_time >= s.event_time) ON o.order_id = s.order_id
--> select
-->   o.order_id AS order_id : STRING
-->   s.carrier AS carrier : STRING
-->   inner temporal join, backward
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id
-->     right s, time event_time, used carrier

-- ASOF LEFT JOIN, with the sides swapped
SELECT o.order_id, s.carrier FROM orders o ASOF LEFT JOIN shipments AS s MATCH_CONDITION (s.event_time <= o.event_time) USING (order_id)
--> select
-->   o.order_id AS order_id : STRING
-->   s.carrier AS carrier : STRING
-->   left temporal join, backward
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id
-->     right s, time event_time, used carrier

-- <= looks forward
SELECT o.order_id, s.carrier FROM orders o ASOF JOIN shipments s MATCH_CONDITION (o.event_time <= s.event_time) ON o.order_id = s.order_id WITH ('temporal.tolerance' = '5m')
--> select
-->   o.order_id AS order_id : STRING
-->   s.carrier AS carrier : STRING
-->   inner temporal join, forward within 5m
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id
-->     right s, time event_time, used carrier

-- <= without a tolerance
SELECT o.order_id, s.carrier FROM orders o ASOF JOIN shipments s MATCH_CONDITION (o.event_time <= s.event_time) ON o.order_id = s.order_id
--> MS-PLAN-UNBOUNDED at line 1, column 83: MATCH_CONDITION with <= waits for a later version without a time limit, so the state would grow forever. Add WITH ('temporal.tolerance' = '5m').

-- >
SELECT o.order_id, s.carrier FROM orders o ASOF JOIN shipments s MATCH_CONDITION (o.event_time > s.event_time) ON o.order_id = s.order_id
--> MS-PLAN-TEMPORAL at line 1, column 83: MATCH_CONDITION cannot exclude equal times: a version is valid from its own time on. Write MATCH_CONDITION (o.event_time >= s.event_time).

-- no MATCH_CONDITION
SELECT o.order_id, s.carrier FROM orders o ASOF JOIN shipments s ON o.order_id = s.order_id
--> MS-PLAN-TEMPORAL at line 1, column 44: ASOF JOIN has no MATCH_CONDITION, which compares the event times. Write ASOF JOIN … MATCH_CONDITION (o.event_time >= s.event_time) ON …

-- another column of the left side
SELECT o.order_id, s.carrier FROM orders o ASOF JOIN shipments s MATCH_CONDITION (o.total >= s.event_time) ON o.order_id = s.order_id
--> MS-PLAN-TEMPORAL at line 1, column 83: AS OF o.total is not the event time of orders. Write MATCH_CONDITION (o.event_time >= …).

-- another column of the right side
SELECT o.order_id, s.carrier FROM orders o ASOF JOIN shipments s MATCH_CONDITION (o.event_time >= s.weight) ON o.order_id = s.order_id
--> MS-PLAN-TEMPORAL at line 1, column 83: s.weight is not the event time of shipments. Write MATCH_CONDITION (o.event_time >= s.event_time).

-- the same side twice
SELECT o.order_id, s.carrier FROM orders o ASOF JOIN shipments s MATCH_CONDITION (o.event_time >= o.event_time) ON o.order_id = s.order_id
--> MS-PLAN-TEMPORAL at line 1, column 83: MATCH_CONDITION does not compare event times of both sides. Write MATCH_CONDITION (o.event_time >= s.event_time).

-- = instead of >=
SELECT o.order_id, s.carrier FROM orders o ASOF JOIN shipments s MATCH_CONDITION (o.event_time = s.event_time) ON o.order_id = s.order_id
--> MS-PLAN-TEMPORAL at line 1, column 83: MATCH_CONDITION is not one comparison of the event times of both sides. Write MATCH_CONDITION (o.event_time >= s.event_time), and other predicates in ON.

-- MATCH_CONDITION without ASOF
SELECT o.order_id, s.carrier FROM orders o JOIN shipments s MATCH_CONDITION (o.event_time >= s.event_time) ON o.order_id = s.order_id
--> MS-PLAN-TEMPORAL at line 1, column 78: MATCH_CONDITION is only allowed in an ASOF JOIN. Write ASOF JOIN, or ASOF LEFT JOIN to keep rows without a version.

-- MATCH_CONDITION without a join
SELECT o.order_id FROM orders o MATCH_CONDITION (o.event_time >= o.event_time)
--> MS-PLAN-TEMPORAL at line 1, column 24: MATCH_CONDITION is after the first table of FROM. Write it after the joined table: ASOF JOIN … MATCH_CONDITION (…) ON …

-- a reference table
SELECT o.order_id, c.region FROM orders o ASOF JOIN customers c MATCH_CONDITION (o.event_time >= c.tier) ON o.customer_id = c.id
--> MS-PLAN-TEMPORAL at line 1, column 43: customers is a reference table, which has no versions for ASOF JOIN. Write JOIN for its current rows, or declare WATERMARK and PRIMARY KEY.

-- FOR SYSTEM_TIME and MATCH_CONDITION
SELECT o.order_id, s.carrier FROM orders o ASOF JOIN shipments s FOR SYSTEM_TIME AS OF o.event_time MATCH_CONDITION (o.event_time >= s.event_time) ON o.order_id = s.order_id
--> MS-PLAN-TEMPORAL at line 1, column 118: the join has both FOR SYSTEM_TIME AS OF and MATCH_CONDITION. Remove one of them.

-- a direction that contradicts
SELECT o.order_id, s.carrier FROM orders o ASOF JOIN shipments s MATCH_CONDITION (o.event_time >= s.event_time) ON o.order_id = s.order_id WITH ('temporal.direction' = 'nearest', 'temporal.tolerance' = '5m')
--> MS-PROP-UNUSED at line 1, column 146: 'temporal.direction' = 'nearest' contradicts MATCH_CONDITION. Remove one of them; FOR SYSTEM_TIME AS OF supports all directions.

-- ASOF RIGHT JOIN
SELECT o.order_id, s.carrier FROM orders o ASOF RIGHT JOIN shipments s MATCH_CONDITION (o.event_time >= s.event_time) ON o.order_id = s.order_id
--> MS-PLAN-TEMPORAL at line 1, column 44: a temporal join finds one version for each row and does not support RIGHT JOIN. Write JOIN or LEFT JOIN.
