-- rows of a day
SELECT o.order_id, o.event_time, s.carrier FROM orders o JOIN shipments s ON o.order_id = s.order_id WITH ('state.ttl' = '1d')
--> select
-->   o.order_id AS order_id : STRING
-->   o.event_time AS event_time : TIMESTAMP  <- event time
-->   s.carrier AS carrier : STRING
-->   inner regular join, ttl 1d
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id, event_time
-->     right s, time event_time, used carrier

-- the time of the right side
SELECT s.event_time FROM orders o JOIN shipments s ON o.order_id = s.order_id WITH ('state.ttl' = '1d')
--> select
-->   s.event_time AS event_time : TIMESTAMP  <- event time
-->   inner regular join, ttl 1d
-->     key o.order_id = s.order_id
-->     left o, time event_time, used none
-->     right s, time event_time, used event_time

-- rows of all times
SELECT o.order_id, o.event_time, s.carrier FROM orders o JOIN shipments s ON o.order_id = s.order_id EMIT CHANGES WITH ('state.ttl' = 'forever')
--> select
-->   o.order_id AS order_id : STRING
-->   o.event_time AS event_time : TIMESTAMP
-->   s.carrier AS carrier : STRING
-->   inner regular join, ttl for ever
-->     key o.order_id = s.order_id
-->     left o, time None, used order_id, event_time
-->     right s, time None, used carrier

-- streams without event time
SELECT k.user_id, s.carrier FROM clicks k JOIN shipments s ON k.user_id = s.order_id WITH ('state.ttl' = 'forever')
--> select
-->   k.user_id AS user_id : STRING
-->   s.carrier AS carrier : STRING
-->   inner regular join, ttl for ever
-->     key k.user_id = s.order_id
-->     left k, time None, used user_id
-->     right s, time None, used carrier

-- left
SELECT o.order_id, s.carrier FROM orders o LEFT JOIN shipments s ON o.order_id = s.order_id WITH ('state.ttl' = '1d')
--> mode retract
--> select
-->   o.order_id AS order_id : STRING
-->   s.carrier AS carrier : STRING
-->   left regular join, ttl 1d
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id
-->     right s, time event_time, used carrier

-- right
SELECT o.order_id, s.carrier FROM orders o RIGHT JOIN shipments s ON o.order_id = s.order_id WITH ('state.ttl' = '1d', 'output.mode' = 'retract')
--> mode retract
--> select
-->   o.order_id AS order_id : STRING
-->   s.carrier AS carrier : STRING
-->   right regular join, ttl 1d
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id
-->     right s, time event_time, used carrier

-- full, by a column of both
SELECT order_id, s.carrier FROM orders o FULL JOIN shipments s USING (order_id) WITH ('state.ttl' = 'forever')
--> mode retract
--> select
-->   coalesce(o.order_id, s.order_id) AS order_id : STRING
-->   s.carrier AS carrier : STRING
-->   full regular join, ttl for ever
-->     key o.order_id = s.order_id
-->     left o, time None, used order_id
-->     right s, time None, used order_id, carrier

-- semi
SELECT o.order_id, o.event_time FROM orders o LEFT SEMI JOIN shipments s ON o.order_id = s.order_id WITH ('state.ttl' = '2h')
--> select
-->   o.order_id AS order_id : STRING
-->   o.event_time AS event_time : TIMESTAMP  <- event time
-->   semi regular join, ttl 2h
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id, event_time
-->     right s, time event_time, used none

-- anti
SELECT o.order_id, o.event_time FROM orders o LEFT ANTI JOIN shipments s ON o.order_id = s.order_id WITH ('state.ttl' = '2h')
--> mode retract
--> select
-->   o.order_id AS order_id : STRING
-->   o.event_time AS event_time : TIMESTAMP
-->   anti regular join, ttl 2h
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id, event_time
-->     right s, time event_time, used none

-- predicates
SELECT o.order_id FROM orders o LEFT JOIN shipments s ON o.order_id = s.order_id AND o.total > 2 AND s.carrier <> 'UPS' AND s.weight < o.total WHERE o.total < 100 WITH ('state.ttl' = '1d')
--> mode retract
--> select
-->   o.order_id AS order_id : STRING
-->   where o.total < 100
-->   left regular join, ttl 1d
-->     key o.order_id = s.order_id
-->     left where o.total > 2
-->     right where s.carrier <> 'UPS'
-->     across [o.total > s.weight]
-->     across sql s.weight < o.total
-->     left o, time event_time, used order_id, total
-->     right s, time event_time, used weight

-- half a bound is a predicate
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id AND s.event_time >= o.event_time + INTERVAL 1 HOUR WITH ('state.ttl' = '1d')
--> select
-->   o.order_id AS order_id : STRING
-->   inner regular join, ttl 1d
-->     key o.order_id = s.order_id
-->     across [o.event_time + INTERVAL 1 HOUR <= s.event_time]
-->     across sql s.event_time >= o.event_time + INTERVAL 1 HOUR
-->     left o, time event_time, used order_id, event_time
-->     right s, time event_time, used event_time

-- Spark filters pairs
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id AND contains(s.carrier, o.customer_id) WITH ('state.ttl' = '1d')
--> select
-->   o.order_id AS order_id : STRING
-->   inner regular join, ttl 1d
-->     key o.order_id = s.order_id
-->     across sql contains(s.carrier, o.customer_id)
-->     only Spark can decide
-->     left o, time event_time, used order_id, customer_id
-->     right s, time event_time, used carrier

-- late rows and limits
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id WITH ('state.ttl' = '1d', 'late.policy' = 'side_output', 'state.max_rows' = '10', 'join.type' = 'regular')
--> select
-->   o.order_id AS order_id : STRING
-->   inner regular join, ttl 1d
-->     key o.order_id = s.order_id
-->     late side_output: late rows go to the output late
-->     limit 10 rows, then the job stops
-->     left o, time event_time, used order_id, customer_id, total, event_time
-->     right s, time event_time, used shipment_id, order_id, carrier, weight, event_time

-- a changelog on the right
SELECT o.order_id, v.n FROM orders o JOIN (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id EMIT CHANGES WITH ('state.ttl' = 'forever')) v ON v.customer_id = o.customer_id WITH ('state.ttl' = 'forever')
--> mode retract
--> select
-->   o.order_id AS order_id : STRING
-->   v.n AS n : BIGINT
-->   inner regular join, ttl for ever
-->     key o.customer_id = v.customer_id
-->     over changes right
-->     left o, time None, used order_id
-->     right v, time None, used n
-->       select
-->         k0 AS customer_id : STRING
-->         a0 AS n : BIGINT
-->         aggregate, emit changes
-->           key orders.customer_id AS k0 : STRING
-->           call count(*) AS a0 : BIGINT
-->           input orders, time event_time, used none

-- changelogs on both sides
CREATE STREAM a AS SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id EMIT CHANGES WITH ('state.ttl' = 'forever'); CREATE STREAM b AS SELECT carrier, max(weight) AS w FROM shipments GROUP BY carrier EMIT CHANGES WITH ('state.ttl' = 'forever'); CREATE SINK x AS
SELECT a.n, b.w FROM a FULL JOIN b ON a.customer_id = b.carrier WITH ('state.ttl' = 'forever')
--> mode retract
--> select
-->   a.n AS n : BIGINT
-->   b.w AS w : DOUBLE
-->   full regular join, ttl for ever
-->     key a.customer_id = b.carrier
-->     over changes left and right
-->     left a, time None, used n
-->       select
-->         k0 AS customer_id : STRING
-->         a0 AS n : BIGINT
-->         aggregate, emit changes
-->           key orders.customer_id AS k0 : STRING
-->           call count(*) AS a0 : BIGINT
-->           input orders, time event_time, used none
-->     right b, time None, used w
-->       select
-->         k0 AS carrier : STRING
-->         a0 AS w : DOUBLE
-->         aggregate, emit changes
-->           key shipments.carrier AS k0 : STRING
-->           call max(shipments.weight) AS a0 : DOUBLE
-->           input shipments, time event_time, used none

-- a changelog of windows has a time
SELECT o.order_id, v.n FROM orders o JOIN (SELECT customer_id, count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id EMIT CHANGES) v ON v.customer_id = o.customer_id WITH ('state.ttl' = '1d')
--> mode retract
--> select
-->   o.order_id AS order_id : STRING
-->   v.n AS n : BIGINT
-->   inner regular join, ttl 1d
-->     key o.customer_id = v.customer_id
-->     over changes right
-->     left o, time event_time, used order_id
-->     right v, time _window_time, used n
-->       select
-->         k0 AS customer_id : STRING
-->         a0 AS n : BIGINT
-->         _window_time AS _window_time : TIMESTAMP  <- event time
-->         aggregate, tumbling windows of 1h, emit changes
-->           key orders.customer_id AS k0 : STRING
-->           call count(*) AS a0 : BIGINT
-->           input orders, time event_time, used none

-- one over another
SELECT o.order_id, e.id FROM orders o LEFT JOIN shipments s ON o.order_id = s.order_id JOIN events e ON e.s = s.carrier WITH ('state.ttl' = 'forever')
--> mode retract
--> select
-->   o_s.order_id AS order_id : STRING
-->   e.id AS id : BIGINT
-->   inner regular join, ttl for ever
-->     key o_s.carrier = e.s
-->     over changes left
-->     left o_s, time None, used order_id
-->       select
-->         s.carrier AS carrier : STRING
-->         o.order_id AS order_id : STRING
-->         left regular join, ttl for ever
-->           key o.order_id = s.order_id
-->           left o, time None, used order_id
-->           right s, time None, used carrier
-->     right e, time None, used id

-- one over another that stays
SELECT o.order_id, e.id, e.t FROM orders o JOIN shipments s ON o.order_id = s.order_id JOIN events e ON e.s = s.carrier WITH ('state.ttl' = '1h')
--> select
-->   o_s.order_id AS order_id : STRING
-->   e.id AS id : BIGINT
-->   e.t AS t : TIMESTAMP  <- event time
-->   inner regular join, ttl 1h
-->     key o_s.carrier = e.s
-->     left o_s, time event_time - 1h, used order_id
-->       select
-->         s.carrier AS carrier : STRING
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         o.order_id AS order_id : STRING
-->         inner regular join, ttl 1h
-->           key o.order_id = s.order_id
-->           left o, time event_time, used order_id, event_time
-->           right s, time event_time, used carrier
-->     right e, time t, used id, t

-- an interval join over one that stays
SELECT o.order_id, o.event_time, s.event_time AS shipped FROM orders o JOIN shipments s ON o.order_id = s.order_id JOIN events e WITHIN 5 MINUTES ON e.s = o.order_id WITH ('state.ttl' = '1h')
--> select
-->   o_s.order_id AS order_id : STRING
-->   o_s.event_time AS event_time : TIMESTAMP  <- event time
-->   o_s.s_event_time AS shipped : TIMESTAMP
-->   inner join [-5m, 5m]
-->     key o_s.order_id = e.s
-->     left o_s, time event_time - 1h, used order_id, event_time, s_event_time
-->       select
-->         o.order_id AS order_id : STRING
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         s.event_time AS s_event_time : TIMESTAMP
-->         inner regular join, ttl 1h
-->           key o.order_id = s.order_id
-->           left o, time event_time, used order_id, event_time
-->           right s, time event_time, used event_time
-->     right e, time t, used none

-- an event time without a bound to that of the next join
SELECT s.event_time FROM orders o JOIN shipments s ON o.order_id = s.order_id JOIN events e WITHIN 5 MINUTES ON e.s = o.order_id WITH ('state.ttl' = '1h')
--> select
-->   o_s.s_event_time AS event_time : TIMESTAMP
-->   inner join [-5m, 5m]
-->     key o_s.order_id = e.s
-->     left o_s, time event_time - 1h, used s_event_time
-->       select
-->         o.order_id AS order_id : STRING
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         s.event_time AS s_event_time : TIMESTAMP
-->         inner regular join, ttl 1h
-->           key o.order_id = s.order_id
-->           left o, time event_time, used order_id, event_time
-->           right s, time event_time, used event_time
-->     right e, time t, used none

-- over an interval join
SELECT o.order_id, s.event_time, e.id FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id JOIN events e ON e.s = o.order_id WITH ('state.ttl' = '1h')
--> select
-->   o_s.order_id AS order_id : STRING
-->   o_s.s_event_time AS event_time : TIMESTAMP  <- event time
-->   e.id AS id : BIGINT
-->   inner regular join, ttl 1h
-->     key o_s.order_id = e.s
-->     left o_s, time event_time - 5m, used order_id, s_event_time
-->       select
-->         o.order_id AS order_id : STRING
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         s.event_time AS s_event_time : TIMESTAMP
-->         inner join [-5m, 5m]
-->           key o.order_id = s.order_id
-->           left o, time event_time, used order_id, event_time
-->           right s, time event_time, used event_time
-->     right e, time t, used id

-- then a table
SELECT o.order_id, t.tax FROM orders o LEFT JOIN shipments s ON o.order_id = s.order_id JOIN taxes t ON t.region = s.carrier WITH ('state.ttl' = '1h')
--> mode retract
--> select
-->   o_s.order_id AS order_id : STRING
-->   t.tax AS tax : DOUBLE
-->   inner broadcast join with taxes t
-->     key o_s.carrier = region
-->     used tax
-->     left o_s, time None, used order_id
-->       select
-->         s.carrier AS carrier : STRING
-->         o.order_id AS order_id : STRING
-->         left regular join, ttl 1h
-->           key o.order_id = s.order_id
-->           left o, time event_time, used order_id
-->           right s, time event_time, used carrier

-- aggregates over it
SELECT s.carrier, count(*) AS n FROM orders o LEFT JOIN shipments s ON o.order_id = s.order_id GROUP BY s.carrier WITH ('state.ttl' = 'forever')
--> mode retract
--> select
-->   k0 AS carrier : STRING
-->   a0 AS n : BIGINT
-->   aggregate, emit changes
-->     key joined.carrier AS k0 : STRING
-->     call count(*) AS a0 : BIGINT
-->     over changes
-->     input joined, time None, used none
-->       select
-->         s.carrier AS carrier : STRING
-->         left regular join, ttl for ever
-->           key o.order_id = s.order_id
-->           left o, time None, used none
-->           right s, time None, used carrier

-- windows over it
SELECT s.carrier, count(*) AS n FROM orders o JOIN shipments s ON o.order_id = s.order_id WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY s.carrier WITH ('state.ttl' = '1h')
--> select
-->   k0 AS carrier : STRING
-->   a0 AS n : BIGINT
-->   aggregate, tumbling windows of 1h, emit final
-->     key joined.carrier AS k0 : STRING
-->     call count(*) AS a0 : BIGINT
-->     input joined, time event_time - 1h, used none
-->       select
-->         o.event_time AS event_time : TIMESTAMP  <- event time
-->         s.carrier AS carrier : STRING
-->         inner regular join, ttl 1h
-->           key o.order_id = s.order_id
-->           left o, time event_time, used event_time
-->           right s, time event_time, used carrier

-- no bound and no time to live
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id
--> MS-PLAN-UNBOUNDED at line 1, column 33: the join of orders and shipments has no time bound, so its state would grow forever. Add AND s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL 24 HOURS to ON, or JOIN shipments s WITHIN INTERVAL 5 MINUTES ON …, or a WINDOW clause after ON, or WITH ('state.ttl' = '1d').

-- join.type requires an interval join
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id WITH ('state.ttl' = '1d', 'join.type' = 'interval')
--> MS-PLAN-UNBOUNDED at line 1, column 33: the join of orders and shipments has no time bound, so its state would grow forever. Add AND s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL 24 HOURS to ON, or JOIN shipments s WITHIN INTERVAL 5 MINUTES ON …, or a WINDOW clause after ON, or WITH ('state.ttl' = '1d').

-- a bound and a time to live
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id WITH ('state.ttl' = '1d')
--> MS-PROP-UNUSED at line 1, column 100: a join does not use 'state.ttl': its time bound determines when rows expire. Remove it.

-- a bound with join.type regular
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id WITH ('join.type' = 'regular')
--> MS-PROP-UNUSED at line 1, column 114: 'join.type' is 'regular', but the type of the join is 'interval'. Remove the bound and add 'state.ttl', or remove it.

-- one bound by property
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id WITH ('state.ttl' = '1d', 'join.lower_bound' = '0s')
--> MS-PROP-UNUSED at line 1, column 103: 'join.lower_bound' does not apply to a join that is not bounded on both ends: 'state.ttl' is its retention. Remove it, or set both bounds and no 'state.ttl'.

-- retention
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id WITH ('state.ttl' = '1d', 'join.retention' = '1d')
--> MS-PROP-UNUSED at line 1, column 103: 'join.retention' does not apply to a join that is not bounded on both ends: 'state.ttl' is its retention. Remove it, or set both bounds and no 'state.ttl'.

-- the left side has no time
SELECT k.user_id FROM clicks k JOIN shipments s ON k.user_id = s.order_id WITH ('state.ttl' = '1d')
--> MS-PLAN-NO-WATERMARK at line 1, column 81: 'state.ttl' depends on the watermark, and clicks has no event time. Declare a watermark in the source and select its column in clicks, or write 'state.ttl' = 'forever'.

-- the right side has no time
SELECT k.user_id FROM shipments s JOIN clicks k ON k.user_id = s.order_id WITH ('state.ttl' = '1d')
--> MS-PLAN-NO-WATERMARK at line 1, column 81: 'state.ttl' depends on the watermark, and clicks has no event time. Declare a watermark in the source and select its column in clicks, or write 'state.ttl' = 'forever'.

-- a changelog without time
SELECT o.order_id FROM orders o JOIN (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id EMIT CHANGES WITH ('state.ttl' = 'forever')) v ON v.customer_id = o.customer_id WITH ('state.ttl' = '1d')
--> MS-PLAN-NO-WATERMARK at line 1, column 192: 'state.ttl' depends on the watermark, and v can retract rows at any time, so its rows have no event time. Give the query of v a WINDOW, or write 'state.ttl' = 'forever'.

-- a changelog with expiring groups
SELECT o.order_id FROM orders o JOIN (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id EMIT CHANGES WITH ('state.ttl' = '1d')) v ON v.customer_id = o.customer_id WITH ('state.ttl' = 'forever')
--> MS-PLAN-RETRACT at line 1, column 38: groups of v expire after 'state.ttl' without a retraction, so a group that reappears would count twice. Write 'state.ttl' = 'forever' in the query of v, or give it a WINDOW.

-- no key
SELECT o.order_id FROM orders o JOIN shipments s ON o.total > s.weight WITH ('state.ttl' = '1d')
--> MS-PLAN-NO-KEY at line 1, column 33: the join of orders and shipments has no key. Add an equality of both sides to ON, such as o.id = s.id.

-- append
SELECT o.order_id FROM orders o LEFT JOIN shipments s ON o.order_id = s.order_id WITH ('state.ttl' = '1d', 'output.mode' = 'append')
--> MS-PLAN-RETRACT at line 1, column 108: the query retracts rows, and 'output.mode' = 'append' cannot represent retractions. Set 'retract', or use a join with a time bound or a WINDOW.

-- EMIT FINAL
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id EMIT FINAL WITH ('state.ttl' = '1d')
--> MS-PLAN-EMIT-FINAL at line 1, column 77: EMIT FINAL emits results when their window closes, and this query has no window. Write EMIT CHANGES, or remove EMIT.

-- no row is late
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id WITH ('state.ttl' = 'forever', 'late.policy' = 'side_output')
--> MS-PROP-UNUSED at line 1, column 108: 'late.policy' does not apply to a join without expiry: no row is late. Remove it.

-- reassigned late rows
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id WITH ('state.ttl' = '1d', 'late.policy' = 'reassign', 'late.budget' = '1m')
--> MS-PLAN-NOT-YET at line 1, column 103: 'late.policy' = 'reassign' of a join without a time bound cannot be run yet. A row is late once it is older than 'state.ttl': increase it, or use side_output.

-- late rows of a changelog
SELECT o.order_id, v.n FROM orders o JOIN (SELECT customer_id, count(*) AS n FROM orders WINDOW TUMBLING(INTERVAL 1 HOUR) GROUP BY customer_id EMIT CHANGES) v ON v.customer_id = o.customer_id WITH ('state.ttl' = '1d', 'late.policy' = 'side_output')
--> MS-PLAN-RETRACT at line 1, column 219: v retracts rows, and with 'late.policy' = 'side_output' a late retraction would be processed as a new row. Remove 'late.policy', or write EMIT FINAL in the query of v, with a WINDOW and no 'window.lateness'.

-- lateness of no window
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id WITH ('state.ttl' = '1d', 'window.lateness' = '1m')
--> MS-PROP-UNUSED at line 1, column 103: 'window.lateness' applies to event-time windows, and this query has none. Remove it.

-- what only Spark can decide
SELECT o.order_id FROM orders o LEFT JOIN shipments s ON o.order_id = s.order_id AND contains(s.carrier, o.customer_id) WITH ('state.ttl' = '1d')
--> MS-PLAN-PREDICATE at line 1, column 86: ON of the LEFT JOIN has contains(s.carrier, o.customer_id): the columnar engine does not compute it for pairs of rows. The native engine cannot run the query either: Spark has no join that expires rows by 'state.ttl' or retracts pairs. Compute each side's part of it in a CREATE STREAM, or write it with comparisons, + - * / %, CASE, LIKE, IN, IS NULL and casts to integers or DOUBLE.

-- the native engine
SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id WITH ('state.ttl' = '1d', 'engine' = 'native')
--> MS-PLAN-ENGINE at line 1, column 33: the native engine cannot run this join: Spark has no join that expires rows by 'state.ttl' or retracts pairs. Remove 'engine', or set it to 'columnar'.

-- random values over rows that can be retracted
SELECT o.order_id, rand() AS r FROM orders o LEFT JOIN shipments s ON o.order_id = s.order_id WITH ('state.ttl' = '1d')
--> MS-PLAN-RETRACT at line 1, column 1: rand() is evaluated again when a row is retracted, with another result. Compute it in a query below, where rows are not retracted, or write EMIT FINAL with a WINDOW and no 'window.lateness'.

-- random values in ON over a changelog
SELECT o.order_id FROM orders o JOIN (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id EMIT CHANGES WITH ('state.ttl' = 'forever')) v ON v.customer_id = o.customer_id AND v.n > o.total * rand() WITH ('state.ttl' = 'forever')
--> MS-PLAN-RETRACT at line 1, column 1: rand() is evaluated again when a row is retracted, with another result. Compute it in a query below, where rows are not retracted, or write EMIT FINAL with a WINDOW and no 'window.lateness'.

-- an interval join over rows that can be retracted
SELECT o.order_id FROM orders o LEFT JOIN shipments s ON o.order_id = s.order_id JOIN events e WITHIN 5 MINUTES ON e.s = o.order_id WITH ('state.ttl' = '1h')
--> MS-PLAN-RETRACT at line 1, column 82: the join of orders, shipments retracts rows, and the next join does not support retraction. Add a time bound to it, or move it to the end; a join without a bound, with 'state.ttl', supports retraction.

-- the next query needs rows that stay
SELECT v.order_id FROM (SELECT o.order_id, o.event_time FROM orders o LEFT JOIN shipments s ON o.order_id = s.order_id WITH ('state.ttl' = '1h')) v JOIN events e WITHIN 5 MINUTES ON e.s = v.order_id
--> MS-PLAN-RETRACT at line 1, column 24: v retracts rows, which a join by event time does not support. Give the join in the query of v a time bound, or a WINDOW, or join without a bound and with 'state.ttl' = 'forever'.

-- the next query needs a time
SELECT count(*) AS n FROM (SELECT o.event_time FROM orders o JOIN shipments s ON o.order_id = s.order_id WITH ('state.ttl' = 'forever')) v WINDOW TUMBLING(INTERVAL 1 HOUR)
--> MS-PLAN-NO-WATERMARK at line 1, column 27: v joins rows of any age, so its rows have no event time. Give the join in the query of v a time bound, or a WINDOW.

-- the next query needs a time that was not selected
SELECT count(*) AS n FROM (SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id WITH ('state.ttl' = '1h')) v WINDOW TUMBLING(INTERVAL 1 HOUR)
--> MS-PLAN-NO-WATERMARK at line 1, column 27: v does not carry the event time of its input. Select the event-time column there, unchanged; it may have another name.

-- upsert
SELECT o.order_id, s.carrier FROM orders o LEFT JOIN shipments s ON o.order_id = s.order_id WITH ('state.ttl' = '1d', 'output.mode' = 'upsert')
--> MS-PLAN-RETRACT at line 1, column 119: the rows of a join without a time bound have no key, so a sink with 'output.mode' = 'upsert' could not replace them and would lose rows. Set 'retract', or use a join with a time bound or a WINDOW.

-- upsert of groups over it
SELECT o.customer_id, count(*) AS n FROM orders o LEFT JOIN shipments s ON o.order_id = s.order_id GROUP BY o.customer_id WITH ('state.ttl' = 'forever', 'output.mode' = 'upsert')
--> mode upsert
--> select
-->   k0 AS customer_id : STRING
-->   a0 AS n : BIGINT
-->   aggregate, emit changes
-->     key joined.customer_id AS k0 : STRING
-->     call count(*) AS a0 : BIGINT
-->     over changes
-->     input joined, time None, used none
-->       select
-->         o.customer_id AS customer_id : STRING
-->         left regular join, ttl for ever
-->           key o.order_id = s.order_id
-->           left o, time None, used customer_id
-->           right s, time None, used none

-- a group as its left side and a ttl
SELECT t.n FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id EMIT CHANGES WITH ('state.ttl' = 'forever')) t JOIN shipments s ON t.customer_id = s.order_id WITH ('state.ttl' = '1d')
--> MS-PLAN-NO-WATERMARK at line 1, column 185: 'state.ttl' depends on the watermark, and t can retract rows at any time, so its rows have no event time. Give the query of t a WINDOW, or write 'state.ttl' = 'forever'.

-- a chain over one that takes rows back
SELECT o.order_id FROM orders o LEFT JOIN shipments s ON o.order_id = s.order_id JOIN events e ON o.customer_id = e.s WITH ('state.ttl' = '1d')
--> MS-PLAN-NO-WATERMARK at line 1, column 125: 'state.ttl' depends on the watermark, and the join of orders, shipments retracts rows, so its rows have no event time. Add a time bound to that join, or write 'state.ttl' = 'forever'.

-- a chain over FULL
SELECT o.order_id FROM orders o FULL JOIN shipments s WITHIN INTERVAL 5 MINUTES ON o.order_id = s.order_id JOIN events e ON o.customer_id = e.s WITH ('state.ttl' = '1d')
--> MS-PLAN-NO-WATERMARK at line 1, column 151: 'state.ttl' depends on the watermark, and a FULL JOIN fills either side with NULL, so its rows have no event time. Join with LEFT or RIGHT, or write 'state.ttl' = 'forever'.

-- a chain over a table and a stream without time
SELECT k.user_id FROM clicks k JOIN customers c ON k.user_id = c.id JOIN shipments s ON s.order_id = k.user_id WITH ('state.ttl' = '1d')
--> MS-PLAN-NO-WATERMARK at line 1, column 118: 'state.ttl' depends on the watermark, and clicks has no event time. Declare a watermark in the source and select its column in clicks, or write 'state.ttl' = 'forever'.

-- groups of a ttl over it
SELECT o.customer_id, count(*) AS n FROM orders o LEFT JOIN shipments s ON o.order_id = s.order_id GROUP BY o.customer_id WITH ('state.ttl' = '1d')
--> MS-PLAN-NO-WATERMARK at line 1, column 129: 'state.ttl' depends on the watermark, and the join retracts pairs, so its rows have no event time. Give the join a time bound, or write 'state.ttl' = 'forever'.

-- max over it
SELECT o.customer_id, max(o.total) AS most FROM orders o LEFT JOIN shipments s ON o.order_id = s.order_id GROUP BY o.customer_id WITH ('state.ttl' = 'forever')
--> MS-PLAN-RETRACT at line 1, column 23: the join retracts rows, and max does not support retraction. Give the join a time bound, or use one of count, count_distinct, sum, avg, stddev_samp, stddev_pop, var_samp, var_pop, collect_list, collect_set, bool_and, bool_or.

-- max over it in a query below
SELECT q.customer_id, max(q.total) AS most FROM (SELECT o.customer_id, o.total FROM orders o LEFT JOIN shipments s ON o.order_id = s.order_id WITH ('state.ttl' = '1d')) q GROUP BY q.customer_id WITH ('state.ttl' = 'forever')
--> MS-PLAN-RETRACT at line 1, column 23: q retracts rows, and max does not support retraction. Give the join in the query of q a time bound, or a WINDOW, or use one of count, count_distinct, sum, avg, stddev_samp, stddev_pop, var_samp, var_pop, collect_list, collect_set, bool_and, bool_or.

-- sessions over it in a query without an alias
SELECT count(*) AS n FROM (SELECT o.customer_id, o.event_time FROM orders o LEFT JOIN shipments s ON o.order_id = s.order_id WITH ('state.ttl' = '1d')) WINDOW SESSION(GAP INTERVAL '1' MINUTE)
--> MS-PLAN-NO-WATERMARK at line 1, column 27: the query in FROM (line 1, column 27) retracts pairs, so its rows have no event time. Give the join in the query in FROM (line 1, column 27) a time bound, or a WINDOW.
