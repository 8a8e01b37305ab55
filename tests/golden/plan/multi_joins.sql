-- the next join uses the event time in its bound
SELECT o.order_id, s.carrier, e.a FROM orders o JOIN shipments s ON o.order_id = s.order_id AND s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL 1 HOUR JOIN events e ON e.s = s.carrier AND e.t BETWEEN s.event_time AND s.event_time + INTERVAL 2 HOURS
--> select
-->   o_s.order_id AS order_id : STRING
-->   o_s.carrier AS carrier : STRING
-->   e.a AS a : INT
-->   inner join [0s, 2h]
-->     key o_s.carrier = e.s
-->     left o_s, time event_time, used carrier, order_id
-->       select
-->         s.carrier AS carrier : STRING
-->         s.event_time AS event_time : TIMESTAMP  <- event time
-->         o.order_id AS order_id : STRING
-->         inner join [0s, 1h]
-->           key o.order_id = s.order_id
-->           left o, time event_time, used order_id
-->           right s, time event_time, used carrier, event_time
-->     right e, time t, used a

-- a chain by one key and one time
SELECT o.order_id, e.t FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id JOIN events e WITHIN 1 HOUR ON e.s = o.order_id
--> select
-->   o_s.order_id AS order_id : STRING
-->   e.t AS t : TIMESTAMP  <- event time
-->   inner join [-1h, 1h]
-->     key o_s.order_id = e.s
-->     left o_s, time event_time - 5m, used order_id
-->       select
-->         o.order_id AS order_id : STRING
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         inner join [-5m, 5m]
-->           key o.order_id = s.order_id
-->           left o, time event_time, used order_id, event_time
-->           right s, time event_time, used none
-->     right e, time t, used t

-- terms of WHERE go as far down as they may
SELECT o.order_id, e.t FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id JOIN events e WITHIN 1 HOUR ON e.s = o.order_id WHERE o.total > 5 AND s.weight > o.total AND e.a > 1 AND e.c > s.weight AND o.total > rand()
--> select
-->   o_s.order_id AS order_id : STRING
-->   e.t AS t : TIMESTAMP  <- event time
-->   where o_s.total > rand()
-->   inner join [-1h, 1h]
-->     key o_s.order_id = e.s
-->     right where e.a > 1
-->     across [o_s.weight < e.c]
-->     across sql e.c > o_s.weight
-->     left o_s, time event_time - 5m, used order_id, weight, total
-->       select
-->         o.order_id AS order_id : STRING
-->         s.weight AS weight : DOUBLE
-->         o.total AS total : DOUBLE
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         inner join [-5m, 5m]
-->           key o.order_id = s.order_id
-->           left where o.total > 5
-->           across [o.total < s.weight]
-->           across sql s.weight > o.total
-->           left o, time event_time, used order_id, total, event_time
-->           right s, time event_time, used weight
-->     right e, time t, used c, t

-- keys and bounds of all joins in WHERE
SELECT a.total, b.total AS b_total, c.total AS c_total FROM orders a, orders b, orders c WHERE a.order_id = b.order_id AND b.order_id = c.order_id AND b.event_time = a.event_time AND c.event_time BETWEEN b.event_time AND b.event_time + INTERVAL 1 MINUTE
--> select
-->   a_b.total AS total : DOUBLE
-->   a_b.b_total AS b_total : DOUBLE
-->   c.total AS c_total : DOUBLE
-->   inner join [0s, 1m]
-->     key a_b.order_id = c.order_id
-->     left a_b, time event_time, used total, b_total
-->       select
-->         b.order_id AS order_id : STRING
-->         b.event_time AS event_time : TIMESTAMP  <- event time
-->         a.total AS total : DOUBLE
-->         b.total AS b_total : DOUBLE
-->         inner join [0s, 0s]
-->           key a.order_id = b.order_id
-->           left a, time event_time, used total
-->           right b, time event_time, used order_id, total, event_time
-->     right c, time event_time, used total

-- a bound to a nullable event time that follows from a non-null one
SELECT o.order_id, o.event_time, e.t FROM orders o LEFT JOIN shipments s ON o.order_id = s.order_id AND s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL 1 HOUR LEFT JOIN events e ON e.s = s.carrier AND e.t BETWEEN s.event_time AND s.event_time + INTERVAL 2 HOURS WHERE o.total > 5
--> select
-->   o_s.order_id AS order_id : STRING
-->   o_s.o_event_time AS event_time : TIMESTAMP  <- event time
-->   e.t AS t : TIMESTAMP
-->   left join [0s, 3h]
-->     key o_s.carrier = e.s
-->     across and([o_s.event_time <= e.t], [o_s.event_time + INTERVAL 2 HOURS >= e.t])
-->     across sql e.t BETWEEN o_s.event_time AND o_s.event_time + INTERVAL 2 HOURS
-->     left o_s, time o_event_time - 1h, used event_time, o_event_time, order_id
-->       select
-->         s.carrier AS carrier : STRING
-->         s.event_time AS event_time : TIMESTAMP
-->         o.event_time AS o_event_time : TIMESTAMP  <- event time
-->         o.order_id AS order_id : STRING
-->         where o.total > 5
-->         left join [0s, 1h]
-->           key o.order_id = s.order_id
-->           left o, time event_time, used order_id, total, event_time
-->           right s, time event_time, used carrier, event_time
-->     right e, time t, used t

-- a bound between three times
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id AND s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL 1 HOUR JOIN events e ON e.s = s.carrier AND e.t BETWEEN o.event_time AND s.event_time + INTERVAL 10 MINUTES
--> select
-->   o_s.order_id AS order_id : STRING
-->   inner join [-1h, 10m]
-->     key o_s.carrier = e.s
-->     across and([o_s.event_time <= e.t], [o_s.s_event_time + INTERVAL 10 MINUTES >= e.t])
-->     across sql e.t BETWEEN o_s.event_time AND o_s.s_event_time + INTERVAL 10 MINUTES
-->     left o_s, time s_event_time, used event_time, s_event_time, order_id
-->       select
-->         s.carrier AS carrier : STRING
-->         o.event_time AS event_time : TIMESTAMP
-->         s.event_time AS s_event_time : TIMESTAMP  <- event time
-->         o.order_id AS order_id : STRING
-->         inner join [0s, 1h]
-->           key o.order_id = s.order_id
-->           left o, time event_time, used order_id, event_time
-->           right s, time event_time, used carrier, event_time
-->     right e, time t, used t

-- the result of a chain may have an event time that its last join does not use
SELECT a.order_id, a.event_time FROM orders a JOIN orders b WITHIN 5 MINUTES USING (order_id) JOIN shipments c ON c.order_id = b.order_id AND c.event_time BETWEEN b.event_time AND b.event_time + INTERVAL 1 HOUR
--> select
-->   a_b.a_order_id AS order_id : STRING
-->   a_b.a_event_time AS event_time : TIMESTAMP  <- event time
-->   inner join [0s, 1h]
-->     key a_b.order_id = c.order_id
-->     left a_b, time event_time - 5m, used a_order_id, a_event_time
-->       select
-->         b.order_id AS order_id : STRING
-->         b.event_time AS event_time : TIMESTAMP  <- event time
-->         a.order_id AS a_order_id : STRING
-->         a.event_time AS a_event_time : TIMESTAMP
-->         inner join [-5m, 5m]
-->           key a.order_id = b.order_id
-->           left a, time event_time, used order_id, event_time
-->           right b, time event_time, used order_id, event_time
-->     right c, time event_time, used none

-- WITHIN means the stream that the key is of
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id) JOIN events e WITHIN 1 HOUR ON e.s = s.carrier
--> select
-->   o_s.order_id AS order_id : STRING
-->   inner join [-1h, 1h]
-->     key o_s.carrier = e.s
-->     left o_s, time event_time - 5m, used order_id
-->       select
-->         s.carrier AS carrier : STRING
-->         s.event_time AS event_time : TIMESTAMP  <- event time
-->         o.order_id AS order_id : STRING
-->         inner join [-5m, 5m]
-->           key o.order_id = s.order_id
-->           left o, time event_time, used order_id
-->           right s, time event_time, used carrier, event_time
-->     right e, time t, used none

-- USING in a chain
SELECT order_id, a.total, b.total AS b_total, c.weight FROM orders a JOIN orders b WITHIN 5 MINUTES USING (order_id) FULL JOIN shipments c WITHIN 1 MINUTE USING (order_id) WHERE order_id > 'a'
--> select
-->   coalesce(a_b.order_id, c.order_id) AS order_id : STRING
-->   a_b.total AS total : DOUBLE
-->   a_b.b_total AS b_total : DOUBLE
-->   c.weight AS weight : DOUBLE
-->   where coalesce(a_b.order_id, c.order_id) > 'a'
-->   full join [-1m, 1m]
-->     key a_b.order_id = c.order_id
-->     left a_b, time event_time - 5m, used order_id, total, b_total
-->       select
-->         a.order_id AS order_id : STRING
-->         a.event_time AS event_time : TIMESTAMP  <- event time
-->         a.total AS total : DOUBLE
-->         b.total AS b_total : DOUBLE
-->         inner join [-5m, 5m]
-->           key a.order_id = b.order_id
-->           left a, time event_time, used order_id, total, event_time
-->           right b, time event_time, used total
-->     right c, time event_time, used order_id, weight

-- a star over USING in a chain
SELECT * FROM (SELECT order_id, event_time FROM orders) a LEFT JOIN (SELECT order_id, total, event_time AS b_time FROM orders) b WITHIN 5 MINUTES USING (order_id) JOIN (SELECT order_id, carrier, event_time AS c_time FROM shipments) c WITHIN 1 MINUTE USING (order_id)
--> select
-->   a_b.order_id AS order_id : STRING
-->   a_b.event_time AS event_time : TIMESTAMP  <- event time
-->   a_b.total AS total : DOUBLE
-->   a_b.b_time AS b_time : TIMESTAMP
-->   c.carrier AS carrier : STRING
-->   c.c_time AS c_time : TIMESTAMP
-->   inner join [-1m, 1m]
-->     key a_b.order_id = c.order_id
-->     left a_b, time event_time - 5m, used order_id, event_time, total, b_time
-->       select
-->         a.order_id AS order_id : STRING
-->         a.event_time AS event_time : TIMESTAMP  <- event time
-->         b.total AS total : DOUBLE
-->         b.b_time AS b_time : TIMESTAMP
-->         left join [-5m, 5m]
-->           key a.order_id = b.order_id
-->           left a, time event_time - 5s, used order_id, event_time
-->             select over orders
-->               orders.order_id AS order_id : STRING
-->               orders.event_time AS event_time : TIMESTAMP  <- event time
-->               source orders
-->           right b, time b_time - 5s, used total, b_time
-->             select over orders
-->               orders.order_id AS order_id : STRING
-->               orders.total AS total : DOUBLE
-->               orders.event_time AS b_time : TIMESTAMP  <- event time
-->               source orders
-->     right c, time c_time - 10s, used carrier, c_time
-->       select over shipments
-->         shipments.order_id AS order_id : STRING
-->         shipments.carrier AS carrier : STRING
-->         shipments.event_time AS c_time : TIMESTAMP  <- event time
-->         source shipments

-- after a RIGHT join the right time is left
SELECT s.carrier, e.a FROM orders o RIGHT JOIN shipments s WITHIN 5 MINUTES USING (order_id) JOIN events e WITHIN 1 HOUR ON e.s = s.carrier WHERE o.total > 5
--> select
-->   o_s.carrier AS carrier : STRING
-->   e.a AS a : INT
-->   inner join [-1h, 1h]
-->     key o_s.carrier = e.s
-->     left o_s, time event_time - 5m, used carrier
-->       select
-->         s.carrier AS carrier : STRING
-->         s.event_time AS event_time : TIMESTAMP  <- event time
-->         where o.total > 5
-->         right join [-5m, 5m]
-->           key o.order_id = s.order_id
-->           left o, time event_time, used total
-->           right s, time event_time, used carrier, event_time
-->     right e, time t, used a

-- a stream that only decides is not seen above
SELECT * FROM (SELECT order_id, event_time FROM orders) o LEFT SEMI JOIN shipments s WITHIN 5 MINUTES USING (order_id) LEFT ANTI JOIN events e WITHIN 1 HOUR ON e.s = o.order_id
--> select
-->   o_joined.order_id AS order_id : STRING
-->   o_joined.event_time AS event_time : TIMESTAMP  <- event time
-->   anti join [-1h, 1h]
-->     key o_joined.order_id = e.s
-->     left o_joined, time event_time - 5m, used order_id, event_time
-->       select
-->         o.order_id AS order_id : STRING
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         semi join [-5m, 5m]
-->           key o.order_id = s.order_id
-->           left o, time event_time - 5s, used order_id, event_time
-->             select over orders
-->               orders.order_id AS order_id : STRING
-->               orders.event_time AS event_time : TIMESTAMP  <- event time
-->               source orders
-->           right s, time event_time, used none
-->     right e, time t, used none

-- an aggregate over a chain
SELECT s.carrier, count(*) AS n FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id) JOIN events e WITHIN 1 HOUR ON e.s = s.carrier WINDOW TUMBLING(INTERVAL 1 DAY) GROUP BY s.carrier
--> select
-->   k0 AS carrier : STRING
-->   a0 AS n : BIGINT
-->   aggregate, tumbling windows of 1d, emit final
-->     key joined.carrier AS k0 : STRING
-->     call count(*) AS a0 : BIGINT
-->     input joined, time event_time - 1h, used none
-->       select
-->         o_s.event_time AS event_time : TIMESTAMP  <- event time
-->         o_s.carrier AS carrier : STRING
-->         inner join [-1h, 1h]
-->           key o_s.carrier = e.s
-->           left o_s, time event_time - 5m, used carrier, event_time
-->             select
-->               s.carrier AS carrier : STRING
-->               s.event_time AS event_time : TIMESTAMP  <- event time
-->               inner join [-5m, 5m]
-->                 key o.order_id = s.order_id
-->                 left o, time event_time, used none
-->                 right s, time event_time, used carrier, event_time
-->           right e, time t, used none

-- an alias like the one made for a chain
SELECT o_s.a FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id) JOIN events o_s WITHIN 1 HOUR ON o_s.s = s.carrier
--> select
-->   o_s.a AS a : INT
-->   inner join [-1h, 1h]
-->     key o_s_.carrier = o_s.s
-->     left o_s_, time event_time - 5m, used none
-->       select
-->         s.carrier AS carrier : STRING
-->         s.event_time AS event_time : TIMESTAMP  <- event time
-->         inner join [-5m, 5m]
-->           key o.order_id = s.order_id
-->           left o, time event_time, used none
-->           right s, time event_time, used carrier, event_time
-->     right o_s, time t, used a

-- late rows of every join
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id) JOIN orders c WITHIN 1 HOUR USING (order_id) WITH ('late.policy' = 'side_output')
--> select
-->   o_s.order_id AS order_id : STRING
-->   inner join [-1h, 1h]
-->     key o_s.order_id = c.order_id
-->     left o_s, time event_time - 5m, used order_id, event_time
-->       select
-->         o.order_id AS order_id : STRING
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         inner join [-5m, 5m]
-->           key o.order_id = s.order_id
-->           left o, time event_time, used order_id, customer_id, total, event_time
-->           right s, time event_time, used shipment_id, order_id, carrier, weight, event_time
-->     right c, time event_time, used order_id, customer_id, total, event_time

-- no event time after a FULL join
SELECT a.order_id FROM orders a FULL JOIN orders b WITHIN 5 MINUTES USING (order_id) JOIN orders c WITHIN 1 MINUTE USING (order_id)
--> MS-PLAN-NO-WATERMARK at line 1, column 86: a FULL JOIN fills either side with NULL, so its rows have no event time for the next join. Join with LEFT or RIGHT, or move the FULL JOIN to the end.

-- bounds as properties are for one join
SELECT a.order_id FROM orders a JOIN orders b USING (order_id) JOIN orders c USING (order_id) WITH ('join.lower_bound' = '0s', 'join.upper_bound' = '1h')
--> MS-PROP-UNUSED at line 1, column 101: 'join.lower_bound' applies to one join, and the query has several. Write the bounds of each join in ON or WITHIN.

-- so is the retention
SELECT a.order_id FROM orders a JOIN orders b WITHIN 5 MINUTES USING (order_id) JOIN orders c WITHIN 5 MINUTES USING (order_id) WITH ('join.retention' = '1h')
--> MS-PROP-UNUSED at line 1, column 135: 'join.retention' applies to one join, and the query has several. Remove it, or write each join in a separate query.

-- no bound for the last join
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id) JOIN events e ON e.s = s.carrier
--> MS-PLAN-UNBOUNDED at line 1, column 84: the join of orders, shipments and events has no time bound, so its state would grow forever. Add AND e.t BETWEEN s.event_time AND s.event_time + INTERVAL 24 HOURS to ON, or JOIN events e WITHIN INTERVAL 5 MINUTES ON …, or a WINDOW clause after ON, or WITH ('state.ttl' = '1d').

-- half a bound for the last join
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id) JOIN events e ON e.s = s.carrier AND e.t > s.event_time
--> MS-PLAN-UNBOUNDED at line 1, column 84: the join of orders, shipments and events has no upper time bound, so the state would keep rows of orders, shipments forever. Add AND e.t <= s.event_time + INTERVAL 24 HOURS to ON, or WITH ('state.ttl' = '1d').

-- no key for the last join
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id) JOIN events e WITHIN 1 HOUR ON e.a > s.weight
--> MS-PLAN-NO-KEY at line 1, column 84: the join of orders, shipments and events has no key. Add an equality of both sides to ON, such as o.id = e.id.

-- an outer join's bound in WHERE
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id) LEFT JOIN events e ON e.s = s.carrier WHERE e.t BETWEEN s.event_time AND s.event_time + INTERVAL 1 HOUR
--> MS-PLAN-BOUND-IN-WHERE at line 1, column 128: the time bound of a LEFT JOIN is in WHERE, which would drop unmatched rows. Move it to ON.

-- two streams of one name
SELECT a.order_id FROM orders a JOIN shipments b WITHIN 5 MINUTES USING (order_id) JOIN orders a WITHIN 5 MINUTES USING (order_id)
--> MS-PLAN-DUPLICATE-NAME at line 1, column 89: two streams of FROM are named a. Use aliases.

-- a column that only a later join brings
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id AND e.a = 1 JOIN events e WITHIN 1 HOUR ON e.s = s.carrier
--> MS-PLAN-UNKNOWN-TABLE at line 1, column 98: e is neither a table nor a column of this query. Known: o, s.

-- a column of USING that two streams before it have
SELECT o.total FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id JOIN orders p WITHIN 5 MINUTES USING (order_id)
--> MS-PLAN-AMBIGUOUS at line 1, column 129: order_id in USING is ambiguous: it is a column of o and of s. Join those with USING (order_id) as well, or write ON.

-- repeated names of a star over a chain
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

-- the native engine runs one operator
SELECT a.total FROM orders a JOIN orders b WITHIN 5 MINUTES USING (order_id) JOIN orders c WITHIN 5 MINUTES USING (order_id) WITH ('engine' = 'native')
--> MS-PLAN-ENGINE at line 1, column 78: the native engine cannot run this query: there are several stateful operators, and Spark's do not pass on their watermarks. Remove 'engine', or set it to 'columnar'.

-- a field of a struct from further down
SELECT e.payload.inner.x, o.total FROM events e JOIN orders o WITHIN 5 MINUTES ON e.payload.kind = o.order_id JOIN shipments s WITHIN 5 MINUTES ON s.carrier = e.payload.kind
--> select
-->   e_o.payload.inner.x AS x
-->   e_o.total AS total : DOUBLE
-->   inner join [-5m, 5m]
-->     key e_o.payload.kind = s.carrier
-->     left e_o, time t - 5m, used payload, total
-->       select
-->         e.payload AS payload : STRUCT<kind: STRING, inner: STRUCT<x: INT>>
-->         e.t AS t : TIMESTAMP  <- event time
-->         o.total AS total : DOUBLE
-->         inner join [-5m, 5m]
-->           key e.payload.kind = o.order_id
-->           left e, time t, used payload, t
-->           right o, time event_time, used total
-->     right s, time event_time, used none

-- a lambda's variable that is called as a chain
SELECT transform(e.xs, e_o -> e_o + e.a) AS ys FROM events e JOIN orders o WITHIN 5 MINUTES ON e.s = o.order_id JOIN shipments s WITHIN 5 MINUTES ON s.carrier = e.s
--> MS-PLAN-AMBIGUOUS at line 1, column 24: the lambda's variable e_o hides the stream e_o. Give the variable another name.

-- a stream of results in a chain, itself a join
SELECT x.k, s.carrier FROM (SELECT a.order_id AS k, b.event_time AS at FROM orders a JOIN orders b WITHIN 5 MINUTES USING (order_id)) x JOIN shipments s ON s.order_id = x.k AND s.event_time BETWEEN x.at AND x.at + INTERVAL 1 HOUR JOIN events e WITHIN 1 HOUR ON e.s = x.k
--> select
-->   x_s.k AS k : STRING
-->   x_s.carrier AS carrier : STRING
-->   inner join [-1h, 1h]
-->     key x_s.k = e.s
-->     left x_s, time at - 1h, used k, carrier
-->       select
-->         x.k AS k : STRING
-->         x.at AS at : TIMESTAMP  <- event time
-->         s.carrier AS carrier : STRING
-->         inner join [0s, 1h]
-->           key x.k = s.order_id
-->           left x, time at - 5m, used k, at
-->             select
-->               a.order_id AS k : STRING
-->               b.event_time AS at : TIMESTAMP  <- event time
-->               inner join [-5m, 5m]
-->                 key a.order_id = b.order_id
-->                 left a, time event_time, used order_id
-->                 right b, time event_time, used event_time
-->           right s, time event_time, used carrier
-->     right e, time t, used none

-- an arrival time is no event time
SELECT a.order_id FROM orders a JOIN orders b WITHIN 5 MINUTES USING (order_id) JOIN orders c ON c.order_id = a.order_id AND c.event_time BETWEEN a._timestamp AND b.event_time
--> MS-PLAN-UNBOUNDED at line 1, column 81: the join of orders, orders and orders has no time bound, so its state would grow forever. Add AND c.event_time BETWEEN a.event_time AND a.event_time + INTERVAL 24 HOURS to ON, or JOIN orders c WITHIN INTERVAL 5 MINUTES ON …, or a WINDOW clause after ON, or WITH ('state.ttl' = '1d').
