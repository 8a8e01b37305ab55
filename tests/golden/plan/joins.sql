-- unqualified columns are qualified, and only what is read is used
SELECT customer_id, carrier, round(weight * total, 2) AS cost FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id
--> select
-->   o.customer_id AS customer_id : STRING
-->   s.carrier AS carrier : STRING
-->   round(s.weight * o.total, 2) AS cost
-->   inner join [-5m, 5m]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used customer_id, total
-->     right s, time event_time, used carrier, weight

-- composite keys of expressions
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES ON lower(o.order_id) = lower(s.order_id) AND s.carrier = o.customer_id
--> select
-->   o.order_id AS order_id : STRING
-->   inner join [-5m, 5m]
-->     key lower(o.order_id) = lower(s.order_id)
-->     key o.customer_id = s.carrier
-->     left o, time event_time, used order_id
-->     right s, time event_time, used none

-- predicates over one side, from ON and WHERE of an inner join
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id AND total > 5 WHERE s.carrier IN ('UPS', 'DHL') AND (s.weight > 1 OR s.weight IS NULL)
--> select
-->   o.order_id AS order_id : STRING
-->   inner join [-5m, 5m]
-->     key o.order_id = s.order_id
-->     left where o.total > 5
-->     right where s.carrier IN ('UPS', 'DHL') AND (s.weight > 1 OR s.weight IS NULL)
-->     left o, time event_time, used order_id
-->     right s, time event_time, used none

-- predicates over one side of an outer join decide matching; WHERE filters
SELECT o.order_id, s.carrier FROM orders o LEFT JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id AND o.total > 5 AND s.carrier <> 'X' WHERE o.customer_id IS NOT NULL AND s.weight > 3
--> select
-->   o.order_id AS order_id : STRING
-->   s.carrier AS carrier : STRING
-->   where o.customer_id IS NOT NULL AND s.weight > 3
-->   left join [-5m, 5m]
-->     key o.order_id = s.order_id
-->     left where o.total > 5
-->     right where s.carrier <> 'X'
-->     left o, time event_time, used order_id, customer_id
-->     right s, time event_time, used carrier, weight

-- predicates across the sides
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id AND s.weight > o.total AND (o.customer_id <> s.carrier OR NOT s.weight * 2 <= o.total + 1) AND s.weight BETWEEN o.total AND o.total + 10
--> select
-->   o.order_id AS order_id : STRING
-->   inner join [-5m, 5m]
-->     key o.order_id = s.order_id
-->     across and([o.total < s.weight], or([o.customer_id <> s.carrier], not([(s.weight: double * 2.0: double) <= (o.total: double + 1.0: double)])), and([o.total <= s.weight], [s.weight: double <= (o.total: double + 10.0: double)]))
-->     across sql s.weight > o.total AND (o.customer_id <> s.carrier OR NOT s.weight * 2 <= o.total + 1) AND s.weight BETWEEN o.total AND o.total + 10
-->     left o, time event_time, used order_id, customer_id, total
-->     right s, time event_time, used carrier, weight

-- a predicate that only Spark can decide
SELECT o.order_id FROM orders o LEFT JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id AND abs(o.total - s.weight) > 5 AND o.total <> s.weight
--> select
-->   o.order_id AS order_id : STRING
-->   left join [-5m, 5m]
-->     key o.order_id = s.order_id
-->     across [o.total <> s.weight]
-->     across sql abs(o.total - s.weight) > 5 AND o.total <> s.weight
-->     only Spark can decide
-->     left o, time event_time, used order_id, total
-->     right s, time event_time, used weight

-- a calculation over both sides
SELECT o.order_id FROM orders o LEFT JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id AND o.total + s.weight > 5 AND (o.total <> s.weight OR s.weight IS NULL)
--> select
-->   o.order_id AS order_id : STRING
-->   left join [-5m, 5m]
-->     key o.order_id = s.order_id
-->     across and([(o.total: double + s.weight: double) > 5.0: double], or([o.total <> s.weight], isnull(s.weight: double)))
-->     across sql o.total + s.weight > 5 AND (o.total <> s.weight OR s.weight IS NULL)
-->     left o, time event_time, used order_id, total
-->     right s, time event_time, used weight

-- one side inside OR is for Spark to decide
SELECT o.order_id FROM orders o LEFT JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id AND (o.total > s.weight OR o.total > 100)
--> select
-->   o.order_id AS order_id : STRING
-->   left join [-5m, 5m]
-->     key o.order_id = s.order_id
-->     across or([o.total > s.weight], [o.total: double > 100.0: double])
-->     across sql (o.total > s.weight OR o.total > 100)
-->     left o, time event_time, used order_id, total
-->     right s, time event_time, used weight

-- random values and processing time filter the pairs of an inner join
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id AND o.total > rand() WHERE s.event_time < current_timestamp() AND true
--> select
-->   o.order_id AS order_id : STRING
-->   where o.total > rand() AND s.event_time < current_timestamp()
-->   inner join [-5m, 5m]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id, total
-->     right s, time event_time, used event_time

-- random values in ON of an outer join is for Spark to decide
SELECT o.order_id FROM orders o LEFT JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id AND o.total > rand()
--> select
-->   o.order_id AS order_id : STRING
-->   left join [-5m, 5m]
-->     key o.order_id = s.order_id
-->     across sql o.total > rand()
-->     only Spark can decide
-->     left o, time event_time, used order_id, total
-->     right s, time event_time, used none

-- USING
SELECT order_id, s.order_id AS s_id, carrier FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id)
--> select
-->   o.order_id AS order_id : STRING
-->   s.order_id AS s_id : STRING
-->   s.carrier AS carrier : STRING
-->   inner join [-5m, 5m]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id
-->     right s, time event_time, used order_id, carrier

-- a star over USING
SELECT * FROM (SELECT order_id, total, event_time FROM orders) o LEFT JOIN (SELECT order_id, carrier, event_time AS shipped FROM shipments) s WITHIN 5 MINUTES USING (order_id)
--> select
-->   o.order_id AS order_id : STRING
-->   o.total AS total : DOUBLE
-->   o.event_time AS event_time : TIMESTAMP  <- event time
-->   s.carrier AS carrier : STRING
-->   s.shipped AS shipped : TIMESTAMP
-->   left join [-5m, 5m]
-->     key o.order_id = s.order_id
-->     left o, time event_time - 5s, used order_id, total, event_time
-->       select over orders
-->         orders.order_id AS order_id : STRING
-->         orders.total AS total : DOUBLE
-->         orders.event_time AS event_time : TIMESTAMP  <- event time
-->         source orders
-->     right s, time shipped - 10s, used carrier, shipped
-->       select over shipments
-->         shipments.order_id AS order_id : STRING
-->         shipments.carrier AS carrier : STRING
-->         shipments.event_time AS shipped : TIMESTAMP  <- event time
-->         source shipments

-- USING the event times too is the bound [0s, 0s]
SELECT order_id, event_time FROM orders o JOIN shipments s USING (order_id, event_time)
--> select
-->   o.order_id AS order_id : STRING
-->   o.event_time AS event_time : TIMESTAMP  <- event time
-->   inner join [0s, 0s]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id, event_time
-->     right s, time event_time, used none

-- USING of a RIGHT join
SELECT order_id, s.event_time FROM orders o RIGHT JOIN shipments s WITHIN 5 MINUTES USING (order_id)
--> select
-->   s.order_id AS order_id : STRING
-->   s.event_time AS event_time : TIMESTAMP  <- event time
-->   right join [-5m, 5m]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used none
-->     right s, time event_time, used order_id, event_time

-- USING of a FULL join
SELECT order_id, o.event_time, s.event_time AS shipped FROM orders o FULL OUTER JOIN shipments s WITHIN 5 MINUTES USING (order_id)
--> select
-->   coalesce(o.order_id, s.order_id) AS order_id : STRING
-->   o.event_time AS event_time : TIMESTAMP
-->   s.event_time AS shipped : TIMESTAMP
-->   full join [-5m, 5m]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id, event_time
-->     right s, time event_time, used order_id, event_time

-- LEFT SEMI
SELECT * FROM orders o LEFT SEMI JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id AND s.weight > o.total
--> select
-->   o.order_id AS order_id : STRING
-->   o.customer_id AS customer_id : STRING
-->   o.total AS total : DOUBLE
-->   o.event_time AS event_time : TIMESTAMP  <- event time
-->   semi join [-5m, 5m]
-->     key o.order_id = s.order_id
-->     across [o.total < s.weight]
-->     across sql s.weight > o.total
-->     left o, time event_time, used order_id, customer_id, total, event_time
-->     right s, time event_time, used weight

-- LEFT ANTI
SELECT o.* FROM orders o LEFT ANTI JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id WHERE total > 1
--> select
-->   o.order_id AS order_id : STRING
-->   o.customer_id AS customer_id : STRING
-->   o.total AS total : DOUBLE
-->   o.event_time AS event_time : TIMESTAMP  <- event time
-->   where o.total > 1
-->   anti join [-5m, 5m]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id, customer_id, total, event_time
-->     right s, time event_time, used none

-- a self-join
SELECT a.order_id, b.order_id AS other FROM orders a JOIN orders b WITHIN 5 MINUTES ON a.customer_id = b.customer_id AND a.order_id < b.order_id
--> select
-->   a.order_id AS order_id : STRING
-->   b.order_id AS other : STRING
-->   inner join [-5m, 5m]
-->     key a.customer_id = b.customer_id
-->     across [a.order_id < b.order_id]
-->     across sql a.order_id < b.order_id
-->     left a, time event_time, used order_id
-->     right b, time event_time, used order_id

-- the time of an inner join may be the right one
SELECT s.event_time AS at FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id)
--> select
-->   s.event_time AS at : TIMESTAMP  <- event time
-->   inner join [-5m, 5m]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used none
-->     right s, time event_time, used event_time

-- the padded time of an outer join is no event time
SELECT s.event_time AS at FROM orders o LEFT JOIN shipments s WITHIN 5 MINUTES USING (order_id)
--> select
-->   s.event_time AS at : TIMESTAMP
-->   left join [-5m, 5m]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used none
-->     right s, time event_time, used event_time

-- a filter above a join
SELECT k FROM (SELECT o.order_id AS k, o.event_time FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id)) x WHERE k > 'a'
--> select over x
-->   x.k AS k : STRING
-->   where x.k > 'a'
-->   select
-->     o.order_id AS k : STRING
-->     o.event_time AS event_time : TIMESTAMP  <- event time
-->     inner join [-5m, 5m]
-->       key o.order_id = s.order_id
-->       left o, time event_time, used order_id, event_time
-->       right s, time event_time, used none

-- names that need quotes in a join
SELECT `left`.`weird col`, `my orders`.total FROM events AS `left` JOIN orders AS `my orders` WITHIN 5 MINUTES ON `left`.s = `my orders`.order_id
--> select
-->   `left`.`weird col` AS weird col : STRING
-->   `my orders`.total AS total : DOUBLE
-->   inner join [-5m, 5m]
-->     key `left`.s = `my orders`.order_id
-->     left left, time t, used weird col
-->     right my orders, time event_time, used total

-- late rows to a port keep every column
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (order_id) WITH ('late.policy' = 'side_output')
--> select
-->   o.order_id AS order_id : STRING
-->   inner join [-5m, 5m]
-->     key o.order_id = s.order_id
-->     left o, time event_time, used order_id, customer_id, total, event_time
-->     right s, time event_time, used shipment_id, order_id, carrier, weight, event_time

-- no key
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.total > s.weight
--> MS-PLAN-NO-KEY at line 1, column 33: the join of orders and shipments has no key. Add an equality of both sides to ON, such as o.id = s.id.

-- a key of one side only
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = 'x' AND s.order_id = 'x'
--> MS-PLAN-NO-KEY at line 1, column 33: the join of orders and shipments has no key. Add an equality of both sides to ON, such as o.id = s.id.

-- a key that takes NULL for NULL
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id <=> s.order_id
--> select
-->   o.order_id AS order_id : STRING
-->   inner join [-5m, 5m]
-->     key coalesce(o.order_id, '') = coalesce(s.order_id, '')
-->     key (o.order_id IS NULL) = (s.order_id IS NULL)
-->     left o, time event_time, used order_id
-->     right s, time event_time, used none

-- an ambiguous column
SELECT order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id
--> MS-PLAN-AMBIGUOUS at line 1, column 8: order_id is a column of o and of s. Write o.order_id or s.order_id.

-- an ambiguous event time
SELECT _event_time FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id
--> MS-PLAN-AMBIGUOUS at line 1, column 8: _event_time is a column of o and of s. Write o._event_time or s._event_time.

-- an unknown column in ON
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.ordr_id
--> MS-PLAN-UNKNOWN-COLUMN at line 1, column 83: s has no column ordr_id. Did you mean order_id?

-- an unknown column in USING
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES USING (customer_id)
--> MS-PLAN-UNKNOWN-COLUMN at line 1, column 74: s has no column customer_id, which is in USING. Did you mean order_id?

-- the right side of LEFT SEMI is not visible
SELECT s.carrier FROM orders o LEFT SEMI JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id
--> MS-PLAN-UNKNOWN-TABLE at line 1, column 8: s is neither a table nor a column of this query. Known: o.

-- two sides of one name
SELECT total FROM orders JOIN orders WITHIN 5 MINUTES ON orders.order_id = orders.order_id
--> MS-PLAN-DUPLICATE-NAME at line 1, column 31: both sides of the join are named orders. Use aliases.

-- CROSS JOIN
SELECT o.order_id FROM orders o CROSS JOIN shipments s
--> MS-PLAN-CROSS-JOIN at line 1, column 33: a CROSS JOIN of streams without a WINDOW joins every row with every row, so its state would grow forever. Add WINDOW TUMBLING(…) or SLIDING(…), or write JOIN … ON with an equality of both sides.

-- NATURAL JOIN
SELECT o.order_id FROM orders o NATURAL JOIN shipments s
--> MS-PLAN-NATURAL-JOIN at line 1, column 33: a NATURAL join changes its meaning when a column is added to a source. Write USING (column, …) or ON.

-- equal event times alone
SELECT o.order_id FROM orders o JOIN shipments s ON o.event_time = s.event_time
--> select
-->   o.order_id AS order_id : STRING
-->   inner join [0s, 0s]
-->     key o.event_time = s.event_time
-->     left o, time event_time, used order_id
-->     right s, time event_time, used none

-- a null-safe key beside another
SELECT o.order_id FROM orders o FULL JOIN shipments s WITHIN 5 MINUTES ON o.order_id <=> s.order_id AND o.total = s.weight
--> select
-->   o.order_id AS order_id : STRING
-->   full join [-5m, 5m]
-->     key coalesce(o.order_id, '') = coalesce(s.order_id, '')
-->     key (o.order_id IS NULL) = (s.order_id IS NULL)
-->     key o.total = s.weight
-->     left o, time event_time, used order_id
-->     right s, time event_time, used none

-- a null-safe key without a declared type
SELECT o.order_id FROM orders o JOIN shipments s WITHIN 5 MINUTES ON o.order_id <=> lower(s.order_id)
--> MS-PLAN-KEY-TYPE at line 1, column 70: o.order_id <=> lower(s.order_id) compares NULLs as keys, and lower(s.order_id) has no declared type. CAST both sides to one type, or write = if NULL keys do not have to match.

-- a calculation in DECIMAL over one side
SELECT o.order_id FROM orders o LEFT ANTI JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id AND CAST(o.total AS INT) * 1.5 > s.weight
--> select
-->   o.order_id AS order_id : STRING
-->   anti join [-5m, 5m]
-->     key o.order_id = s.order_id
-->     across [CAST(o.total AS INT) * 1.5 > s.weight]
-->     across sql CAST(o.total AS INT) * 1.5 > s.weight
-->     left o, time event_time, used order_id, total
-->     right s, time event_time, used weight

-- random numbers in an outer join
SELECT o.order_id FROM orders o LEFT ANTI JOIN shipments s WITHIN 5 MINUTES ON o.order_id = s.order_id AND o.total + rand() > s.weight
--> MS-PLAN-PREDICATE at line 1, column 108: ON of the ANTI JOIN has o.total + rand() > s.weight: it is not deterministic. The native engine cannot run the query either: Spark has no LEFT ANTI join of two streams. Compute each side's part of it in a CREATE STREAM, or write it with comparisons, + - * / %, CASE, LIKE, IN, IS NULL and casts to integers or DOUBLE.
