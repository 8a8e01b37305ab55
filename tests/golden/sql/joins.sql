-- an interval in ON
SELECT o.a, s.b FROM orders o LEFT JOIN shipments s ON o.order_id = s.order_id
  AND s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL '24' HOUR
--> query
-->   select o.a, s.b
-->   from orders as o
-->   left join shipments as s
-->     on o.order_id = s.order_id AND s.event_time BETWEEN o.event_time AND o.event_time + INTERVAL '24' HOUR

-- WITHIN an interval
SELECT * FROM orders o JOIN shipments s WITHIN INTERVAL '5' MINUTES ON o.k = s.k
--> query
-->   select *
-->   from orders as o
-->   join shipments as s
-->     within 5m
-->     on o.k = s.k

-- WITHIN a number and a unit
SELECT * FROM orders JOIN shipments WITHIN 5 MINUTES ON orders.k = shipments.k EMIT CHANGES
--> query
-->   select *
-->   from orders
-->   join shipments
-->     within 5m
-->     on orders.k = shipments.k
-->   emit changes

-- WITHIN after a query and its alias
SELECT * FROM a JOIN (SELECT k FROM b) AS y WITHIN 90 SECONDS USING (k)
--> query
-->   select *
-->   from a
-->   join query as y
-->     select k
-->     from b
-->     within 1m 30s
-->     using k

-- bounds as properties
SELECT * FROM orders o JOIN shipments s ON o.k = s.k EMIT CHANGES
WITH ('join.type' = 'interval', 'join.lower_bound' = '0s', 'join.upper_bound' = '24h', 'join.retention' = '48h')
--> query
-->   select *
-->   from orders as o
-->   join shipments as s
-->     on o.k = s.k
-->   emit changes
-->   with join.type = interval
-->   with join.lower_bound = 0s
-->   with join.upper_bound = 24h
-->   with join.retention = 48h

-- every type of join
SELECT * FROM a JOIN b ON a.k = b.k RIGHT JOIN c ON a.k = c.k FULL OUTER JOIN d ON a.k = d.k LEFT SEMI JOIN e ON a.k = e.k LEFT ANTI JOIN f ON a.k = f.k CROSS JOIN g NATURAL JOIN h
--> query
-->   select *
-->   from a
-->   join b
-->     on a.k = b.k
-->   right join c
-->     on a.k = c.k
-->   full outer join d
-->     on a.k = d.k
-->   left semi join e
-->     on a.k = e.k
-->   left anti join f
-->     on a.k = f.k
-->   cross join g
-->   natural join h

-- a temporal join
SELECT * FROM orders o JOIN rates FOR SYSTEM_TIME AS OF o.event_time AS r ON o.currency = r.currency
--> query
-->   select *
-->   from orders as o
-->   join rates as r
-->     as of o.event_time
-->     on o.currency = r.currency

-- a lookup join
SELECT * FROM orders o LEFT JOIN customers FOR SYSTEM_TIME AS OF PROCTIME() AS c ON o.id = c.id EMIT CHANGES
--> query
-->   select *
-->   from orders as o
-->   left join customers as c
-->     as of PROCTIME()
-->     on o.id = c.id
-->   emit changes

-- WITHIN nothing
SELECT * FROM a JOIN b WITHIN ON a.k = b.k
--> MS-SQL-PARSE at line 1, column 31: unexpected "ON", expected an interval such as INTERVAL '5' MINUTES after WITHIN.

-- WITHIN twice
SELECT * FROM a JOIN b WITHIN 5 MINUTES WITHIN 6 MINUTES ON a.k = b.k
--> MS-SQL-PARSE at line 1, column 41: unexpected "WITHIN": WITHIN is specified twice.

-- an alias before AS OF
SELECT * FROM orders o JOIN rates AS r FOR SYSTEM_TIME AS OF o.event_time ON o.currency = r.currency
--> query
-->   select *
-->   from orders as o
-->   join rates as r
-->     as of o.event_time
-->     on o.currency = r.currency

-- an alias without AS before AS OF
SELECT * FROM orders o LEFT JOIN customers c FOR SYSTEM_TIME AS OF PROCTIME() ON o.id = c.id EMIT CHANGES
--> query
-->   select *
-->   from orders as o
-->   left join customers as c
-->     as of PROCTIME()
-->     on o.id = c.id
-->   emit changes

-- an alias before AS OF and after it
SELECT * FROM orders o JOIN rates r FOR SYSTEM_TIME AS OF o.event_time AS q ON o.currency = r.currency
--> MS-SQL-PARSE at line 1, column 72: unexpected "AS".

-- AS OF before an alias and after it
SELECT * FROM orders o JOIN rates FOR SYSTEM_TIME AS OF o.event_time AS r FOR SYSTEM_TIME AS OF o.event_time ON o.currency = r.currency
--> MS-SQL-PARSE at line 1, column 75: unexpected "FOR": FOR is specified twice.
