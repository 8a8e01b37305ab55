-- a projection and a filter
SELECT order_id, total * 2 AS twice FROM orders WHERE total > 5 AND (customer_id = 'x' OR total < 3)
--> select over orders
-->   orders.order_id AS order_id : STRING
-->   orders.total * 2 AS twice
-->   where orders.total > 5 AND (orders.customer_id = 'x' OR orders.total < 3)
-->   source orders

-- letter case does not matter
SELECT O.ORDER_ID, Total FROM Orders o
--> select over o
-->   o.order_id AS ORDER_ID : STRING
-->   o.total AS Total : DOUBLE
-->   source orders

-- a star
SELECT * FROM orders o
--> select over o
-->   o.order_id AS order_id : STRING
-->   o.customer_id AS customer_id : STRING
-->   o.total AS total : DOUBLE
-->   o.event_time AS event_time : TIMESTAMP  <- event time
-->   source orders

-- a star of an alias beside an expression
SELECT o.*, upper(customer_id) AS customer FROM orders AS o
--> select over o
-->   o.order_id AS order_id : STRING
-->   o.customer_id AS customer_id : STRING
-->   o.total AS total : DOUBLE
-->   o.event_time AS event_time : TIMESTAMP  <- event time
-->   upper(o.customer_id) AS customer
-->   source orders

-- the event time under another name
SELECT event_time AS happened, total FROM orders
--> select over orders
-->   orders.event_time AS happened : TIMESTAMP  <- event time
-->   orders.total AS total : DOUBLE
-->   source orders

-- the event time by its system name, any letter case
SELECT _Event_Time, o._event_time AS again FROM orders o WHERE _EVENT_TIME > TIMESTAMP '2026-01-01'
--> select over o
-->   o.event_time AS _Event_Time : TIMESTAMP  <- event time
-->   o.event_time AS again : TIMESTAMP
-->   where o.event_time > TIMESTAMP '2026-01-01'
-->   source orders

-- an event time that is changed is none
SELECT event_time + INTERVAL 1 HOUR AS event_time FROM orders
--> select over orders
-->   orders.event_time + INTERVAL 1 HOUR AS event_time
-->   source orders

-- expressions without a name are called by their text
SELECT upper( customer_id ), total + 1, payload FROM (SELECT customer_id, total, 1 AS payload FROM orders) x
--> select over x
-->   upper( x.customer_id ) AS upper( customer_id )
-->   x.total + 1 AS total + 1
-->   x.payload AS payload
-->   select over orders
-->     orders.customer_id AS customer_id : STRING
-->     orders.total AS total : DOUBLE
-->     1 AS payload
-->     source orders

-- a field of a struct keeps its name
SELECT payload.kind, e.payload.inner.x, (payload).inner AS i, items[0].sku FROM events e
--> select over e
-->   e.payload.kind AS kind
-->   e.payload.inner.x AS x
-->   (e.payload).inner AS i
-->   e.items[0].sku AS sku
-->   source events

-- names that need quotes
SELECT `weird col`, e.`weird col` AS `select` FROM events AS e
--> select over e
-->   e.`weird col` AS weird col : STRING
-->   e.`weird col` AS select : STRING
-->   source events

-- casts have known types
SELECT CAST(total AS DECIMAL(10,2)) AS a, total::INT AS b, date(event_time) AS c FROM orders
--> select over orders
-->   CAST(orders.total AS DECIMAL(10,2)) AS a : DECIMAL(10, 2)
-->   orders.total::INT AS b : INT
-->   date(orders.event_time) AS c : DATE
-->   source orders

-- a subquery is a nested select
SELECT x.k FROM (SELECT order_id AS k, event_time FROM orders WHERE total > 1) AS x WHERE k <> 'a'
--> select over x
-->   x.k AS k : STRING
-->   where x.k <> 'a'
-->   select over orders
-->     orders.order_id AS k : STRING
-->     orders.event_time AS event_time : TIMESTAMP  <- event time
-->     where orders.total > 1
-->     source orders

-- WITH names are views
WITH big AS (SELECT * FROM orders WHERE total > 100), ids AS (SELECT order_id, event_time FROM big) SELECT order_id FROM ids
--> select over ids
-->   ids.order_id AS order_id : STRING
-->   select over big
-->     big.order_id AS order_id : STRING
-->     big.event_time AS event_time : TIMESTAMP  <- event time
-->     select over orders
-->       orders.order_id AS order_id : STRING
-->       orders.customer_id AS customer_id : STRING
-->       orders.total AS total : DOUBLE
-->       orders.event_time AS event_time : TIMESTAMP  <- event time
-->       where orders.total > 100
-->       source orders

-- a WITH name hides a source
WITH orders AS (SELECT order_id FROM orders WHERE total > 1) SELECT * FROM orders
--> select over orders
-->   orders.order_id AS order_id : STRING
-->   select over orders
-->     orders.order_id AS order_id : STRING
-->     where orders.total > 1
-->     source orders

-- an unknown column
SELECT order_idd FROM orders
--> MS-PLAN-UNKNOWN-COLUMN at line 1, column 8: orders has no column order_idd. Did you mean order_id?

-- an unknown column of an alias
SELECT o.carrier FROM orders o
--> MS-PLAN-UNKNOWN-COLUMN at line 1, column 8: o has no column carrier. Known: order_id, customer_id, total, event_time.

-- an unknown alias
SELECT x.order_id FROM orders o
--> MS-PLAN-UNKNOWN-TABLE at line 1, column 8: x is neither a table nor a column of this query. Known: o.

-- an unknown alias before a star
SELECT x.* FROM orders o
--> MS-PLAN-UNKNOWN-TABLE at line 1, column 8: x is not a table or alias of this query. Known: o.

-- an unknown source
SELECT * FROM order
--> MS-PLAN-UNKNOWN-TABLE at line 1, column 15: order is neither a stream nor a table of this job. Did you mean orders? Known, too: shipments, clicks, events, customers, regions, taxes.

-- a name of two parts
SELECT * FROM db.orders
--> MS-PLAN-UNKNOWN-TABLE at line 1, column 15: db.orders is neither a stream nor a table of this job. Write the name of a stream or table without a qualifier.

-- two outputs of one name
SELECT order_id, customer_id AS Order_ID FROM orders
--> MS-PLAN-DUPLICATE-COLUMN at line 1, column 18: the result has more than one column Order_ID. List the columns and rename one of each: orders.customer_id AS Order_ID_orders.

-- a subquery without a name
SELECT * FROM (SELECT * FROM orders)
--> select over _query
-->   _query.order_id AS order_id : STRING
-->   _query.customer_id AS customer_id : STRING
-->   _query.total AS total : DOUBLE
-->   _query.event_time AS event_time : TIMESTAMP  <- event time
-->   select over orders
-->     orders.order_id AS order_id : STRING
-->     orders.customer_id AS customer_id : STRING
-->     orders.total AS total : DOUBLE
-->     orders.event_time AS event_time : TIMESTAMP  <- event time
-->     source orders

-- no FROM
SELECT 1 AS one
--> MS-PLAN-NO-SOURCE at line 1, column 1: the query reads no stream. Add FROM with the name of a source.

-- the event time of a source without a watermark
SELECT _event_time FROM clicks
--> MS-PLAN-NO-WATERMARK at line 1, column 8: clicks has no watermark, so there is no event time. Declare WATERMARK FOR column AS column - INTERVAL 5 SECONDS.
